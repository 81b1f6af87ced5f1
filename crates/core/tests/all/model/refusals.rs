//! Documents that break a rule, and the error that says which.

use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelType, CompositeContent, DeliveryResult,
    EditContent, EventContent, EventFilter, InboundMessage, LocationContent, Observation,
    Participant, RateLimit, RetryPolicy, Room, RoomEvent,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::refusal;

fn assert_refused<T: DeserializeOwned>(cases: &[(Value, &str)]) {
    for (document, expected) in cases {
        assert_eq!(refusal::<T>(document), *expected, "{document}");
    }
}

/// Text inside this many composites.
fn composites(depth: usize) -> Value {
    (0..depth).fold(
        json!({"type": "text", "body": "x"}),
        |content, _| json!({"type": "composite", "parts": [content]}),
    )
}

fn edit_of(content: Value) -> Value {
    json!({"type": "edit", "target_event_id": "e", "new_content": content})
}

#[test]
fn content_names_the_field_that_is_wrong() {
    let url = "must start with http://, https:// or data:";
    let latitude = "latitude: must be between -90 and 90";
    let longitude = "longitude: must be between -180 and 180";
    let deep = "parts[0].parts[0].parts[0].parts[0].parts[0].parts: \
                composite content may nest at most 5 levels";
    assert_refused::<EventContent>(&[
        (json!({}), "type: is required"),
        (
            json!({"type": "hologram"}),
            "type: unknown content type `hologram`",
        ),
        (
            json!({"type": 1}),
            "type: invalid type: integer `1`, expected a string",
        ),
        (json!({"type": "text"}), "body: is required"),
        (
            json!({"type": "text", "body": null}),
            "body: invalid type: null, expected a string",
        ),
        (
            json!({"type": "rich", "body": "x", "format": "rtf"}),
            "format: unknown rich format `rtf`",
        ),
        (
            json!({"type": "rich", "body": "x", "buttons": ["a"]}),
            "buttons: invalid type: string \"a\", expected a map",
        ),
        (
            json!({"type": "media", "mime_type": "image/png"}),
            "url: is required",
        ),
        (
            json!({"type": "media", "url": "https://x"}),
            "mime_type: is required",
        ),
        (
            json!({"type": "media", "url": "file:///etc/passwd", "mime_type": "x/y"}),
            &format!("url: {url}"),
        ),
        (
            json!({"type": "media", "url": "", "mime_type": "x/y"}),
            &format!("url: {url}"),
        ),
        (
            json!({"type": "media", "url": "http:/é", "mime_type": "x/y"}),
            &format!("url: {url}"),
        ),
        (
            json!({"type": "media", "url": "https://x", "mime_type": "x/y", "size_bytes": -1}),
            "size_bytes: invalid value: integer `-1`, expected u64",
        ),
        (
            json!({"type": "audio", "url": "ftp://x"}),
            &format!("url: {url}"),
        ),
        (
            json!({"type": "audio", "url": "https://x", "duration_seconds": -0.1}),
            "duration_seconds: must not be negative",
        ),
        (json!({"type": "video", "url": "x"}), &format!("url: {url}")),
        (
            json!({"type": "video", "url": "https://x", "thumbnail_url": "x"}),
            &format!("thumbnail_url: {url}"),
        ),
        (
            json!({"type": "video", "url": "https://x", "duration_seconds": -1}),
            "duration_seconds: must not be negative",
        ),
        (
            json!({"type": "location", "longitude": 0}),
            "latitude: is required",
        ),
        (
            json!({"type": "location", "latitude": 90.0001, "longitude": 0}),
            latitude,
        ),
        (
            json!({"type": "location", "latitude": -91, "longitude": 0}),
            latitude,
        ),
        (
            json!({"type": "location", "latitude": 0, "longitude": 180.5}),
            longitude,
        ),
        (
            json!({"type": "location", "latitude": 0, "longitude": -181}),
            longitude,
        ),
        (
            json!({"type": "location", "latitude": "north", "longitude": 0}),
            "latitude: invalid type: string \"north\", expected f64",
        ),
        (json!({"type": "composite"}), "parts: is required"),
        (
            json!({"type": "composite", "parts": []}),
            "parts: must not be empty",
        ),
        (
            json!({"type": "composite", "parts": ["x"]}),
            "parts[0]: invalid type: string \"x\", expected a map",
        ),
        (
            json!({"type": "composite", "parts": [
                {"type": "text", "body": "a"},
                {"type": "media", "url": "x", "mime_type": "x/y"},
            ]}),
            &format!("parts[1].url: {url}"),
        ),
        (composites(6), deep),
        (composites(60), deep),
        (json!({"type": "system"}), "body: is required"),
        (json!({"type": "template"}), "template_id: is required"),
        (
            json!({"type": "template", "template_id": "t", "parameters": {"1": 2}}),
            "parameters: invalid type: integer `2`, expected a string",
        ),
        (
            json!({"type": "edit", "new_content": {}}),
            "target_event_id: is required",
        ),
        (
            json!({"type": "edit", "target_event_id": "e"}),
            "new_content: is required",
        ),
        (
            edit_of(json!("x")),
            "new_content: invalid type: string \"x\", expected a map",
        ),
        (
            edit_of(json!({"type": "location", "latitude": 91, "longitude": 0})),
            &format!("new_content.{latitude}"),
        ),
        (
            edit_of(edit_of(composites(0))),
            "new_content.type: an edit may not lie in the new content of an edit",
        ),
        (
            edit_of(json!({"type": "delete", "target_event_id": "e"})),
            "new_content.type: a delete may not lie in the new content of an edit",
        ),
        (
            edit_of(json!({"type": "composite", "parts": [edit_of(composites(0))]})),
            "new_content.parts[0].type: an edit may not lie in the new content of an edit",
        ),
        (
            json!({"type": "composite", "parts": [edit_of(composites(5))]}),
            "parts[0].new_content.parts[0].parts[0].parts[0].parts[0].parts: \
             composite content may nest at most 5 levels",
        ),
        (json!({"type": "delete"}), "target_event_id: is required"),
        (
            json!({"type": "delete", "target_event_id": "e", "delete_type": "owner"}),
            "delete_type: unknown delete type `owner`",
        ),
        (
            json!({"type": "tool_call", "tool_id": "1"}),
            "tool_name: is required",
        ),
        (
            json!({"type": "tool_call", "tool_name": "t", "tool_id": "1", "status": "late"}),
            "status: unknown tool call status `late`",
        ),
    ]);
}

#[test]
fn content_alone_is_refused_like_content_of_an_event() {
    assert_refused::<LocationContent>(&[(
        json!({"latitude": 91, "longitude": 0}),
        "latitude: must be between -90 and 90",
    )]);
    assert_refused::<CompositeContent>(&[(json!({"parts": []}), "parts: must not be empty")]);
    assert_refused::<EditContent>(&[(
        json!({"target_event_id": "e", "new_content": {"type": "delete", "target_event_id": "e"}}),
        "new_content.type: a delete may not lie in the new content of an edit",
    )]);
}

#[test]
fn documents_nested_beyond_measure_are_refused_and_not_a_stack_overflow() {
    let depth = 100_000;
    let text = r#"{"type":"composite","parts":["#.repeat(depth);
    let error = serde_json::from_str::<EventContent>(&text).unwrap_err();
    assert!(
        error.to_string().starts_with("recursion limit exceeded"),
        "{error}"
    );
}

#[test]
fn events_and_messages_name_the_field_that_is_wrong() {
    let source = json!({"channel_id": "c", "channel_type": "sms"});
    let text = json!({"type": "text", "body": "x"});
    let at = "2026-03-01T12:30:15Z";
    assert_refused::<RoomEvent>(&[
        (
            json!({"room_id": "r", "source": source, "content": text}),
            "missing field `created_at`",
        ),
        (
            json!({"source": source, "content": text, "created_at": at}),
            "missing field `room_id`",
        ),
        (
            json!({"room_id": "r", "content": text, "created_at": at}),
            "missing field `source`",
        ),
        (
            json!({"room_id": "r", "source": source, "created_at": at}),
            "missing field `content`",
        ),
        (
            json!({"room_id": "r", "source": source, "content": "x", "created_at": at}),
            "content: invalid type: string \"x\", expected a map",
        ),
        (
            json!({"room_id": "r", "source": source, "content": {"type": "text"}, "created_at": at}),
            "content.body: is required",
        ),
        (
            json!({"room_id": "r", "source": source, "content": text, "created_at": at,
                   "type": "shout"}),
            "unknown event type `shout`",
        ),
        (
            json!({"room_id": 7, "source": source, "content": text, "created_at": at}),
            "invalid type: integer `7`, expected a room id",
        ),
        (
            json!({"room_id": "r", "source": source, "content": text,
                   "created_at": "2026-03-01T12:30:15"}),
            "`2026-03-01T12:30:15` is not an RFC 3339 time with an offset",
        ),
    ]);
    assert_refused::<InboundMessage>(&[
        (
            json!({"channel_id": "c", "content": text}),
            "missing field `sender_id`",
        ),
        (
            json!({"channel_id": "c", "sender_id": "s",
                   "content": {"type": "composite", "parts": [{"type": "audio", "url": "x"}]}}),
            "content.parts[0].url: must start with http://, https:// or data:",
        ),
    ]);
}

#[test]
fn settings_name_the_field_that_is_wrong() {
    let at = "2026-03-01T12:30:15Z";
    let positive = "must be greater than 0";
    assert_refused::<ChannelCapabilities>(&[
        (json!({"max_length": 0}), &format!("max_length: {positive}")),
        (
            json!({"max_buttons": 0}),
            &format!("max_buttons: {positive}"),
        ),
        (
            json!({"max_media_size_bytes": 0}),
            &format!("max_media_size_bytes: {positive}"),
        ),
        (
            json!({"max_audio_duration_seconds": 0}),
            &format!("max_audio_duration_seconds: {positive}"),
        ),
        (
            json!({"max_video_duration_seconds": 0}),
            &format!("max_video_duration_seconds: {positive}"),
        ),
        (
            json!({"media_types": ["smell"]}),
            "media_types: unknown channel media type `smell`",
        ),
        (
            json!({"max_length_unit": "inches"}),
            "max_length_unit: unknown length unit `inches`",
        ),
        (
            json!({"overflow": "drop"}),
            "overflow: unknown overflow `drop`",
        ),
    ]);
    assert_refused::<RateLimit>(&[
        (
            json!({"max_per_second": 0}),
            &format!("max_per_second: {positive}"),
        ),
        (
            json!({"max_per_minute": -1}),
            &format!("max_per_minute: {positive}"),
        ),
        (
            json!({"max_per_hour": 0.0}),
            &format!("max_per_hour: {positive}"),
        ),
    ]);
    assert_refused::<RetryPolicy>(&[
        (
            json!({"max_retries": -1}),
            "max_retries: invalid value: integer `-1`, expected u32",
        ),
        (
            json!({"base_delay_seconds": 0}),
            &format!("base_delay_seconds: {positive}"),
        ),
        (
            json!({"max_delay_seconds": 0}),
            &format!("max_delay_seconds: {positive}"),
        ),
        (
            json!({"exponential_base": -2}),
            &format!("exponential_base: {positive}"),
        ),
    ]);
    let binding = |extra: (&str, Value)| {
        let mut binding = json!({"channel_id": "c", "room_id": "r", "channel_type": "sms",
                                 "attached_at": at});
        binding[extra.0] = extra.1;
        binding
    };
    assert_refused::<ChannelBinding>(&[
        (
            binding(("capabilities", json!({"max_length": 0}))),
            &format!("capabilities.max_length: {positive}"),
        ),
        (
            binding(("rate_limit", json!({"max_per_hour": 0}))),
            &format!("rate_limit.max_per_hour: {positive}"),
        ),
        (
            binding(("retry_policy", json!({"exponential_base": 0}))),
            &format!("retry_policy.exponential_base: {positive}"),
        ),
        (
            binding(("rate_limit", json!(5))),
            "rate_limit: invalid type: integer `5`, expected a map",
        ),
        (
            binding(("access", json!("all"))),
            "access: unknown access `all`",
        ),
        (
            binding(("channel_type", json!("fax"))),
            "channel_type: unknown channel type `fax`",
        ),
        (
            binding(("attached_at", json!("yesterday"))),
            "attached_at: `yesterday` is not an RFC 3339 time with an offset",
        ),
    ]);
}

#[test]
fn rooms_people_and_work_name_the_field_that_is_wrong() {
    let at = "2026-03-01T12:30:15Z";
    assert_refused::<Room>(&[
        (json!({"created_at": at}), "id: is required"),
        (json!({"id": "r"}), "created_at: is required"),
        (
            json!({"id": "r", "created_at": at, "delivered_index": -2}),
            "delivered_index: must not be below -1",
        ),
        (
            json!({"id": "r", "created_at": at, "status": "gone"}),
            "status: unknown room status `gone`",
        ),
    ]);
    assert_refused::<Participant>(&[
        (
            json!({"id": "p", "room_id": "r", "joined_at": at}),
            "channel_id: is required",
        ),
        (
            json!({"id": "p", "room_id": "r", "channel_id": "c", "joined_at": at, "role": "king"}),
            "role: unknown participant role `king`",
        ),
    ]);
    let observation = |confidence: f64| {
        json!({"id": "o", "room_id": "r", "channel_id": "c", "content": "x", "category": "y",
               "confidence": confidence, "created_at": at})
    };
    assert_refused::<Observation>(&[
        (observation(-0.01), "confidence: must be between 0 and 1"),
        (observation(1.01), "confidence: must be between 0 and 1"),
    ]);
    assert_refused::<EventFilter>(&[
        (
            json!({"after_time": at, "before_time": at}),
            "after_time: must be before before_time",
        ),
        (
            json!({"event_types": ["shout"]}),
            "event_types: unknown event type `shout`",
        ),
    ]);
    assert_refused::<DeliveryResult>(&[
        (
            json!({"channel_id": "c", "status": "failed"}),
            "error: is required unless the status is `sent`",
        ),
        (json!({"channel_id": "c"}), "missing field `status`"),
    ]);
    assert_refused::<ChannelType>(&[
        (json!("custom:"), "unknown channel type `custom:`"),
        (json!("custom:Slack"), "unknown channel type `custom:Slack`"),
        (json!("SMS"), "unknown channel type `SMS`"),
    ]);
}
