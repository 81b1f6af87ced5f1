//! What a writer and whoever drives it say to one another: one JSON object a line.

use serde::{Deserialize, Serialize};

/// A message that the writer is to bring into a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Send {
    /// The room's number.
    pub room: usize,
    /// Its idempotency key, the same when it is sent again.
    pub key: String,
    /// Who says it.
    pub sender: String,
}

impl Send {
    /// What is said: the key in words, so that an event shows which message it was.
    #[must_use]
    pub fn text(&self) -> String {
        format!("message {}", self.key)
    }
}

/// What the writer answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The rooms are there.
    Ready,
    /// A message is stored.
    Stored {
        /// Its key.
        key: String,
        /// Its index in the room.
        index: u64,
    },
    /// A message is not known to be stored.
    Failed {
        /// Its key.
        key: String,
        /// The error's code.
        code: String,
    },
}

/// The id of the room with this number.
#[must_use]
pub fn room_id(number: usize) -> String {
    format!("room-{number}")
}
