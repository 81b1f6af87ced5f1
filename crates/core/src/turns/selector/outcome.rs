//! What a selection comes to: a speaker and why, or why none.

use std::fmt;

/// A speaker, and why it is this one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Selection {
    /// The agent's id, as it stands in the roster.
    pub speaker: String,
    /// Why it speaks.
    pub reason: SelectionReason,
}

/// Why an agent was selected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SelectionReason {
    /// The last human message mentions it, and it has not spoken since. Nobody was asked.
    Mentioned,
    /// The reply is its id.
    ExactId,
    /// The reply is its id or an alias, but for case, quotes, marks of Markdown and punctuation.
    Alone,
    /// The reply is longer, and names it and nobody else.
    InSentence,
    /// No reply named anybody who may speak, the last one for this reason, and it is the next in roster
    /// order.
    NextInRoster {
        /// Why the last reply was not taken.
        because: NoSelection,
    },
}

/// Why nobody was selected.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NoSelection {
    /// The reply names nobody on the roster.
    Unknown,
    /// The reply names several agents.
    Ambiguous {
        /// Their ids, in roster order.
        speakers: Vec<String>,
    },
    /// The reply names the agent that spoke last, which may not speak again.
    Repeat {
        /// That agent's id.
        speaker: String,
    },
    /// There is nobody who may speak, so there was nothing to ask.
    NobodyLeft,
}

impl SelectionReason {
    /// The stable name of this reason, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Mentioned => "mentioned",
            Self::ExactId => "exact_id",
            Self::Alone => "alone",
            Self::InSentence => "in_sentence",
            Self::NextInRoster { .. } => "next_in_roster",
        }
    }
}

impl NoSelection {
    /// The stable name of this reason, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Ambiguous { .. } => "ambiguous",
            Self::Repeat { .. } => "repeat",
            Self::NobodyLeft => "nobody_left",
        }
    }
}

impl fmt::Display for SelectionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mentioned => f.write_str("the last human message mentions it"),
            Self::ExactId => f.write_str("the reply is its id"),
            Self::Alone => f.write_str("the reply is its name"),
            Self::InSentence => f.write_str("the reply names nobody else"),
            Self::NextInRoster { because } => write!(f, "it is next on the roster: {because}"),
        }
    }
}

impl fmt::Display for NoSelection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => f.write_str("the reply names nobody on the roster"),
            Self::Ambiguous { speakers } => {
                write!(f, "the reply names several: {}", speakers.join(", "))
            }
            Self::Repeat { speaker } => {
                write!(f, "the reply names {speaker}, who spoke last")
            }
            Self::NobodyLeft => f.write_str("there is nobody who may speak"),
        }
    }
}
