//! What fields are when they are absent.

use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelDirection, ChannelType,
    DeliveryOutcome, DeliveryResult, DeliveryStatus, EphemeralEvent, EphemeralEventType,
    EventContent, FrameworkEvent, FrameworkEventType, Identity, IdentityResult, InboundMessage,
    InboundResult, LengthUnit, Observation, Overflow, Participant, ProtocolTrace, RateLimit,
    RetryPolicy, Room, RoomEvent, Task, TraceDirection, TracePayload,
};
use serde_json::{Value, json};

use super::{noon, rewrite};

const NOON: &str = "2026-03-01T12:00:00Z";

fn read<T: serde::de::DeserializeOwned>(document: Value) -> T {
    serde_json::from_value(document).unwrap()
}

#[test]
fn content_fills_in_what_is_absent() {
    let cases = [
        (
            json!({"type": "text", "body": "x"}),
            EventContent::text("x"),
        ),
        (
            json!({"type": "rich", "body": "x"}),
            EventContent::rich("x"),
        ),
        (
            json!({"type": "audio", "url": "data:,"}),
            EventContent::audio("data:,"),
        ),
        (
            json!({"type": "video", "url": "data:,"}),
            EventContent::video("data:,"),
        ),
        (
            json!({"type": "media", "url": "data:,", "mime_type": "x/y"}),
            EventContent::media("data:,", "x/y"),
        ),
        (
            json!({"type": "location", "latitude": 1, "longitude": 2}),
            EventContent::location(1.0, 2.0),
        ),
        (
            json!({"type": "system", "body": "x", "code": "c"}),
            EventContent::system("c", "x"),
        ),
        (
            json!({"type": "template", "template_id": "t"}),
            EventContent::template("t"),
        ),
        (
            json!({"type": "delete", "target_event_id": "e"}),
            EventContent::delete("e"),
        ),
        (
            json!({"type": "tool_call", "tool_name": "t", "tool_id": "1", "unknown": 0}),
            EventContent::tool_call("t", "1"),
        ),
    ];
    for (document, expected) in cases {
        assert_eq!(read::<EventContent>(document), expected);
    }
    for source in [json!({}), json!({"edit_source": null})] {
        let mut document = json!({"type": "edit", "target_event_id": "e",
                                  "new_content": {"type": "text", "body": "x"}});
        document
            .as_object_mut()
            .unwrap()
            .extend(source.as_object().unwrap().clone());
        let expected = EventContent::edit("e", EventContent::text("x"));
        assert_eq!(read::<EventContent>(document), expected);
        assert_eq!(
            serde_json::to_value(expected).unwrap()["edit_source"],
            "sender"
        );
    }
}

#[test]
fn events_fill_in_what_is_absent() {
    let event: RoomEvent = read(json!({
        "id": "e",
        "room_id": "r",
        "source": {"channel_id": "c", "channel_type": "custom:slack"},
        "content": {"type": "text", "body": "x"},
        "created_at": NOON,
    }));
    assert_eq!(
        serde_json::to_value(&event).unwrap(),
        json!({
            "id": "e", "room_id": "r", "type": "message",
            "source": {
                "channel_id": "c", "channel_type": "custom:slack", "direction": "inbound",
                "participant_id": null, "external_id": null, "provider": null,
                "raw_payload": {}, "provider_message_id": null,
            },
            "content": {"type": "text", "body": "x", "language": null},
            "status": "pending", "blocked_by": null, "visibility": "all", "addressed_to": null,
            "response_visibility": null, "index": 0, "chain_depth": 0, "parent_event_id": null,
            "correlation_id": null, "idempotency_key": null, "created_at": NOON, "metadata": {},
            "channel_data": {
                "provider": null, "external_id": null, "thread_id": null, "extra": {},
            },
            "delivery_results": {},
        })
    );
}

#[test]
fn an_event_without_an_id_gets_a_new_one() {
    let document = json!({
        "room_id": "r", "source": {"channel_id": "c", "channel_type": "sms"},
        "content": {"type": "text", "body": "x"}, "created_at": NOON,
    });
    let (one, other): (RoomEvent, RoomEvent) = (read(document.clone()), read(document));
    assert_ne!(one.id, other.id);
    assert_eq!(one.id.as_str().len(), 36);
}

#[test]
fn models_fill_in_what_their_constructors_do() {
    assert_eq!(
        read::<Room>(json!({"id": "r", "created_at": NOON})),
        Room::new("r", noon())
    );
    assert_eq!(
        read::<ChannelBinding>(json!({
            "channel_id": "c", "room_id": "r", "channel_type": "sms", "attached_at": NOON,
        })),
        ChannelBinding::new(
            "c",
            "r",
            ChannelType::Sms,
            ChannelCategory::Transport,
            noon()
        )
    );
    assert_eq!(
        read::<Participant>(json!({
            "id": "p", "room_id": "r", "channel_id": "c", "joined_at": NOON,
        })),
        Participant::new("p", "r", "c", noon())
    );
    assert_eq!(read::<Identity>(json!({"id": "i"})), Identity::new("i"));
    assert_eq!(
        read::<IdentityResult>(json!({"status": "unknown"})),
        IdentityResult::unknown()
    );
    let task: Task = read(json!({"id": "t", "room_id": "r", "title": "x", "created_at": NOON}));
    assert_eq!(
        task,
        Task {
            id: "t".into(),
            ..Task::new("r", "x", noon())
        }
    );
    let observation: Observation = read(json!({
        "id": "o", "room_id": "r", "channel_id": "c", "category": "k", "content": "x",
        "created_at": NOON,
    }));
    let expected = Observation::new("r", "c", "k", "x", noon());
    assert_eq!(
        observation,
        Observation {
            id: "o".into(),
            ..expected
        }
    );
    assert_eq!(
        read::<InboundMessage>(json!({
            "channel_id": "c", "sender_id": "s", "content": {"type": "text", "body": "x"},
        })),
        InboundMessage::text("c", "s", "x")
    );
    assert_eq!(read::<InboundResult>(json!({})), InboundResult::default());
    assert_eq!(
        read::<DeliveryStatus>(json!({"provider": "p", "message_id": "m", "status": "sent"})),
        DeliveryStatus::new("p", "m", "sent")
    );
    assert_eq!(
        read::<FrameworkEvent>(json!({"type": "room_created", "timestamp": NOON})),
        FrameworkEvent::new(FrameworkEventType::RoomCreated, noon())
    );
    let typing: EphemeralEvent = read(json!({
        "id": "x", "room_id": "r", "type": "typing_start", "user_id": "u", "timestamp": NOON,
    }));
    let expected = EphemeralEvent::new("r", EphemeralEventType::TypingStart, "u", noon());
    assert_eq!(
        typing,
        EphemeralEvent {
            id: "x".to_owned(),
            ..expected
        }
    );
    assert_eq!(
        read::<ProtocolTrace>(json!({
            "channel_id": "c", "direction": "inbound", "protocol": "sip", "summary": "INVITE",
            "timestamp": NOON,
        })),
        ProtocolTrace::new("c", TraceDirection::Inbound, "sip", "INVITE", noon())
    );
}

#[test]
fn settings_fill_in_what_is_absent() {
    assert_eq!(
        read::<ChannelCapabilities>(json!({})),
        ChannelCapabilities::default()
    );
    assert_eq!(read::<RateLimit>(json!({})), RateLimit::default());
    assert_eq!(read::<RetryPolicy>(json!({})), RetryPolicy::default());
    let policy = RetryPolicy::default();
    assert_eq!(policy.max_retries, 3);
    assert_eq!(policy.base_delay_seconds, 1.0);
    assert_eq!(policy.max_delay_seconds, 60.0);
    assert_eq!(policy.exponential_base, 2.0);
}

#[test]
fn the_unit_and_the_overflow_of_a_limit_are_written_only_when_they_are_special() {
    let plain = serde_json::to_value(ChannelCapabilities::default()).unwrap();
    assert_eq!(plain.get("max_length_unit"), None);
    assert_eq!(plain.get("overflow"), None);
    let special = ChannelCapabilities {
        max_length_unit: LengthUnit::Gsm7,
        overflow: Overflow::Split,
        ..ChannelCapabilities::default().with_max_length(160)
    };
    let written = serde_json::to_value(&special).unwrap();
    assert_eq!(written["max_length_unit"], "gsm7");
    assert_eq!(written["overflow"], "split");
    assert_eq!(read::<ChannelCapabilities>(written), special);
}

#[test]
fn a_binding_goes_both_ways_and_reads_and_writes() {
    let mut binding = ChannelBinding::new(
        "c",
        "r",
        ChannelType::Sms,
        ChannelCategory::Transport,
        noon(),
    );
    assert_eq!(binding.direction, ChannelDirection::Bidirectional);
    assert!(binding.can_read() && binding.can_write());
    binding.muted = true;
    assert!(binding.can_read() && !binding.can_write());
}

#[test]
fn outcomes_of_deliveries_stand_beside_the_other_fields() {
    let error = json!({"code": "c", "message": "m", "retryable": false,
                       "retry_after_seconds": null});
    let cases = [
        (
            DeliveryOutcome::sent(),
            json!({"status": "sent", "error": null}),
        ),
        (
            DeliveryOutcome::failed("c", "m"),
            json!({"status": "failed", "error": error}),
        ),
        (
            DeliveryOutcome::unknown("c", "m"),
            json!({"status": "unknown", "error": error}),
        ),
    ];
    for (outcome, fields) in cases {
        let sent = outcome.is_sent();
        assert_eq!(outcome.error().is_none(), sent);
        let result = DeliveryResult::new("ch", outcome);
        let mut expected = json!({"channel_id": "ch", "provider_message_id": null, "attempts": 1});
        expected
            .as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        let written = serde_json::to_value(&result).unwrap();
        assert_eq!(written, expected);
        assert_eq!(read::<DeliveryResult>(written), result);
    }
    let retryable = DeliveryOutcome::failed_retryable("c", "m");
    assert!(retryable.error().unwrap().retryable);
}

#[test]
fn a_traced_message_is_text_or_bytes() {
    let trace = |raw| {
        json!({
            "channel_id": "c", "direction": "outbound", "protocol": "rtp", "summary": "packet",
            "raw": raw, "metadata": {}, "session_id": "s", "room_id": "r", "timestamp": NOON,
        })
    };
    for raw in [json!("INVITE"), json!([128, 0]), json!(null)] {
        assert_eq!(rewrite::<ProtocolTrace>(trace(raw.clone()))["raw"], raw);
    }
    let bytes: ProtocolTrace = read(trace(json!([1, 2])));
    assert_eq!(bytes.raw, Some(TracePayload::Bytes(vec![1, 2])));
}
