//! Why a planner cannot be made.

/// Why a planner could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TurnError {
    /// A cap is 0, so nobody could ever speak.
    #[error("`{cap}` must be at least 1")]
    CapBelowOne {
        /// The name of the cap: `max_rounds` or `max_messages`.
        cap: &'static str,
    },
}

impl TurnError {
    /// The stable name of this error, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::CapBelowOne { .. } => "turn_cap_below_one",
        }
    }

    /// Whether the same call may succeed later: never, the caps themselves are wrong.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::CapBelowOne { .. } => false,
        }
    }
}
