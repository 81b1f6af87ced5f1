//! The planner trait, and the turn that a planner gives.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::TranscriptEvent;

/// Names the next speaker of a room.
///
/// An implementation is pure: no clock, no randomness, no I/O, no memory between calls. The same
/// roster and transcript give the same speaker, forever and in every process; that is what makes a
/// room safe to restart.
pub trait RoomTurnPlanner: Send + Sync {
    /// The next speaker, or `None` when the room is settled and waits for a human message.
    ///
    /// `roster` holds the ids of the agents in the order in which they speak; whoever else speaks
    /// in `transcript` is a human. `transcript` is in the order in which it was said.
    fn plan_next<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<&'r str>;

    /// The next speaker together with the round to record its turn in.
    ///
    /// The speaker is always the one of [`plan_next`](Self::plan_next). Unless a planner has rounds
    /// of its own, the round is the highest one since the last human message, or the one after it
    /// when the speaker has spoken in it: nobody speaks twice in a round.
    fn plan_turn<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        let speaker = self.plan_next(roster, transcript)?;
        let agents = roster.iter().map(String::as_str).collect();
        let activity = current_activity(&agents, transcript, usize::MAX).unwrap_or(transcript);
        let highest = activity.iter().map(|event| event.round).max().unwrap_or(0);
        let spoken = activity
            .iter()
            .any(|event| event.round == highest && event.speaker == speaker);
        Some(PlannedTurn {
            speaker,
            round: highest.saturating_add(spoken.into()),
        })
    }
}

impl<P: RoomTurnPlanner + ?Sized> RoomTurnPlanner for Arc<P> {
    fn plan_next<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<&'r str> {
        (**self).plan_next(roster, transcript)
    }

    fn plan_turn<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        (**self).plan_turn(roster, transcript)
    }
}

/// A turn that a planner gives: who speaks, and the round to record it in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlannedTurn<'r> {
    /// The agent's id, borrowed from the roster.
    pub speaker: &'r str,
    /// The round that the turn belongs to, for [`TranscriptEvent::round`].
    pub round: u32,
}

/// The transcript from the last human message onward, found from its end.
///
/// `None` when there is no human message, or when the activity is longer than `at_most` events;
/// in that case no more than `at_most` of them are looked at.
pub(super) fn current_activity<'t>(
    agents: &BTreeSet<&str>,
    transcript: &'t [TranscriptEvent],
    at_most: usize,
) -> Option<&'t [TranscriptEvent]> {
    let replies = transcript
        .iter()
        .rev()
        .take(at_most)
        .position(|event| !agents.contains(event.speaker.as_str()))?;
    transcript.get(transcript.len() - replies - 1..)
}
