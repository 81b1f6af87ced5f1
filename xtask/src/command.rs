//! Starting other programs from the workspace root, mostly cargo.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, Result};

/// How tests and proofs learn `--scale`: the variable holds a whole number, 1 when unset.
pub(crate) const SCALE_VARIABLE: &str = "ROOMKIT_SCALE";

/// How proofs that go on for ever learn `--seconds`.
pub(crate) const SECONDS_VARIABLE: &str = "ROOMKIT_SECONDS";

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// Cargo, with arguments, in the workspace root.
pub(crate) fn cargo<I, S>(arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut command = Command::new("cargo");
    command.args(arguments).current_dir(root());
    // `cargo run` describes xtask to xtask in these; build scripts that watch them would run again
    // each time a contributor changes between `cargo` and `cargo xtask`.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"]
            .iter()
            .any(|prefix| text.starts_with(prefix))
        {
            command.env_remove(&name);
        }
    }
    command
}

/// The command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Runs to the end; the output goes to the terminal.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|source| Error::Start {
        command: shown(command),
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(Error::Command {
            command: shown(command),
            status,
        })
    }
}

/// Runs to the end and returns what the command printed; its errors go to the terminal.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Error::Start {
            command: shown(command),
            source,
        })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Error::Command {
            command: shown(command),
            status: output.status,
        })
    }
}

/// Whether a program is there and answers.
pub(crate) fn answers(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_fails_is_an_error_that_shows_it() {
        let error = run(&mut Command::new("false")).unwrap_err();
        assert!(error.to_string().contains("`false` failed"), "{error}");
        let error = run(Command::new("no-such-program-here").arg("now")).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("`no-such-program-here now` could not"),
            "{error}"
        );
    }

    #[test]
    fn what_is_not_there_does_not_answer() {
        assert!(answers(&mut Command::new("true")));
        assert!(!answers(&mut Command::new("false")));
        assert!(!answers(&mut Command::new("no-such-program-here")));
    }
}
