//! The proofs and the processes that they kill; see the README.

use std::process::ExitCode;

use roomkit_durability::target::Locks;
use roomkit_durability::{Error, Result, crash, processes, writer};
use roomkit_test_services::{Postgres, PostgresOptions};
use serde_json::json;

/// How often the long proof kills, on each store.
const KILLS: u64 = 200;
/// How many seconds the processes write.
const SECONDS: u64 = 60;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let mut source = std::error::Error::source(&error);
            eprint!("error: {error}");
            while let Some(cause) = source {
                eprint!(": {cause}");
                source = cause.source();
            }
            eprintln!();
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    match arguments {
        ["writer", address, rooms, locks] => {
            let (rooms, locks) = (number(rooms)?, Locks::named(locks)?);
            block_on(writer::run(address, rooms, locks))
        }
        ["process", address, locks, which, seconds] => {
            let (which, seconds) = (number(which)?, number(seconds)?);
            let locks = Locks::named(locks)?;
            block_on(processes::process(address, locks, which, seconds))
        }
        ["crash"] => prove_crash(),
        ["processes"] => prove_processes(),
        _ => Err(Error::Usage(
            "usage: durability crash | processes | writer ADDRESS ROOMS LOCKS".into(),
        )),
    }
}

fn prove_crash() -> Result<()> {
    let binary = this_binary()?;
    let runs = KILLS * scale()?;
    let folder = tempfile::tempdir().map_err(|source| Error::Io {
        what: "making a folder".into(),
        source,
    })?;
    let address = format!("sqlite:{}", folder.path().join("rooms.db").display());
    let seed = fastrand::u64(..);
    report(
        "sqlite",
        seed,
        crash::prove(&binary, &address, None, runs, seed)?,
    )?;
    let mut server = Postgres::start(&PostgresOptions::default())?;
    let address = server.create_database("crash")?;
    let seed = fastrand::u64(..);
    let found = crash::prove(&binary, &address, Some(&mut server), runs, seed)?;
    report("postgres", seed, found)
}

fn report(store: &str, seed: u64, found: crash::Report) -> Result<()> {
    println!(
        "{}",
        json!({
            "proof": "crash", "store": store, "seed": seed, "kills": found.kills,
            "server_kills": found.server_kills, "acknowledged": found.acknowledged,
            "under_way": found.under_way, "failed": found.failed,
            "violations": found.violations.len(),
        })
    );
    verdict(found.violations)
}

fn prove_processes() -> Result<()> {
    let binary = this_binary()?;
    let server = Postgres::start(&PostgresOptions::default())?;
    for locks in [Locks::InProcess, Locks::Advisory] {
        let database = locks.name().replace('-', "_");
        let address = server.create_database(&database)?;
        let found = processes::prove(&binary, &address, locks, SECONDS * scale()?)?;
        #[expect(clippy::cast_precision_loss, reason = "a rate is rounded anyway")]
        let rate = found.acknowledged as f64 / found.seconds;
        println!(
            "{}",
            json!({
                "proof": "processes", "processes": processes::PROCESSES,
                "rooms": processes::ROOMS, "locks": locks.name(),
                "seconds": found.seconds.round(), "acknowledged": found.acknowledged,
                "per_second": rate.round(), "sent_again": found.again,
                "violations": found.violations.len(),
            })
        );
        verdict(found.violations)?;
    }
    Ok(())
}

fn verdict(violations: Vec<String>) -> Result<()> {
    match violations.is_empty() {
        true => Ok(()),
        false => Err(Error::Violated(violations)),
    }
}

fn this_binary() -> Result<std::path::PathBuf> {
    std::env::current_exe().map_err(|source| Error::Io {
        what: "finding this program".into(),
        source,
    })
}

/// How many times longer than usual the proofs are.
fn scale() -> Result<u64> {
    match std::env::var("ROOMKIT_SCALE") {
        Ok(scale) => number(&scale),
        Err(_) => Ok(1),
    }
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse()
        .map_err(|_| Error::Usage(format!("`{text}` is no number")))
}

fn block_on(work: impl Future<Output = Result<()>>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|source| Error::Io {
        what: "starting a runtime".into(),
        source,
    })?;
    runtime.block_on(work)
}
