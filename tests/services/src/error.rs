//! What can go wrong around a server, as the one who runs the tests reads it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use crate::service::Service;

/// The result of everything here.
pub type Result<T> = std::result::Result<T, Error>;

/// Why there is no server, or why it did not do as it was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine has no such server.
    #[error("missing: {}", .0.how_to_get())]
    Missing(Service),
    /// The variable that says where the binaries are points elsewhere.
    #[error("{} is `{}`, where {} is not", .service.binaries_variable(), .path.display(), .service.files())]
    Elsewhere {
        /// What was looked for.
        service: Service,
        /// What the variable holds.
        path: PathBuf,
    },
    /// PostgreSQL does not run as root, and there is nobody else to run it as.
    #[error("PostgreSQL does not run as root, and the users `postgres` and `nobody` are missing")]
    NoUser,
    /// Every port that was tried is taken.
    #[error("no free port was found on 127.0.0.1")]
    NoPort,
    /// A database's name that would have to be quoted.
    #[error("`{0}` is no name for a database: lower-case letters, digits and `_` are")]
    DatabaseName(String),
    /// A file or a folder.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A program that could not be started.
    #[error("`{program}` could not be started: {source}")]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// A program or server that ended when it should not, with the end of its log.
    #[error("{what} ended ({status}){log}")]
    Ended {
        /// The program.
        what: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: Log,
    },
    /// A program or server that took too long, with the end of its log.
    #[error("{what}: not {state} within {} s{log}", within.as_secs())]
    Slow {
        /// The program.
        what: String,
        /// What it was to become.
        state: &'static str,
        /// How long it was waited for.
        within: Duration,
        /// The end of its log.
        log: Log,
    },
    /// A server that was to be paused or resumed and does not run.
    #[error("{0} does not run")]
    Stopped(&'static str),
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}

/// The end of a log, to be shown below an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log(String);

impl Log {
    /// Enough to see the cause, and little enough to be read.
    const LINES: usize = 40;

    pub(crate) fn end_of(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.lines().collect();
        let skipped = lines.len().saturating_sub(Self::LINES);
        Self(
            lines
                .into_iter()
                .skip(skipped)
                .collect::<Vec<_>>()
                .join("\n"),
        )
    }

    pub(crate) fn contains(&self, words: &str) -> bool {
        self.0.contains(words)
    }
}

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0.is_empty() {
            return f.write_str("; its log is empty");
        }
        write!(f, "; the end of its log:\n{}", self.0)
    }
}
