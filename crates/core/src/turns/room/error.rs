//! Why a call to a room failed.

use super::TurnRecord;
use super::agent::BoxError;

/// Why a room could not take a message, or could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TurnRoomError {
    /// A message was to be posted in the name of an agent. Nothing was done.
    #[error("`{speaker}` is on the roster and speaks when it has the turn")]
    SpeakerOnRoster {
        /// The agent.
        speaker: String,
    },
    /// The observer did not take an event, which therefore does not count.
    #[error(transparent)]
    ObserverFailed(#[from] Box<ObserverFailure>),
}

/// An event that the observer did not take, and what came before it.
#[derive(Debug, thiserror::Error)]
#[error("the observer did not take event {} of `{}`", .record.position, .record.event.speaker)]
#[non_exhaustive]
pub struct ObserverFailure {
    /// The event, which is not in the transcript. Its position is free and goes to whatever comes next.
    pub record: TurnRecord,
    /// The events that the same call had appended before it, which stay.
    pub appended: Vec<TurnRecord>,
    /// Whether the message that the same call was to post is in the room.
    pub posted: bool,
    /// What the observer failed with.
    pub source: BoxError,
}

impl TurnRoomError {
    /// The stable name of this error, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SpeakerOnRoster { .. } => "turn_speaker_on_roster",
            Self::ObserverFailed(_) => "turn_observer_failed",
        }
    }

    /// Whether the same may succeed later.
    ///
    /// After [`ObserverFailed`](Self::ObserverFailed), `resume` is the call to make where the message
    /// was [posted](ObserverFailure::posted), and `post` again where it was not.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::SpeakerOnRoster { .. } => false,
            Self::ObserverFailed(_) => true,
        }
    }
}
