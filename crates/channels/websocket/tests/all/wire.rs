//! The JSON that clients get.

use std::sync::Arc;

use chrono::{TimeZone, Utc};
use roomkit_core::model::{ChannelType, EventSource, RoomEvent, TextContent};
use roomkit_websocket::Frame;
use serde_json::{Value, json};

fn event() -> RoomEvent {
    let mut source = EventSource::new("sms-main", ChannelType::Sms);
    source.participant_id = Some("+15550001111".into());
    source
        .raw_payload
        .insert("AccountSid", "AC-of-the-operator");
    let at = Utc.with_ymd_and_hms(2026, 3, 1, 12, 30, 15).unwrap();
    let mut event = RoomEvent::new("lobby", source, TextContent::new("Café\n\u{1F600}"), at);
    event.index = 7;
    event
}

#[test]
fn an_event_frame_names_its_type_and_room_and_carries_the_event() {
    let event = Arc::new(event());
    let frame = Frame::from(Arc::clone(&event));
    let bytes = frame.json();
    assert!(!bytes.contains(&b'\n'), "one line");
    let json: Value = serde_json::from_slice(&bytes).unwrap();

    let mut expected = serde_json::to_value(&*event).unwrap();
    expected["source"]["raw_payload"] = json!({});
    assert_eq!(
        json,
        json!({"type": "event", "room_id": "lobby", "event": expected})
    );
}

#[test]
fn what_a_client_reads_is_the_event() {
    let event = Arc::new(event());
    let frame = Frame::from(Arc::clone(&event));
    let json: Value = serde_json::from_slice(&frame.json()).unwrap();
    let read: RoomEvent = serde_json::from_value(json["event"].clone()).unwrap();
    assert_eq!((&read.id, read.index), (&event.id, 7));
    assert_eq!(read.content, event.content);
    assert!(read.source.raw_payload.is_empty());
}

#[test]
fn the_application_sees_the_whole_event() {
    let event = Arc::new(event());
    let frame = Frame::from(Arc::clone(&event));
    let _ = frame.json();
    assert!(Arc::ptr_eq(frame.event().unwrap(), &event));
    assert_eq!(*frame.room_id(), "lobby");
    let debug = format!("{frame:?}");
    assert!(debug.contains(event.id.as_str()), "{debug}");
    assert!(!debug.contains("Café"), "no message text in logs: {debug}");
}
