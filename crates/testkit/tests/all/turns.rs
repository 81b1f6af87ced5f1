//! Turn files: what is refused, and that a room which does otherwise is noticed.

use roomkit_testkit::conformance::Case;
use serde_json::{Value, json};

/// A turn file with everything in its place.
fn file() -> Value {
    json!({
        "name": "t",
        "turn_room": {
            "roster": ["a", "b"],
            "max_rounds": 2,
            "max_messages": 9,
            "turn_timeout": 5,
            "planner": [{"speaker": "a", "round": 0}, null],
            "agents": [{"id": "a", "script": [{"round": 0, "on": "go", "after": 6, "say": "hi"}]}],
            "observer_fails": [1],
            "transcript": [{"speaker": "user", "content": "old"}],
        },
        "steps": [
            {"post_together": [{"speaker": "user", "content": "go"}]},
            {"post": {"speaker": "user", "content": "go"}},
            {"cut": {"speaker": "user", "content": "go", "after": 1}},
            {"restart": {}},
            {"resume": {}},
        ],
        "expect": {
            "results": [
                {"error": "turn_observer_failed", "position": 1, "posted": false},
                {"ended": "settled", "appended": 3},
                {"cut": true},
                {"ended": "settled", "appended": 1},
            ],
            "transcript": [
                {"speaker": "user", "content": "old"},
                {"speaker": "a", "passed": true},
                {"speaker": "user", "content": "go"},
                {"speaker": "a", "passed": true},
                {"speaker": "user", "content": "go"},
                {"speaker": "a", "passed": true},
            ],
            "passes": [
                {"speaker": "a", "round": 0, "reason": "chosen"},
                {"speaker": "a", "round": 0, "reason": "timed_out"},
                {"speaker": "a", "round": 0, "reason": "timed_out"},
            ],
            "asked": {"a": [0, 0, 0, 0, 0]},
        },
    })
}

fn case(file: &Value) -> Result<Case, String> {
    Case::parse("other", &file.to_string()).map_err(|error| error.to_string())
}

#[test]
fn a_file_with_everything_in_it_passes() {
    let case = case(&file()).unwrap();
    assert_eq!(case.name(), "t");
    let report = case.self_check();
    assert!(report.passed(), "{report}");
    assert_eq!(case.expected(), report.trace.unwrap());
}

#[test]
fn a_key_that_is_not_known_is_refused() {
    for place in [
        "",
        "/turn_room",
        "/turn_room/agents/0",
        "/turn_room/agents/0/script/0",
        "/turn_room/planner/0",
        "/turn_room/transcript/0",
        "/steps/0",
        "/steps/0/post_together/0",
        "/steps/1/post",
        "/steps/2/cut",
        "/steps/3/restart",
        "/steps/4/resume",
        "/expect",
        "/expect/results/0",
        "/expect/results/1",
        "/expect/results/2",
        "/expect/transcript/0",
        "/expect/passes/0",
    ] {
        let mut file = file();
        let map = file.pointer_mut(place).and_then(Value::as_object_mut);
        map.unwrap().insert("surprise".to_owned(), json!(1));
        let refusal = case(&file).unwrap_err();
        assert!(refusal.starts_with("malformed: "), "{place}: {refusal}");
    }
}

#[test]
fn a_room_that_cannot_be_made_is_an_error() {
    for (pointer, value, problem) in [
        (
            "/turn_room/max_rounds",
            json!(0),
            "`max_rounds` must be at least 1",
        ),
        (
            "/turn_room/agents/0/id",
            json!("z"),
            "`z` is not on the roster",
        ),
    ] {
        let mut file = file();
        *file.pointer_mut(pointer).unwrap() = value;
        let report = case(&file).unwrap().check();
        assert!(report.problems[0].contains(problem), "{report}");
    }
}

#[test]
fn a_difference_is_shown_by_its_path() {
    let mut file = file();
    *file.pointer_mut("/expect/passes/2/reason").unwrap() = json!("absent");
    let report = case(&file).unwrap().check();
    assert_eq!(
        report.problems,
        ["passes[2].reason: expected \"absent\", got \"timed_out\""]
    );
}
