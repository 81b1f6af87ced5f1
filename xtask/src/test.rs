//! `cargo xtask test`: every test of the workspace, after a look at what they need.

use std::process::Command;

use crate::args::Args;
use crate::command::{SCALE_VARIABLE, answers, cargo, output, run as execute};
use crate::error::{Error, Result, no_problems};
use crate::metadata;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let args = Args::parse(arguments, &["--scale", "-p"])?;
    if let Some(name) = args.names.first() {
        return Err(Error::Usage(format!(
            "test takes no `{name}`; `cargo test {name}` filters"
        )));
    }
    no_problems(missing()?)?;
    let mut command = cargo(["test"]);
    if args.packages.is_empty() {
        command.arg("--workspace");
    }
    command.args(
        args.packages
            .iter()
            .flat_map(|name| ["--package", name.as_str()]),
    );
    if let Some(scale) = args.scale {
        command.env(SCALE_VARIABLE, scale.to_string());
    }
    execute(&mut command)
}

/// What the tests need and this machine lacks.
fn missing() -> Result<Vec<String>> {
    let mut missing = Vec::new();
    let have = output(Command::new("rustc").arg("--version"))?;
    for package in metadata::read()?.packages {
        missing.extend(too_old(
            &have,
            package.rust_version.as_deref(),
            &package.name,
        ));
    }
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    if !answers(Command::new(&compiler).arg("--version")) {
        missing.push(format!(
            "missing: a C compiler, `{compiler}` (Debian: apt-get install gcc)"
        ));
    }
    Ok(missing)
}

fn too_old(rustc: &str, needed: Option<&str>, package: &str) -> Option<String> {
    let needed = needed?;
    let have = rustc.split_whitespace().nth(1).unwrap_or_default();
    (numbers(have) < numbers(needed))
        .then(|| format!("missing: rustc {needed} or newer for {package}; this is {rustc}"))
}

/// `1.95.0-nightly` as `[1, 95, 0]`.
fn numbers(version: &str) -> Vec<u32> {
    let release = version.split('-').next().unwrap_or_default();
    release
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_compiler_is_named() {
        for old in [
            "rustc 1.94.1 (abc 2026-01-01)",
            "rustc 1.9.0",
            "rustc 0.95.0",
            "nonsense",
            "",
        ] {
            assert!(too_old(old, Some("1.95"), "x").is_some(), "{old}");
        }
        for good in [
            "rustc 1.95.0 (abc)",
            "rustc 1.100.0",
            "rustc 2.0.0",
            "rustc 1.96.0-nightly",
        ] {
            assert_eq!(too_old(good, Some("1.95"), "x"), None, "{good}");
        }
        assert_eq!(too_old("rustc 1.1.0", None, "x"), None);
    }

    #[test]
    fn a_name_is_not_taken_for_a_filter() {
        assert!(run(&["turns".into()]).is_err());
    }
}
