//! What counts as a difference, and what does not.

use roomkit_testkit::conformance::Case;
use serde_json::{Value, json};

/// A scenario whose trace is of no interest.
fn case() -> Case {
    Case::parse("empty", r#"{"expect": {}}"#).unwrap()
}

fn differences(expected: &Value, got: &Value) -> Vec<String> {
    let found = case().compare(expected, got);
    found.iter().map(ToString::to_string).collect()
}

fn room(entry: Value) -> Value {
    json!({"rooms": {"r": {"status": "active", "timeline": [entry]}}})
}

#[test]
fn what_the_format_does_not_count_is_equal() {
    let notice = |body: &str, data: Value| {
        room(json!({"type": "channel_muted",
            "content": {"type": "system", "code": "channel_muted", "body": body, "data": data}}))
    };
    let content =
        |content: Value| json!({"deliveries": {"ws": [{"index": 1, "content": content}]}});
    let cases = [
        (
            json!({}),
            json!({"results": [], "hooks": [], "heard": {}, "rooms": {}}),
        ),
        (json!({"heard": {"bot": []}}), json!({"heard": {}})),
        (json!({"frames": {"ws": []}}), json!({})),
        (
            json!({"frames": {"ws": [{"frame": "start", "parent": null, "content": {"data": {}}}]}}),
            json!({"frames": {"ws": [{"frame": "start", "content": {}}]}}),
        ),
        (
            json!({"heard": {"bot": [2, 10]}}),
            json!({"heard": {"bot": [10, 2]}}),
        ),
        (
            json!({"framework_events": ["b", "a"]}),
            json!({"framework_events": ["a", "b"]}),
        ),
        (
            json!({"results": [{"blocked": false}]}),
            json!({"results": [{"blocked": false, "reason": null}]}),
        ),
        (
            room(json!({"visibility": "b, a,b"})),
            room(json!({"visibility": "a,b"})),
        ),
        (room(json!({"addressed_to": null})), room(json!({}))),
        (
            room(json!({"metadata": {"_x": 1}})),
            room(json!({"metadata": {}})),
        ),
        (
            room(json!({"metadata": {"_x": 1, "y": null}})),
            room(json!({"metadata": {"y": null}})),
        ),
        (
            notice("in words", json!({"channel_id": "ws", "access": "none"})),
            notice("in other words", json!({"channel_id": "ws"})),
        ),
        (
            content(json!({"type": "location", "latitude": 2, "parts": [{"body": ""}]})),
            content(
                json!({"type": "location", "latitude": 2.0, "label": null, "parts": [{}], "data": {}}),
            ),
        ),
    ];
    for (expected, got) in cases {
        assert_eq!(differences(&expected, &got), [""; 0], "{expected}");
        assert_eq!(differences(&got, &expected), [""; 0], "{expected}");
    }
}

#[test]
fn everything_else_is_a_difference() {
    let cases = [
        (
            json!({"heard": {"bot": [1]}}),
            json!({"heard": {"bot": [1, 1]}}),
            "heard.bot[1]: expected nothing, got 1",
        ),
        (
            json!({"frames": {"ws": [{"delta": {"text": ""}}]}}),
            json!({"frames": {"ws": [{"delta": {}}]}}),
            "frames.ws[0].delta.text: expected \"\", got nothing",
        ),
        (
            json!({}),
            json!({"frames": {"ws": [{"frame": "whole"}]}}),
            "frames.ws: expected nothing, got [{\"frame\":\"whole\"}]",
        ),
        (
            json!({"hooks": ["a", "b"]}),
            json!({"hooks": ["b", "a"]}),
            "hooks[0]: expected \"a\", got \"b\"",
        ),
        (
            json!({"results": [{"error": "x"}]}),
            json!({"results": []}),
            "results[0]: expected {\"error\":\"x\"}, got nothing",
        ),
        (
            room(json!({"addressed_to": []})),
            room(json!({})),
            "rooms.r.timeline[0].addressed_to: expected [], got nothing",
        ),
        (
            room(json!({"visibility": "a"})),
            room(json!({"visibility": "all"})),
            "rooms.r.timeline[0].visibility: expected \"a\", got \"all\"",
        ),
        (
            room(json!({"metadata": {"y": null}})),
            room(json!({})),
            "rooms.r.timeline[0].metadata: expected {\"y\":null}, got nothing",
        ),
        (
            room(json!({"content": {"type": "system", "body": "a"}})),
            room(json!({"content": {"type": "system", "body": "b"}})),
            "rooms.r.timeline[0].content.body: expected \"a\", got \"b\"",
        ),
        (
            json!({"rooms": {"r": {}}}),
            json!({}),
            "rooms.r: expected {\"observations\":[],\"tasks\":[],\"timeline\":[]}, got nothing",
        ),
    ];
    for (expected, got, difference) in cases {
        let found = differences(&expected, &got);
        assert_eq!(
            found.first().map(String::as_str),
            Some(difference),
            "{found:?}"
        );
    }
}

#[test]
fn planner_vectors_are_compared_as_they_are() {
    let file =
        r#"{"plan_next": [{"roster": ["a"], "transcript": [{"speaker": "user"}], "next": null}]}"#;
    let report = Case::parse("planner", file).unwrap().self_check();
    assert_eq!(
        report.problems,
        ["plan_next[0].next: expected null, got \"a\""]
    );
    assert_eq!(
        report.to_string(),
        "FAILED planner\n  plan_next[0].next: expected null, got \"a\""
    );
}
