//! Messages from outside.

use roomkit_core::model::{
    ChannelId, DeliveryOutcome, DeliveryResult, EventContent, EventType, InboundMessage,
    InboundResult, Visibility,
};
use serde_json::json;

#[test]
fn a_message_is_built_step_by_step() {
    let message = InboundMessage::text("sms", "+15550001111", "hi")
        .in_room("r")
        .idempotency_key("k")
        .addressed_to(["codex"])
        .metadata("sender_name", "Alice")
        .metadata("n", 1)
        .visibility("transport")
        .parent("e");
    assert_eq!(message.event_type, EventType::Message);
    assert_eq!(message.room_id, Some("r".into()));
    assert_eq!(message.idempotency_key.as_deref(), Some("k"));
    assert_eq!(message.addressed_to, Some(vec![ChannelId::from("codex")]));
    assert_eq!(message.metadata.get("sender_name"), Some(&json!("Alice")));
    assert_eq!(message.metadata.len(), 2);
    assert_eq!(message.visibility, Visibility::Transport);
    assert_eq!(message.parent_event_id, Some("e".into()));
    let written = serde_json::to_value(&message).unwrap();
    assert_eq!(
        serde_json::from_value::<InboundMessage>(written).unwrap(),
        message
    );
}

#[test]
fn the_type_follows_the_content_unless_it_is_stated() {
    let of = |content| InboundMessage::new("c", "s", content);
    let edit = EventContent::edit("e", EventContent::text("x"));
    assert_eq!(of(edit).event_type, EventType::Edit);
    assert_eq!(of(EventContent::delete("e")).event_type, EventType::Delete);
    let reaction = of(EventContent::text("+1")).event_type(EventType::Reaction);
    assert_eq!(reaction.event_type, EventType::Reaction);
}

#[test]
fn a_message_checks_its_content() {
    let message = InboundMessage::new("c", "s", EventContent::audio("x"));
    assert_eq!(message.validate().unwrap_err().field, "content.url");
}

#[test]
fn a_result_finds_the_delivery_of_a_channel() {
    let result = InboundResult {
        delivery_results: vec![
            DeliveryResult::new("a", DeliveryOutcome::sent()),
            DeliveryResult::new("b", DeliveryOutcome::failed("code", "message")),
        ],
        ..InboundResult::default()
    };
    let outcome = |channel: &str| Some(&result.delivery(channel)?.outcome);
    assert!(outcome("a").unwrap().is_sent());
    assert_eq!(
        outcome("b").unwrap().error().unwrap().to_string(),
        "code: message"
    );
    assert_eq!(outcome("c"), None);
}
