//! `cargo xtask`: the one entry for everything a contributor does with this workspace.

mod api_docs;
mod args;
mod bench;
mod ci;
mod command;
mod conformance;
mod coverage;
mod deps;
mod error;
mod features;
mod figures;
mod layout;
mod lint;
mod live;
mod metadata;
mod new_provider;
mod package;
mod prove;
#[cfg(test)]
mod scratch;
mod services;
mod stage;
mod test;
mod tidy;

use std::process::ExitCode;

use crate::error::{Error, Result};

const HELP: &str = "\
The tools of the RoomKit workspace.

USAGE: cargo xtask COMMAND

COMMANDS
  test [--scale N] [-p CRATE]... [--no-services]
                                   every test, doc tests included; N lengthens the long ones;
                                   the last leaves out, and names, those that need a server
  lint [STAGE]...                  fmt, clippy, doc, deny, deps, tidy, features, package
  conformance [FILE]...            the recorded scenarios, and the check of their checker
  ci                               lint, conformance and test, with their seconds and budgets
  bench [NAME]...                  benchmarks; figures go to benches/results/
  coverage [--lines]               the lines of the core that its tests reach; --lines names the others
  prove NAME [--scale N] [--seconds N]
                                   one long proof; figures go to proofs/
  live VENDOR                      a short conversation with a real vendor, with a key of yours
  new-provider FAMILY VENDOR       the skeleton of a provider crate

`cargo xtask test` needs rustc, a C compiler, PostgreSQL and Redis. It uses the servers of
DATABASE_URL and REDIS_URL where set; else it starts its own from the binaries on the machine, and
as root on Debian or Ubuntu it installs what is missing. CONTRIBUTING.md has the rest.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<()> {
    let Some((command, rest)) = arguments.split_first() else {
        return Err(Error::Usage("a command is missing".into()));
    };
    if arguments.iter().any(|a| a == "--help" || a == "-h") || command == "help" {
        print!("{HELP}");
        return Ok(());
    }
    match command.as_str() {
        "test" => test::run(rest),
        "lint" => lint::run(rest),
        "conformance" => conformance::run(rest),
        "ci" => ci::run(rest),
        "bench" => bench::run(rest),
        "coverage" => coverage::run(rest),
        "prove" => prove::run(rest),
        "live" => live::run(rest),
        "new-provider" => new_provider::run(rest),
        other => Err(Error::Usage(format!("there is no command `{other}`"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_command_and_no_command_are_refused() {
        assert!(dispatch(&["frobnicate".into()]).is_err());
        assert!(dispatch(&[]).is_err());
    }

    #[test]
    fn help_is_given_without_running_the_command() {
        assert!(dispatch(&["ci".into(), "--help".into()]).is_ok());
    }
}
