//! The streamed answers of a scenario's agents.
//!
//! Before each delta, and before the end, the agent takes a millisecond of paused time. Such time
//! passes only when nothing else goes on, so every channel has taken a delta before the next one comes.

use std::time::Duration;

use roomkit_core::channel::Delta;
use serde::Deserialize;

use crate::StreamPiece;

/// How long the agent takes for each delta, and to end.
const PACE: Duration = Duration::from_millis(1);

/// A piece of a streamed answer: what is said, or how the stream goes on.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PieceSpec {
    Text(String),
    Thinking(String),
    ToolCallStart(ToolCallStart),
    ToolCallEnd(ToolCallEnd),
    /// In seconds.
    Wait(f64),
    End,
    Fail,
    Panic,
    Hang,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCallStart {
    id: String,
    name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ToolCallEnd {
    id: String,
}

/// The answer as the agent has it in its script; what is wrong with it where something is.
pub(super) fn of(specs: &[PieceSpec]) -> Result<Vec<StreamPiece>, String> {
    let mut pieces = Vec::new();
    for spec in specs {
        let piece = match spec {
            PieceSpec::Text(text) => StreamPiece::text(text),
            PieceSpec::Thinking(text) => StreamPiece::thinking(text),
            PieceSpec::ToolCallStart(ToolCallStart { id, name }) => {
                let (id, name) = (id.clone(), name.clone());
                StreamPiece::Delta(Delta::ToolCallStart { id, name })
            }
            PieceSpec::ToolCallEnd(ToolCallEnd { id }) => {
                StreamPiece::Delta(Delta::ToolCallEnd { id: id.clone() })
            }
            PieceSpec::Wait(seconds) => {
                let time = Duration::try_from_secs_f64(*seconds);
                StreamPiece::Wait(time.map_err(|error| format!("`wait`: {error}"))?)
            }
            PieceSpec::End => StreamPiece::Delta(Delta::End),
            PieceSpec::Fail => StreamPiece::Fail,
            PieceSpec::Panic => StreamPiece::Panic,
            PieceSpec::Hang => StreamPiece::Hang,
        };
        if !matches!(piece, StreamPiece::Wait(_)) {
            pieces.push(StreamPiece::Wait(PACE));
        }
        pieces.push(piece);
    }
    pieces.push(StreamPiece::Wait(PACE));
    Ok(pieces)
}
