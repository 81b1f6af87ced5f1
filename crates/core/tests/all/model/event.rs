//! Events that are made in code.

use std::mem::size_of;

use roomkit_core::model::{
    ChannelData, ChannelDataFields, ChannelDirection, ChannelType, EventContent, EventSource,
    EventStatus, EventType, Metadata, RoomEvent,
};
use serde_json::json;

use super::noon;

fn event(content: EventContent) -> RoomEvent {
    RoomEvent::new(
        "r",
        EventSource::new("c", ChannelType::Sms),
        content,
        noon(),
    )
}

#[test]
fn a_new_event_is_pending_and_has_the_type_of_its_content() {
    let message = event(EventContent::text("hi"));
    assert_eq!(message.event_type, EventType::Message);
    assert_eq!(message.status, EventStatus::Pending);
    assert_eq!(message.text(), Some("hi"));
    assert_ne!(message.id, event(EventContent::text("hi")).id);
    let edit = event(EventContent::edit("e", EventContent::text("x")));
    assert_eq!(edit.event_type, EventType::Edit);
    assert_eq!(edit.text(), None);
    assert_eq!(
        event(EventContent::delete("e")).event_type,
        EventType::Delete
    );
}

#[test]
fn marks_in_the_metadata_count_only_when_they_are_true() {
    let mut event = event(EventContent::text("hi"));
    assert!(!event.is_deleted() && !event.is_edited() && !event.is_blocked());
    event.metadata.insert("deleted", "true");
    event.metadata.insert("edited", 1);
    assert!(!event.is_deleted() && !event.is_edited());
    event.metadata.insert("deleted", true);
    event.metadata.insert("edited", true);
    event.status = EventStatus::Blocked;
    assert!(event.is_deleted() && event.is_edited() && event.is_blocked());
}

#[test]
fn an_event_checks_its_content() {
    let error = event(EventContent::location(0.0, 181.0))
        .validate()
        .unwrap_err();
    assert_eq!(error.field, "content.longitude");
}

#[test]
fn the_framework_speaks_through_the_channel_system() {
    let source = EventSource::system();
    assert_eq!(source.channel_id, "system");
    assert_eq!(source.channel_type, ChannelType::System);
    assert_eq!(source.direction, ChannelDirection::Inbound);
}

#[test]
fn channel_data_costs_a_pointer_when_there_is_none() {
    assert_eq!(size_of::<ChannelData>(), size_of::<usize>());
    let empty = ChannelData::new(ChannelDataFields::default());
    assert_eq!(empty, ChannelData::default());
    assert_eq!(
        (empty.provider(), empty.external_id(), empty.thread_id()),
        (None, None, None)
    );
    assert!(empty.extra().is_empty());
    let full = ChannelData::new(ChannelDataFields {
        provider: Some("twilio".to_owned()),
        external_id: Some("x".to_owned()),
        thread_id: Some("t".to_owned()),
        extra: Metadata::from_iter([("segments", 2)]),
    });
    assert_eq!(full.provider(), Some("twilio"));
    assert_eq!(full.external_id(), Some("x"));
    assert_eq!(full.thread_id(), Some("t"));
    assert_eq!(full.extra().get("segments"), Some(&json!(2)));
}

#[test]
fn a_redacted_event_keeps_its_place_and_nothing_that_was_said() {
    let mut event = event(EventContent::text("secret"));
    event.metadata = Metadata::new().with("edited", true).with("note", "secret");
    event.source.raw_payload = Metadata::new().with("Body", "secret");
    event.delivery_results = Metadata::new().with("sms", "secret");
    let before = event.clone();
    event.redact();
    assert!(event.is_redacted() && event.is_edited() && !event.is_deleted());
    assert!(!serde_json::to_string(&event).unwrap().contains("secret"));
    let kept = (&event.id, event.index, &event.event_type, event.created_at);
    assert_eq!(
        kept,
        (
            &before.id,
            before.index,
            &before.event_type,
            before.created_at
        )
    );
    assert_eq!(event.source.channel_id, before.source.channel_id);
    assert_eq!(event.source.participant_id, before.source.participant_id);
    event.validate().unwrap();
    let again = event.clone();
    event.redact();
    assert_eq!(event, again);
}
