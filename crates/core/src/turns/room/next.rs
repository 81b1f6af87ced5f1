//! Whom a room lets speak next: what its planner says, within the room's own bounds.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{Ended, Misplan, TurnCap};
use crate::turns::planner::current_activity;
use crate::turns::{PlannedTurn, RoomTurnPlanner, TranscriptEvent};

/// The caps of a room, both at least 1 and per activity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Caps {
    pub(super) max_rounds: u32,
    pub(super) max_messages: u32,
}

/// The next turn, or why there is none.
///
/// A planner is code of others. Whatever it answers, an activity stays within the caps, every speaker is
/// on the roster, nobody speaks twice in a round, and nobody before the first human message.
pub(super) fn next_turn<'r>(
    planner: &dyn RoomTurnPlanner,
    roster: &'r [String],
    transcript: &[TranscriptEvent],
    caps: Caps,
) -> Result<PlannedTurn<'r>, Ended> {
    let agents: BTreeSet<&str> = roster.iter().map(String::as_str).collect();
    let activity = current_activity(&agents, transcript, usize::MAX).ok_or(Ended::Settled)?;
    let plan = AssertUnwindSafe(|| planner.plan_turn(roster, transcript));
    let planned = catch_unwind(plan).map_err(|_panic| Ended::Misplanned(Misplan::Panicked))?;
    let turn = planned.ok_or(Ended::Settled)?;
    if !agents.contains(turn.speaker) {
        let speaker = turn.speaker.to_owned();
        return Err(Ended::Misplanned(Misplan::NotOnRoster { speaker }));
    }
    if turn.round >= caps.max_rounds {
        return Err(Ended::Capped(TurnCap::MaxRounds));
    }
    let max_messages = usize::try_from(caps.max_messages).unwrap_or(usize::MAX);
    if activity.len() >= max_messages {
        return Err(Ended::Capped(TurnCap::MaxMessages));
    }
    let spoke =
        |event: &TranscriptEvent| event.round == turn.round && event.speaker == turn.speaker;
    if activity.iter().any(spoke) {
        return Err(Ended::Misplanned(Misplan::SpokeAlready {
            speaker: turn.speaker.to_owned(),
            round: turn.round,
        }));
    }
    Ok(turn)
}
