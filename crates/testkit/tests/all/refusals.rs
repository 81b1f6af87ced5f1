//! Files that are refused: unknown keys at every level, and what makes no sense.

use roomkit_testkit::conformance::{Case, ConformanceError};
use serde_json::{Value, json};

/// A scenario with everything in its place.
fn scenario() -> Value {
    json!({
        "name": "s",
        "kit": {"max_chain_depth": 3, "organization_rate_limit": {"max_per_second": 1},
            "persistence_policy": {"exclude_types": ["typing"]}},
        "channels": [
            {"id": "ws", "capabilities": {"max_length": 5, "overflow": "split"}},
            {"id": "bot", "kind": "agent", "script": [{"on": "*", "reply": "hi"}, {"on": "x",
                "stream": [{"tool_call_start": {"id": "1", "name": "n"}}, {"tool_call_end": {"id": "1"}}]}]},
        ],
        "hooks": [{"name": "h", "action": "block", "reason": "r", "when": {"source": "ws"},
            "inject": [{"body": "b", "to": ["ws"]}]}],
        "watch": ["room_created"],
        "rooms": [{"id": "r", "attach": [{"channel": "ws", "retry_policy": {"max_retries": 1},
            "rate_limit": {"max_per_second": 1}}]}],
        "steps": [
            {"inbound": {"channel": "ws", "sender": "a", "content": {"type": "text", "body": "x"}}},
            {"mute": {"room": "r", "channel": "ws"}},
            {"settle": {"seconds": 1}},
            {"cancel_answer": {"room": "r", "agent": "bot"}},
            {"inbound": {"channel": "ws", "sender": "a", "content": {"type": "text", "body": "x"},
                "meanwhile": [{"after": 1, "step": {"settle": {"seconds": 1}}}]}},
            {"attach_source": {"channel": "ws", "runs": [{"emit": [{"sender": "a", "body": "x"}], "end": "stop"}]}},
            {"regenerate_response": {"room": "r"}},
            {"submit_feedback": {"room": "r", "rating": 1}},
            {"send_greeting": {"room": "r"}},
            {"session_started": {"room": "r", "channel": "ws", "participant": "a"}},
            {"as_organization": {"organization": "o", "step": {"mute": {"room": "r", "channel": "ws"}}}},
        ],
        "expect": {
            "results": [{"blocked": true}],
            "deliveries": {"ws": [{"index": 1}]},
            "frames": {"ws": [{"frame": "whole"}]},
            "rooms": {"r": {"timeline": [{"index": 0, "content": {}, "metadata": {}}]}},
        },
    })
}

fn refusal(file: &Value) -> Option<String> {
    let read = Case::parse("s", &file.to_string()).err()?;
    assert_eq!(read.code(), "malformed");
    Some(read.to_string())
}

#[test]
fn a_key_that_is_not_known_is_named() {
    assert_eq!(refusal(&scenario()), None);
    let places = [
        "",
        "/kit",
        "/kit/organization_rate_limit",
        "/kit/persistence_policy",
        "/channels/0",
        "/channels/0/capabilities",
        "/channels/1",
        "/channels/1/script/0",
        "/channels/1/script/1/stream/0/tool_call_start",
        "/channels/1/script/1/stream/1/tool_call_end",
        "/hooks/0",
        "/hooks/0/when",
        "/hooks/0/inject/0",
        "/rooms/0",
        "/rooms/0/attach/0",
        "/rooms/0/attach/0/retry_policy",
        "/rooms/0/attach/0/rate_limit",
        "/steps/0/inbound",
        "/steps/0/inbound/content",
        "/steps/1/mute",
        "/steps/2/settle",
        "/steps/3/cancel_answer",
        "/steps/4/inbound/meanwhile/0",
        "/steps/4/inbound/meanwhile/0/step/settle",
        "/steps/5/attach_source",
        "/steps/5/attach_source/runs/0",
        "/steps/5/attach_source/runs/0/emit/0",
        "/steps/6/regenerate_response",
        "/steps/7/submit_feedback",
        "/steps/8/send_greeting",
        "/steps/9/session_started",
        "/steps/10/as_organization",
        "/steps/10/as_organization/step/mute",
        "/expect",
        "/expect/results/0",
        "/expect/deliveries/ws/0",
        "/expect/frames/ws/0",
        "/expect/rooms/r",
        "/expect/rooms/r/timeline/0",
    ];
    for place in places {
        let mut file = scenario();
        let map = file
            .pointer_mut(place)
            .and_then(Value::as_object_mut)
            .unwrap();
        map.insert("surprise".to_owned(), json!(null));
        let refusal = refusal(&file).unwrap_or_else(|| panic!("{place}: taken"));
        assert!(refusal.contains("surprise"), "{place}: {refusal}");
    }
}

#[test]
fn a_step_has_one_key_that_is_known() {
    for step in [
        json!({"dance": {}}),
        json!({"settle": {"seconds": 1}, "mute": {}}),
        json!({}),
        json!(1),
    ] {
        let mut file = scenario();
        *file.pointer_mut("/steps/0").unwrap() = step;
        assert!(refusal(&file).is_some(), "{file}");
    }
}

#[test]
fn a_piece_of_a_stream_is_known() {
    for piece in [
        json!("sing"),
        json!({"sing": "la"}),
        json!({"text": "a", "thinking": "b"}),
        json!({"text": 1}),
        json!({"end": "now"}),
        json!({}),
    ] {
        let mut file = scenario();
        *file.pointer_mut("/channels/1/script/1/stream/0").unwrap() = piece;
        assert!(refusal(&file).is_some(), "{file}");
    }
}

#[test]
fn planner_files_are_as_strict() {
    for file in [
        json!({"plan_next": [], "more": 1}),
        json!({"plan_next": [{"roster": [], "transcript": [], "next": null, "more": 1}]}),
        json!({"plan_next": [{"roster": [], "transcript": [{"speaker": "a", "more": 1}], "next": null}]}),
        json!({"extract_mentions": [{"text": "", "mentions": [], "more": 1}]}),
    ] {
        assert!(refusal(&file).unwrap().contains("more"), "{file}");
    }
    let no_turn =
        json!({"plan_next": [{"roster": [], "max_rounds": 0, "transcript": [], "next": null}]});
    let case = Case::parse("planner", &no_turn.to_string()).unwrap();
    assert_eq!(case.run().unwrap_err().code(), "malformed");
}

#[test]
fn what_expects_nothing_proves_nothing() {
    let mut file = scenario();
    file.as_object_mut().unwrap().remove("expect");
    assert!(refusal(&file).unwrap().contains("expect"));
    assert!(Case::parse("s", "not json").is_err());
    assert!(Case::parse("s", "[]").is_err());
    assert!(matches!(
        Case::open("nowhere.json"),
        Err(ConformanceError::Unreadable { .. })
    ));
}

/// Changes one place of a scenario, runs it, and returns why it could not be run.
fn trouble(place: &str, value: Value) -> String {
    let mut file = scenario();
    *file.pointer_mut(place).unwrap() = value;
    let case = Case::parse("s", &file.to_string()).unwrap();
    match case.run() {
        Err(error) => error.to_string(),
        Ok(trace) => panic!("{place}: ran, {trace}"),
    }
}

#[test]
fn what_makes_no_sense_is_not_run() {
    let hook = |fields: Value| {
        let mut hook = json!({"name": "h"});
        hook.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        hook
    };
    let cases = [
        (
            "/hooks/0",
            hook(json!({"action": "allow", "reason": "r"})),
            "`reason`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "raise", "inject": []})),
            "`inject`",
        ),
        ("/hooks/0", hook(json!({"action": "block"})), "`reason`"),
        (
            "/hooks/0",
            hook(json!({"action": "replace", "pattern": "x"})),
            "`with`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "replace", "pattern": "(", "with": ""})),
            "unclosed",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "set_metadata"})),
            "`metadata`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "set_metadata", "key": "k"})),
            "`value`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "sleep", "seconds": -1})),
            "`seconds`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "allow", "timeout": -1})),
            "`timeout`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "allow", "trigger": "at_dawn"})),
            "`at_dawn`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "allow", "trigger": "before_tts"})),
            "carries no event",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "allow", "room": "nowhere"})),
            "room_not_found",
        ),
        ("/channels/0", json!({"id": "ws", "script": []}), "`script`"),
        (
            "/channels/1",
            json!({"id": "bot", "kind": "agent", "type": "sms"}),
            "`type`",
        ),
        (
            "/channels/1",
            json!({"id": "bot", "kind": "agent", "fail_first": 1}),
            "`fail_first`",
        ),
        (
            "/channels/1",
            json!({"id": "bot", "kind": "agent", "streaming": true}),
            "`streaming`",
        ),
        (
            "/channels/0",
            json!({"id": "ws", "fail_frame": 1}),
            "`fail_frame`",
        ),
        (
            "/channels/1/script/1",
            json!({"on": "x", "stream": [], "reply": "y"}),
            "`stream`",
        ),
        (
            "/channels/1/script/1/stream/0",
            json!({"wait": -1}),
            "`wait`",
        ),
        (
            "/hooks/0",
            hook(json!({"action": "allow", "hold_streams": true, "execution": "async"})),
            "`hold_streams`",
        ),
        (
            "/steps/4/inbound/meanwhile/0/after",
            json!(-1),
            "steps[4]: after",
        ),
        (
            "/channels/1",
            json!({"id": "ws"}),
            "channel_already_registered",
        ),
        (
            "/rooms/0/attach/0",
            json!({"channel": "ghost"}),
            "channel_not_registered",
        ),
        (
            "/rooms/0/attach/0",
            json!({"channel": "ws", "room": "other"}),
            "another room",
        ),
        ("/kit", json!({"max_chain_depth": 0}), "max_chain_depth"),
        ("/steps/2/settle/seconds", json!(-1), "steps[2]: settle"),
        (
            "/steps/1",
            json!({"attach_channel": {"channel": "ws"}}),
            "`room`",
        ),
        (
            "/steps/0/inbound/content",
            json!({"type": "delete", "target_index": 7}),
            "steps[0]: target_index: room r has no event 7",
        ),
    ];
    for (place, value, part) in cases {
        let trouble = trouble(place, value.clone());
        assert!(trouble.contains(part), "{place} {value}: {trouble}");
    }
    let mut file = scenario();
    *file.pointer_mut("/steps/0/inbound/content").unwrap() =
        json!({"type": "delete", "target_index": "7"});
    assert!(refusal(&file).unwrap().contains("target_index"));
}
