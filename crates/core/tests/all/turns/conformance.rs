//! The vectors recorded from the reference implementation.

use roomkit_core::turns::{
    RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent, extract_mentions,
};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    plan_next: Vec<PlanNext>,
    extract_mentions: Vec<ExtractMentions>,
}

#[derive(Deserialize)]
struct PlanNext {
    roster: Vec<String>,
    max_rounds: u32,
    max_messages: u32,
    transcript: Vec<TranscriptEvent>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct ExtractMentions {
    text: String,
    mentions: Vec<String>,
}

fn vectors() -> serde_json::Result<Vectors> {
    serde_json::from_str(include_str!(
        "../../../../../tests/conformance/planner.json"
    ))
}

#[test]
fn the_planner_names_the_recorded_speaker() {
    let cases = vectors().unwrap().plan_next;
    assert!(!cases.is_empty());
    for (index, case) in cases.iter().enumerate() {
        let planner = RoundRobinRoomPlanner::new(case.max_rounds, case.max_messages).unwrap();
        let next = planner.plan_next(&case.roster, &case.transcript);
        assert_eq!(
            next,
            case.next.as_deref(),
            "plan_next[{index}]: {:?}",
            case.transcript
        );
    }
}

#[test]
fn the_recorded_mentions_are_found() {
    let cases = vectors().unwrap().extract_mentions;
    assert!(!cases.is_empty());
    for case in cases {
        assert_eq!(
            extract_mentions(&case.text),
            case.mentions,
            "{:?}",
            case.text
        );
    }
}
