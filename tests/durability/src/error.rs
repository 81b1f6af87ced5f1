//! What can go wrong with a proof itself.

use std::io;

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a proof could not be made, or what it found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A process or a file.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: String,
        /// Why it failed.
        #[source]
        source: io::Error,
    },
    /// A store, or the kit.
    #[error(transparent)]
    Kit(#[from] roomkit_core::Error),
    /// A server for the tests.
    #[error(transparent)]
    Service(#[from] roomkit_test_services::Error),
    /// The writer went away or said what it should not.
    #[error("the writer {0}")]
    Writer(String),
    /// Something was lost, doubled or out of order.
    #[error("{} violations, the first: {}", .0.len(), .0.first().map_or("none", String::as_str))]
    Violated(Vec<String>),
}

impl Error {
    /// An input or output error while doing `what`.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}
