//! What was said in a room, as a planner sees it: one event, and all of them.

use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// One turn in a room's transcript: who spoke, what was said, and in which round.
///
/// The transcript is the planner's whole memory. Store it as it is and the same planner gives the
/// same next speaker after a restart.
///
/// In JSON only `speaker` is required; the other fields take their defaults when absent.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TranscriptEvent {
    /// An agent's id as it stands in the roster; every other value is a human participant.
    pub speaker: String,
    /// The text of the message, empty by default. It is searched for `@name` mentions, also when
    /// the speaker passed.
    #[serde(default)]
    pub content: String,
    /// The round this turn belongs to, counted from 0 (the default) within its activity.
    #[serde(default)]
    pub round: u32,
    /// Whether the speaker had the turn and chose to say nothing; `false` by default. A pass uses
    /// the turn up like a message does.
    #[serde(default)]
    pub passed: bool,
}

impl TranscriptEvent {
    /// A message in round 0.
    pub fn new(speaker: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            speaker: speaker.into(),
            content: content.into(),
            round: 0,
            passed: false,
        }
    }

    /// A turn that was given and not used.
    pub fn pass(speaker: impl Into<String>, round: u32) -> Self {
        Self {
            speaker: speaker.into(),
            content: String::new(),
            round,
            passed: true,
        }
    }

    /// The same turn in another round.
    #[must_use]
    pub fn in_round(self, round: u32) -> Self {
        Self { round, ..self }
    }
}

/// Everything said in a room up to some moment, in order.
///
/// It is a snapshot: cloning it copies nothing, and it stays as it is while the room goes on. A room
/// that is to append while somebody holds a snapshot copies its events once, so let go of it when it
/// is no longer needed.
///
/// It reads like a slice of [`TranscriptEvent`], and is a list in JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Transcript(Arc<Vec<TranscriptEvent>>);

impl Transcript {
    pub(super) fn push(&mut self, event: TranscriptEvent) {
        Arc::make_mut(&mut self.0).push(event);
    }
}

impl Deref for Transcript {
    type Target = [TranscriptEvent];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl From<Vec<TranscriptEvent>> for Transcript {
    fn from(events: Vec<TranscriptEvent>) -> Self {
        Self(Arc::new(events))
    }
}

impl FromIterator<TranscriptEvent> for Transcript {
    fn from_iter<I: IntoIterator<Item = TranscriptEvent>>(events: I) -> Self {
        events.into_iter().collect::<Vec<_>>().into()
    }
}
