//! What a call to a room comes to: the events it appended, and why it stopped.

use std::fmt;

use super::TurnRecord;

/// What one call appended to a room, and why it stopped.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnReport {
    /// The events that this call appended, in order. They begin with the rest of an activity that an
    /// earlier call had left half done, if there was one.
    pub records: Vec<TurnRecord>,
    /// Why nobody speaks any more.
    pub ended: Ended,
}

/// Why an activity ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Ended {
    /// The planner names nobody: the room waits for a human message.
    Settled,
    /// The planner named somebody, but the activity has reached a cap of the room.
    Capped(TurnCap),
    /// The planner named somebody who cannot have the turn.
    Misplanned(Misplan),
}

/// A cap of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TurnCap {
    /// No turn is given in round `max_rounds` or later.
    MaxRounds,
    /// No turn is given once the activity holds `max_messages` events.
    MaxMessages,
}

/// What is wrong with a turn that a planner gave.
///
/// A planner that is pure gives the same turn again whenever it is asked, so the activity is over; the
/// next human message begins a new one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Misplan {
    /// The speaker is not on the roster.
    NotOnRoster {
        /// Who was named.
        speaker: String,
    },
    /// The speaker has had a turn in this round of this activity.
    SpokeAlready {
        /// Who was named.
        speaker: String,
        /// The round it was named for.
        round: u32,
    },
    /// The planner panicked.
    Panicked,
}

impl Ended {
    /// The stable name of this end, in snake case.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Settled => "settled",
            Self::Capped(TurnCap::MaxRounds) => "max_rounds_reached",
            Self::Capped(TurnCap::MaxMessages) => "max_messages_reached",
            Self::Misplanned(Misplan::NotOnRoster { .. }) => "speaker_not_on_roster",
            Self::Misplanned(Misplan::SpokeAlready { .. }) => "speaker_spoke_already",
            Self::Misplanned(Misplan::Panicked) => "planner_panicked",
        }
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Settled => f.write_str("everyone who was to speak has spoken"),
            Self::Capped(TurnCap::MaxRounds) => f.write_str("the cap of rounds is reached"),
            Self::Capped(TurnCap::MaxMessages) => f.write_str("the cap of messages is reached"),
            Self::Misplanned(Misplan::NotOnRoster { speaker }) => {
                write!(f, "the planner named `{speaker}`, who is not on the roster")
            }
            Self::Misplanned(Misplan::SpokeAlready { speaker, round }) => write!(
                f,
                "the planner named `{speaker}`, who has had a turn in round {round}"
            ),
            Self::Misplanned(Misplan::Panicked) => f.write_str("the planner panicked"),
        }
    }
}
