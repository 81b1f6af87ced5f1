//! What keeps a soak from being made.

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a soak could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The command line makes no sense.
    #[error("{0}")]
    Usage(String),
    /// The kit could not be put together, or could not be closed.
    #[error(transparent)]
    Kit(#[from] roomkit_core::Error),
    /// There is no runtime.
    #[error("starting a runtime")]
    Runtime(#[from] std::io::Error),
}
