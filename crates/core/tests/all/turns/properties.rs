//! What holds for every roster and every transcript.

use std::collections::HashSet;

use proptest::prelude::*;
use roomkit_core::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent};

/// Ids that collide in every way the rules care about: case, trailing punctuation, repeats.
fn agent() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "B", "c", "c.", "c-", "d-1", "é"]).prop_map(String::from)
}

fn content() -> impl Strategy<Value = String> {
    let name = prop_oneof![agent(), Just("nobody".to_owned())];
    let mention = (
        prop::sample::select(vec!["@", "@@", "x@", " @"]),
        name,
        "[ .,!-]{0,2}",
    )
        .prop_map(|(sign, name, after)| format!("{sign}{name}{after}"));
    prop_oneof![
        Just(String::new()),
        "\\PC{0,8}",
        prop::collection::vec(mention, 0..4).prop_map(|mentions| mentions.concat())
    ]
}

fn event() -> impl Strategy<Value = TranscriptEvent> {
    let speaker = prop_oneof![4 => agent(), 1 => Just("user".to_owned())];
    (speaker, content(), 0..6u32, any::<bool>()).prop_map(|(speaker, content, round, passed)| {
        TranscriptEvent {
            speaker,
            content,
            round,
            passed,
        }
    })
}

fn history() -> impl Strategy<Value = Vec<TranscriptEvent>> {
    prop::collection::vec(event(), 0..12)
}

fn roster() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(agent(), 0..6)
}

fn planner() -> impl Strategy<Value = RoundRobinRoomPlanner> {
    (1..5u32, 1..40u32).prop_filter_map("caps of at least 1", |(rounds, messages)| {
        RoundRobinRoomPlanner::new(rounds, messages).ok()
    })
}

/// Asks for turn after turn, answering with `replies` in a circle, until the room is settled.
fn drive(
    planner: &RoundRobinRoomPlanner,
    roster: &[String],
    transcript: &mut Vec<TranscriptEvent>,
    replies: &[String],
) -> Result<(), TestCaseError> {
    for reply in replies.iter().cycle().take(1_000) {
        let Some(turn) = planner.plan_turn(roster, transcript) else {
            return Ok(());
        };
        prop_assert_eq!(planner.plan_next(roster, transcript), Some(turn.speaker));
        transcript.push(TranscriptEvent::new(turn.speaker, reply.as_str()).in_round(turn.round));
    }
    Err(TestCaseError::fail("the room never settled"))
}

proptest! {
    #[test]
    fn an_activity_ends_within_its_caps_and_nobody_speaks_twice_in_a_round(
        planner in planner(),
        roster in roster(),
        old in history(),
        replies in prop::collection::vec(content(), 1..6),
    ) {
        let mut transcript = old;
        let start = transcript.len();
        transcript.push(TranscriptEvent::new("user", "go"));
        drive(&planner, &roster, &mut transcript, &replies)?;

        let activity = &transcript[start..];
        prop_assert!(activity.len() <= planner.max_messages() as usize);
        let mut turns = HashSet::new();
        for event in &activity[1..] {
            prop_assert!(roster.contains(&event.speaker));
            prop_assert!(event.round < planner.max_rounds());
            prop_assert!(turns.insert((&event.speaker, event.round)), "twice: {:?}", event);
        }
        prop_assert!(activity.is_sorted_by_key(|event| event.round));
        let opening = activity[1..].iter().filter(|event| event.round == 0).count();
        let agents = roster.iter().collect::<HashSet<_>>().len();
        prop_assert_eq!(opening, agents.min(planner.max_messages() as usize - 1));
    }

    #[test]
    fn the_same_input_gives_the_same_speaker_and_older_activities_change_nothing(
        planner in planner(),
        roster in roster(),
        old in history(),
        current in history(),
    ) {
        let mut activity = vec![TranscriptEvent::new("user", "go")];
        activity.extend(current);
        let next = planner.plan_turn(&roster, &activity);
        let (same_roster, same_activity) = (roster.clone(), activity.clone());
        prop_assert_eq!(planner.plan_turn(&same_roster, &same_activity), next);
        prop_assert_eq!(planner.plan_turn(&roster, &[old, activity].concat()), next);
    }

    #[test]
    fn listing_an_agent_again_changes_nothing(
        planner in planner(),
        roster in roster(),
        transcript in history(),
    ) {
        let twice = [roster.clone(), roster.clone()].concat();
        prop_assert_eq!(
            planner.plan_next(&twice, &transcript),
            planner.plan_next(&roster, &transcript)
        );
    }
}
