//! What becomes of a source when the kit does not take one of its messages.

use roomkit_core::model::InboundResult;
use roomkit_core::{Error, ErrorKind, Refusal, Result};

/// What became of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It need not come again: it is stored, or is not acceptable however often it comes.
    Done,
    /// The source is to end, and the limit of what comes in did not let this message in.
    NotNow,
    /// Nothing is taken any more.
    Over,
}

/// What a message came to.
///
/// # Errors
/// The kit could not take it, and may later.
pub(crate) fn what_became_of(result: &Result<InboundResult>) -> Result<Taken> {
    let error = match result {
        Ok(_) => return Ok(Taken::Done),
        Err(error) => error,
    };
    match error.kind() {
        ErrorKind::KitClosed | ErrorKind::SourceNotFound => Ok(Taken::Over),
        ErrorKind::Refused(Refusal::RateLimited) => Ok(Taken::NotNow),
        ErrorKind::InvalidInput => {
            // Its words may be those of a channel, which has read the message.
            tracing::warn!(code = error.code(), "a message is not acceptable");
            Ok(Taken::Done)
        }
        kind => Err(Error::source(format!("a message was not taken: {kind}"))),
    }
}
