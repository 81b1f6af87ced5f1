//! Fuzzes each target for a while; see the README.

use std::process::ExitCode;

use roomkit_fuzz::engine::Engine;
use roomkit_fuzz::{Error, Result, TARGETS, Target, corpus, target};
use serde_json::json;

/// How long each target is fuzzed, in seconds, where nothing is said.
const SECONDS: u64 = 600;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    match run(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(wanted: &[String]) -> Result<()> {
    let targets: Vec<&Target> = if wanted.is_empty() {
        TARGETS.iter().collect()
    } else {
        let found = wanted.iter().map(|name| {
            target(name).ok_or_else(|| Error::Usage(format!("there is no target `{name}`")))
        });
        found.collect::<Result<_>>()?
    };
    let seconds = number("ROOMKIT_SECONDS", SECONDS)? * number("ROOMKIT_SCALE", 1)?;
    let engine = Engine::build()?;
    let mut found = None;
    for target in targets {
        let run = engine.run(target, seconds)?;
        let size = std::fs::metadata(corpus::path(target)).map_or(0, |file| file.len());
        println!(
            "{}",
            json!({
                "proof": "fuzz", "target": target.name, "seconds": seconds,
                "executions": run.executions, "edges": run.edges, "corpus": run.corpus,
                "corpus_bytes": size, "violations": u8::from(run.found.is_some()),
            })
        );
        found = run.found.or(found);
    }
    found.map_or(Ok(()), |path| Err(Error::Found(path)))
}

fn number(variable: &str, otherwise: u64) -> Result<u64> {
    match std::env::var(variable) {
        Err(_) => Ok(otherwise),
        Ok(text) => text
            .parse()
            .map_err(|_| Error::Usage(format!("{variable}={text} is no whole number"))),
    }
}
