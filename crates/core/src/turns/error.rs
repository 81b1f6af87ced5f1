//! Why a planner, a room or a selector cannot be made.

/// Why a planner, a [`TurnRoom`](super::TurnRoom) or a [`SpeakerSelector`](super::SpeakerSelector)
/// could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// A cap is 0, so nobody could ever speak.
    #[error("`{cap}` must be at least 1")]
    CapBelowOne {
        /// The name of the cap: `max_rounds` or `max_messages`.
        cap: &'static str,
    },
    /// Something is said of an agent that is not on the roster, most likely by a misspelt id.
    #[error("`{agent}` is not on the roster")]
    NotOnRoster {
        /// The id that the roster does not have.
        agent: String,
    },
}

impl TurnError {
    /// The stable name of this error, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CapBelowOne { .. } => "turn_cap_below_one",
            Self::NotOnRoster { .. } => "turn_agent_not_on_roster",
        }
    }

    /// Whether the same call may succeed later: never, what was given is wrong.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::CapBelowOne { .. } | Self::NotOnRoster { .. } => false,
        }
    }
}
