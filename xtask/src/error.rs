//! What can go wrong in a command, as the contributor reads it.

use std::io;
use std::path::{Path, PathBuf};

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{0}\n`cargo xtask --help` lists the commands")]
    Usage(String),
    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: io::Error },
    #[error("`{command}` failed ({status})")]
    Command {
        command: String,
        status: std::process::ExitStatus,
    },
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("`cargo metadata` printed something unexpected: {0}")]
    Metadata(#[from] serde_json::Error),
    #[error(transparent)]
    Services(#[from] roomkit_test_services::Error),
    /// Findings of a check, one a line.
    #[error("{}", .0.join("\n"))]
    Problems(Vec<String>),
}

impl Error {
    /// A single finding.
    pub(crate) fn problem(text: impl Into<String>) -> Self {
        Self::Problems(vec![text.into()])
    }

    /// For `map_err` on file operations.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// Turns a list of findings into the outcome of a check.
pub(crate) fn no_problems(problems: Vec<String>) -> Result<()> {
    if problems.is_empty() {
        Ok(())
    } else {
        Err(Error::Problems(problems))
    }
}
