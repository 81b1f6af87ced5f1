//! Why a file could not be checked at all.

use std::path::PathBuf;

/// Why a conformance file could not be checked; a difference is no error, but a result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// The file could not be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is not what the format describes; the text says what is wrong, and where.
    #[error("malformed: {0}")]
    Malformed(String),
    /// The kit, a channel, a hook or a room of a scenario could not be made.
    #[error("cannot set up {part}: {source}")]
    Setup {
        /// What could not be made.
        part: String,
        /// What the kit said.
        source: roomkit_core::Error,
    },
    /// What a scenario left behind could not be read.
    #[error("cannot read what was left behind: {0}")]
    Unobservable(roomkit_core::Error),
    /// Nothing went on any more though a step was not done.
    #[error("stuck: nothing goes on, but the scenario is not done")]
    Stuck,
    /// The runtime that a scenario runs on could not be made.
    #[error("cannot make a runtime: {0}")]
    Runtime(std::io::Error),
    /// The implementation panicked.
    #[error("panicked: {0}")]
    Panicked(String),
}

impl ConformanceError {
    /// The stable name of this error, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unreadable { .. } => "unreadable",
            Self::Malformed(_) => "malformed",
            Self::Setup { .. } => "setup_failed",
            Self::Unobservable(_) => "unobservable",
            Self::Stuck => "stuck",
            Self::Runtime(_) => "no_runtime",
            Self::Panicked(_) => "panicked",
        }
    }

    pub(super) fn malformed(problem: impl Into<String>) -> Self {
        Self::Malformed(problem.into())
    }
}
