//! A streamed answer of a script, piece by piece.

use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{StreamExt, unfold};
use roomkit_core::channel::{Delta, DeltaStream};
use roomkit_core::{Clock, Error};

/// A piece of a streamed answer of a [`ScriptedAgent`](crate::ScriptedAgent): something it says, or
/// how it breaks off. What stands behind a piece that ends the stream is never said.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamPiece {
    /// It says more; [`Delta::End`] completes the answer, as the end of the pieces does.
    Delta(Delta),
    /// It takes its time, by the agent's clock.
    Wait(Duration),
    /// It fails with the code `channel_failed`.
    Fail,
    /// It panics, without a message on the error stream.
    Panic,
    /// It never goes on; only the agent's time limit or who cancels the answer ends it.
    Hang,
}

impl StreamPiece {
    /// More of the text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Delta(Delta::Text(text.into()))
    }

    /// More of the reasoning.
    pub fn thinking(text: impl Into<String>) -> Self {
        Self::Delta(Delta::Thinking(text.into()))
    }
}

/// The answer that these pieces make.
pub(crate) fn deltas(pieces: Vec<StreamPiece>, clock: Arc<dyn Clock>) -> DeltaStream {
    let script = (pieces.into_iter(), clock);
    let deltas = unfold(script, |(mut pieces, clock)| async move {
        loop {
            let delta = match pieces.next()? {
                StreamPiece::Delta(delta) => Ok(delta),
                StreamPiece::Wait(time) => {
                    clock.sleep(time).await;
                    continue;
                }
                StreamPiece::Fail => Err(Error::channel("the script lets this stream fail")),
                StreamPiece::Panic => resume_unwind(Box::new("the script lets this stream panic")),
                StreamPiece::Hang => pending().await,
            };
            return Some((delta, (pieces, clock)));
        }
    });
    deltas.boxed()
}
