//! What becomes of a source when the kit does not take one of its messages.

use roomkit_core::model::InboundResult;
use roomkit_core::{Error, ErrorKind, Result};

/// Whether nothing is taken any more. A message that is not acceptable is left out.
pub(crate) fn is_over(taken: &Result<InboundResult>) -> Result<bool> {
    match taken {
        Ok(_) => Ok(false),
        Err(error) => match error.kind() {
            ErrorKind::KitClosed | ErrorKind::SourceNotFound => Ok(true),
            ErrorKind::InvalidInput => {
                // Its words may be those of a channel, which has read the message.
                tracing::warn!(code = error.code(), "a message is not acceptable");
                Ok(false)
            }
            kind => Err(Error::source(format!("a message was not taken: {kind}"))),
        },
    }
}
