//! What can go wrong around the targets.

use std::path::PathBuf;

/// What this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong around the targets.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// A program is not on the machine.
    #[error("`{program}` is needed: {help}")]
    Missing {
        /// Which one.
        program: &'static str,
        /// How to get it.
        help: &'static str,
    },
    /// A program failed.
    #[error("`{0}` failed")]
    Failed(String),
    /// The command line is not understood.
    #[error("{0}")]
    Usage(String),
    /// A line of a corpus is no JSON string.
    #[error("{path}:{line}: {source}")]
    Line {
        /// The corpus.
        path: PathBuf,
        /// Which line.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Promises were broken.
    #[error("broken by the inputs in {}", .0.display())]
    Found(PathBuf),
}

impl Error {
    /// A file or folder cannot be read or written.
    pub(crate) fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            path: path.into(),
            source,
        }
    }
}
