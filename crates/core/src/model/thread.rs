//! The threads of a room, in short.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::EventId;
use super::time;

/// A thread: an event and the replies to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadSummary {
    /// The event that the thread is about.
    pub root_event_id: EventId,
    /// How many replies there are.
    pub reply_count: u64,
    /// When the last reply was made; nothing while there is none.
    #[serde(default, with = "time::optional")]
    pub last_reply_at: Option<DateTime<Utc>>,
}

impl ThreadSummary {
    /// Makes the summary of a thread without replies.
    pub fn new(root_event_id: impl Into<EventId>) -> Self {
        Self {
            root_event_id: root_event_id.into(),
            reply_count: 0,
            last_reply_at: None,
        }
    }
}
