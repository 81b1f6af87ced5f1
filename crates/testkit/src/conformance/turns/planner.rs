//! A planner that takes its turns from a list, to see what a room makes of them.

use roomkit_core::turns::{PlannedTurn, RoomTurnPlanner, TranscriptEvent};

use super::file::TurnSpec;

/// Stands for every speaker that the roster does not have.
const STRANGER: &str = "stranger";

#[derive(Debug)]
pub(super) struct ListPlanner(pub(super) Vec<Option<TurnSpec>>);

impl ListPlanner {
    /// The turn of this moment; the list begins anew at its end.
    fn turn(&self, roster: &[String], transcript: &[TranscriptEvent]) -> Option<&TurnSpec> {
        let is_agent = |event: &&TranscriptEvent| roster.contains(&event.speaker);
        let since = transcript.iter().rev().take_while(is_agent).count();
        self.0.get(since.checked_rem(self.0.len())?)?.as_ref()
    }
}

impl RoomTurnPlanner for ListPlanner {
    fn plan_next<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<&'r str> {
        let turn = self.turn(roster, transcript)?;
        let speaker = roster.iter().find(|agent| **agent == turn.speaker);
        Some(speaker.map_or(STRANGER, String::as_str))
    }

    fn plan_turn<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<PlannedTurn<'r>> {
        let speaker = self.plan_next(roster, transcript)?;
        match self.turn(roster, transcript)?.round {
            Some(round) => Some(PlannedTurn { speaker, round }),
            None => WithoutRounds(self).plan_turn(roster, transcript),
        }
    }
}

/// The same planner with the rounds that every planner has.
struct WithoutRounds<'a>(&'a ListPlanner);

impl RoomTurnPlanner for WithoutRounds<'_> {
    fn plan_next<'r>(
        &self,
        roster: &'r [String],
        transcript: &[TranscriptEvent],
    ) -> Option<&'r str> {
        self.0.plan_next(roster, transcript)
    }
}
