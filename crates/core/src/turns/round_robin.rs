//! The round-robin policy: everyone once, then whoever is called by name.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::mentions::mentions;
use super::planner::current_activity;
use super::{PlannedTurn, RoomTurnPlanner, TranscriptEvent, TurnError};

/// Everyone answers a human message once; after that, whoever an agent calls by `@name`.
///
/// - An **activity** is the transcript from the last human message onward; nothing before it counts,
///   and before the first human message nobody speaks.
/// - **Round 0** gives every agent one turn, in roster order. **Round N+1** gives one to the agents
///   that an agent mentioned during round N, again in roster order. A pass uses its turn up; what it
///   mentions counts all the same.
/// - The round being filled is the highest round in the activity. Once everyone it admits has
///   spoken, or when it admits nobody, the next round is open.
/// - A mention that is not an agent's id admits the agent whose id it becomes without its trailing
///   dots and dashes: `@coder.` calls `coder`, unless there is an agent called `coder.`.
/// - Two **hard caps** end an activity: no turn is given in round `max_rounds` or later, and none
///   once the activity holds `max_messages` events, human message and passes included.
///
/// A call reads the transcript backwards and no further than the current activity or
/// `max_messages` events, whichever is shorter: the length of the room's history does not matter.
///
/// In JSON both caps may be absent and take their defaults; a cap of 0 is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Caps")]
pub struct RoundRobinRoomPlanner {
    max_rounds: u32,
    max_messages: u32,
}

impl RoundRobinRoomPlanner {
    /// The rounds an activity may have by default.
    pub const DEFAULT_MAX_ROUNDS: u32 = 3;
    /// The events an activity may have by default.
    pub const DEFAULT_MAX_MESSAGES: u32 = 20;

    /// A planner with these caps, both per activity.
    ///
    /// # Errors
    ///
    /// [`TurnError::CapBelowOne`] when either cap is 0.
    pub const fn new(max_rounds: u32, max_messages: u32) -> Result<Self, TurnError> {
        if max_rounds == 0 {
            return Err(TurnError::CapBelowOne { cap: "max_rounds" });
        }
        if max_messages == 0 {
            return Err(TurnError::CapBelowOne {
                cap: "max_messages",
            });
        }
        Ok(Self {
            max_rounds,
            max_messages,
        })
    }

    /// The first round in which nobody gets a turn any more.
    #[must_use]
    pub const fn max_rounds(&self) -> u32 {
        self.max_rounds
    }

    /// The number of events, human message included, at which an activity ends.
    #[must_use]
    pub const fn max_messages(&self) -> u32 {
        self.max_messages
    }
}

impl Default for RoundRobinRoomPlanner {
    fn default() -> Self {
        Self {
            max_rounds: Self::DEFAULT_MAX_ROUNDS,
            max_messages: Self::DEFAULT_MAX_MESSAGES,
        }
    }
}

impl RoomTurnPlanner for RoundRobinRoomPlanner {
    fn plan_next<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<&'r str> {
        self.plan_turn(roster, transcript).map(|turn| turn.speaker)
    }

    fn plan_turn<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        let agents: BTreeSet<&str> = roster.iter().map(String::as_str).collect();
        let below_cap = usize::try_from(self.max_messages).unwrap_or(usize::MAX) - 1;
        let activity = current_activity(&agents, transcript, below_cap)?;
        let filling = activity.iter().map(|event| event.round).max()?;
        [Some(filling), filling.checked_add(1)]
            .into_iter()
            .flatten()
            .filter(|round| *round < self.max_rounds)
            .find_map(|round| {
                let speaker = first_to_speak(roster, &agents, activity, round)?;
                Some(PlannedTurn { speaker, round })
            })
    }
}

/// The first agent of the roster that `round` admits and that has not spoken in it.
fn first_to_speak<'r>(
    roster: &'r [String],
    agents: &BTreeSet<&str>,
    activity: &[TranscriptEvent],
    round: u32,
) -> Option<&'r str> {
    let called = round
        .checked_sub(1)
        .map(|before| called_in(agents, activity, before));
    let spoken: BTreeSet<&str> = in_round(activity, round)
        .map(|event| event.speaker.as_str())
        .collect();
    roster.iter().map(String::as_str).find(|agent| {
        called.as_ref().is_none_or(|called| called.contains(agent)) && !spoken.contains(agent)
    })
}

/// The agents that agents mention during `round`.
fn called_in<'a>(
    agents: &BTreeSet<&'a str>,
    activity: &'a [TranscriptEvent],
    round: u32,
) -> BTreeSet<&'a str> {
    in_round(activity, round)
        .filter(|event| agents.contains(event.speaker.as_str()))
        .flat_map(|event| mentions(&event.content))
        .map(|name| match agents.get(name) {
            Some(exact) => exact,
            None => name.trim_end_matches(['.', '-']),
        })
        .filter(|name| agents.contains(name))
        .collect()
}

fn in_round(activity: &[TranscriptEvent], round: u32) -> impl Iterator<Item = &TranscriptEvent> {
    activity.iter().filter(move |event| event.round == round)
}

/// A planner's caps as they come from JSON, not yet checked.
#[derive(Deserialize)]
#[serde(default)]
struct Caps {
    max_rounds: u32,
    max_messages: u32,
}

impl Default for Caps {
    fn default() -> Self {
        let RoundRobinRoomPlanner {
            max_rounds,
            max_messages,
        } = RoundRobinRoomPlanner::default();
        Self {
            max_rounds,
            max_messages,
        }
    }
}

impl TryFrom<Caps> for RoundRobinRoomPlanner {
    type Error = TurnError;

    fn try_from(caps: Caps) -> Result<Self, TurnError> {
        Self::new(caps.max_rounds, caps.max_messages)
    }
}
