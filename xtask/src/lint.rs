//! `cargo xtask lint`: everything about the code that is not a test.

use std::process::Command;

use crate::args::Args;
use crate::command::{answers, cargo, run as execute};
use crate::error::{Error, Result};
use crate::stage::{Outcome, Stages};
use crate::{deps, features, package, tidy};

type Check = fn() -> Result<Outcome>;

/// The stages, the quick ones first.
const STAGES: [(&str, Check); 8] = [
    ("fmt", fmt),
    ("tidy", tidy::run),
    ("deps", deps::run),
    ("package", package::run),
    ("deny", deny),
    ("clippy", clippy),
    ("features", features::run),
    ("doc", doc),
];

/// Runs all stages, or those named.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let wanted = Args::names(arguments)?;
    let mut stages = Stages::new();
    for (name, check) in select(&wanted)? {
        stages.run(name, check);
    }
    stages.finish(None)
}

fn select(wanted: &[String]) -> Result<Vec<(&'static str, Check)>> {
    if let Some(unknown) = wanted
        .iter()
        .find(|name| STAGES.iter().all(|(known, _)| known != name))
    {
        let known: Vec<&str> = STAGES.iter().map(|(name, _)| *name).collect();
        return Err(Error::Usage(format!(
            "lint has no stage `{unknown}`; it has {}",
            known.join(", ")
        )));
    }
    let all = wanted.is_empty();
    Ok(STAGES
        .into_iter()
        .filter(|(name, _)| all || wanted.iter().any(|w| w == name))
        .collect())
}

fn fmt() -> Result<Outcome> {
    execute(&mut cargo(["fmt", "--all", "--check"]))?;
    Ok(Outcome::Passed)
}

fn clippy() -> Result<Outcome> {
    execute(&mut cargo([
        "clippy",
        "--workspace",
        "--all-targets",
        "--all-features",
        "--",
        "--deny=warnings",
    ]))?;
    Ok(Outcome::Passed)
}

fn doc() -> Result<Outcome> {
    let mut command = cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    execute(command.env("RUSTDOCFLAGS", "--deny=warnings"))?;
    Ok(Outcome::Passed)
}

fn deny() -> Result<Outcome> {
    if !answers(Command::new("cargo").args(["deny", "--version"])) {
        return Ok(Outcome::LeftOut("cargo-deny is not installed".into()));
    }
    // Advisories come from the network, and change while the code does not.
    execute(&mut cargo([
        "deny",
        "--all-features",
        "check",
        "bans",
        "licenses",
        "sources",
    ]))?;
    Ok(Outcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(wanted: &[&str]) -> Result<Vec<&'static str>> {
        let wanted: Vec<String> = wanted.iter().map(ToString::to_string).collect();
        Ok(select(&wanted)?.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn all_stages_or_those_named() {
        assert_eq!(names(&[]).unwrap().len(), STAGES.len());
        assert_eq!(names(&["doc", "fmt"]).unwrap(), ["fmt", "doc"]);
    }

    #[test]
    fn an_unknown_stage_is_refused_with_the_known_ones() {
        let error = names(&["fmt", "spelling"]).unwrap_err().to_string();
        assert!(
            error.contains("`spelling`") && error.contains("clippy"),
            "{error}"
        );
    }
}
