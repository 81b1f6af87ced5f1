//! One event as an observer and a report see it: where it stands, and why a turn was not used.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use crate::turns::TranscriptEvent;

/// An event of a room together with what the transcript does not say about it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnRecord {
    /// The event's place in the transcript, counted from 0.
    pub position: usize,
    /// The event, as it is or is to be in the transcript.
    pub event: TranscriptEvent,
    /// Why the turn was not used; `None` for what was said, by a human or by an agent.
    pub passed: Option<PassReason>,
}

/// Why an agent had a turn and said nothing.
///
/// The transcript shows a pass in every case: planners need not know, and a restart goes on the same
/// way. This is for logs and for whoever looks after the agents.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PassReason {
    /// The agent had nothing to say.
    Chosen,
    /// The roster names an agent that the room has no function for.
    Absent,
    /// The agent failed; this is what it failed with.
    Failed(Arc<dyn StdError + Send + Sync>),
    /// The agent panicked.
    Panicked,
    /// The agent did not answer within the room's time for a turn.
    TimedOut,
}

impl PassReason {
    /// The stable name of this reason, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Absent => "absent",
            Self::Failed(_) => "failed",
            Self::Panicked => "panicked",
            Self::TimedOut => "timed_out",
        }
    }
}

impl fmt::Display for PassReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen => f.write_str("it had nothing to say"),
            Self::Absent => f.write_str("there is no function for it"),
            Self::Failed(error) => write!(f, "it failed: {error}"),
            Self::Panicked => f.write_str("it panicked"),
            Self::TimedOut => f.write_str("it did not answer in time"),
        }
    }
}
