//! The planner's rules, one by one.

use std::sync::Arc;

use roomkit_core::turns::{
    PlannedTurn, RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent, TurnError,
};

use super::{roster, transcript};

#[test]
fn the_next_turn_follows_the_rules() {
    type Case<'a> = (
        &'a str,
        &'a [&'a str],
        &'a [(&'a str, &'a str, u32)],
        Option<(&'a str, u32)>,
    );
    let cases: &[Case<'_>] = &[
        ("nothing said", &["a"], &[], None),
        ("nobody to speak", &[], &[("user", "hi", 0)], None),
        ("no human yet", &["a", "b"], &[("a", "@b", 0)], None),
        (
            "the opening is in roster order",
            &["b", "a"],
            &[("user", "@a", 0)],
            Some(("b", 0)),
        ),
        (
            "a human's mention admits nobody",
            &["a"],
            &[("user", "@a", 0), ("a", "", 0)],
            None,
        ),
        (
            "mentions are honoured in roster order",
            &["a", "b", "c"],
            &[
                ("user", "", 0),
                ("a", "@c", 0),
                ("b", "", 0),
                ("c", "@b", 0),
            ],
            Some(("b", 1)),
        ),
        (
            "one mention of several makes one turn",
            &["a", "b"],
            &[
                ("user", "", 0),
                ("a", "@b @b", 0),
                ("b", "@b", 0),
                ("b", "", 1),
            ],
            None,
        ),
        (
            "a later round opens although the called agent was silent in the last",
            &["a", "b"],
            &[
                ("user", "", 0),
                ("a", "@a", 0),
                ("b", "", 0),
                ("a", "@b", 1),
            ],
            Some(("b", 2)),
        ),
        (
            "only the round before admits",
            &["a", "b"],
            &[
                ("user", "", 0),
                ("a", "@b", 0),
                ("b", "@a", 0),
                ("a", "", 1),
                ("b", "", 1),
            ],
            None,
        ),
        (
            "a mention of an earlier activity is stale",
            &["a", "b"],
            &[
                ("user", "", 0),
                ("a", "@b", 0),
                ("b", "", 0),
                ("user", "", 0),
                ("a", "", 0),
                ("b", "", 0),
            ],
            None,
        ),
        (
            "a human message in a later round opens nothing before it",
            &["a"],
            &[("user", "", 1)],
            None,
        ),
        (
            "a round that admits nobody is filled",
            &["a", "b"],
            &[("user", "", 0), ("a", "@b", 1)],
            Some(("b", 2)),
        ),
        (
            "the highest round is being filled, gaps below it stay",
            &["a", "b", "c"],
            &[("user", "", 0), ("a", "@a @b", 0), ("a", "", 1)],
            Some(("b", 1)),
        ),
        (
            "an agent listed twice speaks once",
            &["a", "a", "b", "a"],
            &[("user", "", 0), ("a", "", 0)],
            Some(("b", 0)),
        ),
        (
            "punctuation is forgiven",
            &["a", "b"],
            &[("user", "", 0), ("a", "over to @b.-", 0), ("b", "", 0)],
            Some(("b", 1)),
        ),
        (
            "an id with its dot is that agent only",
            &["a", "b", "b."],
            &[
                ("user", "", 0),
                ("a", "over to @b.", 0),
                ("b", "", 0),
                ("b.", "", 0),
            ],
            Some(("b.", 1)),
        ),
        (
            "an id that is not on the roster is a human's",
            &["a"],
            &[("user", "", 0), ("a", "@a", 0), ("b", "", 0)],
            Some(("a", 0)),
        ),
        (
            "the last round is below the cap",
            &["a"],
            &[("user", "", 0), ("a", "@a", 2)],
            None,
        ),
        (
            "the highest round there is",
            &["a"],
            &[("user", "", 0), ("a", "@a", u32::MAX)],
            None,
        ),
    ];
    let planner = RoundRobinRoomPlanner::default();
    for (name, ids, events, expected) in cases {
        let (roster, transcript) = (roster(ids), transcript(events));
        let turn = planner.plan_turn(&roster, &transcript);
        assert_eq!(
            turn.map(|turn| (turn.speaker, turn.round)),
            *expected,
            "{name}"
        );
        let next = planner.plan_next(&roster, &transcript);
        assert_eq!(next, expected.map(|(speaker, _)| speaker), "{name}");
    }
}

#[test]
fn a_pass_uses_its_turn_up_and_its_mentions_count() {
    let roster = roster(&["a", "b"]);
    let mut transcript = vec![
        TranscriptEvent::new("user", "hi"),
        TranscriptEvent::pass("a", 0),
    ];
    let planner = RoundRobinRoomPlanner::default();
    assert_eq!(planner.plan_next(&roster, &transcript), Some("b"));

    let mention = TranscriptEvent {
        content: "@a".into(),
        ..TranscriptEvent::pass("b", 0)
    };
    transcript.push(mention);
    assert_eq!(
        planner.plan_turn(&roster, &transcript),
        Some(PlannedTurn {
            speaker: "a",
            round: 1
        })
    );
}

#[test]
fn an_activity_ends_at_the_message_cap_and_the_next_human_message_starts_a_new_one() {
    let roster = roster(&["a", "b", "c"]);
    let planner = RoundRobinRoomPlanner::new(3, 3).unwrap();
    let mut transcript = transcript(&[("user", "hi", 0), ("a", "", 0)]);
    assert_eq!(planner.plan_next(&roster, &transcript), Some("b"));
    transcript.push(TranscriptEvent::pass("b", 0));
    assert_eq!(planner.plan_next(&roster, &transcript), None);
    transcript.push(TranscriptEvent::new("user", "and?"));
    assert_eq!(planner.plan_next(&roster, &transcript), Some("a"));
}

#[test]
fn caps_below_one_are_refused_by_name() {
    let caps = [
        (0, 1, "max_rounds"),
        (1, 0, "max_messages"),
        (0, 0, "max_rounds"),
    ];
    for (max_rounds, max_messages, cap) in caps {
        let error = RoundRobinRoomPlanner::new(max_rounds, max_messages).unwrap_err();
        assert_eq!(error, TurnError::CapBelowOne { cap });
        assert_eq!(error.code(), "turn_cap_below_one");
        assert_eq!(error.to_string(), format!("`{cap}` must be at least 1"));
        assert!(!error.is_retryable());
    }
}

#[test]
fn caps_from_json_have_defaults_and_are_checked() {
    let parse = serde_json::from_str::<RoundRobinRoomPlanner>;

    let default = parse("{}").unwrap();
    assert_eq!(default, RoundRobinRoomPlanner::default());
    assert_eq!((default.max_rounds(), default.max_messages()), (3, 20));

    let planner = parse(r#"{"max_rounds": 5}"#).unwrap();
    assert_eq!(planner, RoundRobinRoomPlanner::new(5, 20).unwrap());
    let json = serde_json::to_string(&planner).unwrap();
    assert_eq!(
        serde_json::from_str::<RoundRobinRoomPlanner>(&json).unwrap(),
        planner
    );

    for (json, named) in [
        (r#"{"max_rounds": 0}"#, "max_rounds"),
        (r#"{"max_messages": 0}"#, "max_messages"),
        (r#"{"max_messages": -1}"#, "-1"),
    ] {
        let error = parse(json).unwrap_err().to_string();
        assert!(error.contains(named), "{json}: {error}");
    }
}

#[test]
fn a_transcript_event_needs_only_a_speaker() {
    let event: TranscriptEvent = serde_json::from_str(r#"{"speaker": "a"}"#).unwrap();
    assert_eq!(event, TranscriptEvent::new("a", ""));
    let json = serde_json::to_value(TranscriptEvent::pass("a", 2)).unwrap();
    assert_eq!(
        json,
        serde_json::json!({"speaker": "a", "content": "", "round": 2, "passed": true})
    );
}

#[test]
fn a_planner_of_ones_own_is_an_object_and_gets_rounds_for_free() {
    struct FirstAgent;

    impl RoomTurnPlanner for FirstAgent {
        fn plan_next<'r>(
            &self,
            roster: &'r [String],
            _transcript: &[TranscriptEvent],
        ) -> Option<&'r str> {
            roster.first().map(String::as_str)
        }
    }

    let planner: Arc<dyn RoomTurnPlanner> = Arc::new(FirstAgent);
    let roster = roster(&["a", "b"]);
    let round = |events| {
        planner
            .plan_turn(&roster, &transcript(events))
            .map(|turn| turn.round)
    };
    assert_eq!(round(&[]), Some(0));
    assert_eq!(round(&[("b", "", 4)]), Some(4));
    assert_eq!(
        round(&[("a", "", 4), ("user", "", 0), ("b", "", 1)]),
        Some(1)
    );
    assert_eq!(
        round(&[("user", "", 0), ("a", "", 1), ("b", "", 1)]),
        Some(2)
    );
    assert!(planner.plan_turn(&[], &[]).is_none());
}
