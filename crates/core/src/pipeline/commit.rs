//! What a pass commits: the event, and all that must become true with it.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::model::{
    ChannelId, EventSource, EventStatus, EventType, Metadata, RoomEvent, RoomId, SystemContent,
    Visibility,
};

/// An event of the framework itself: source `system`, visibility `internal`, no participant.
pub(crate) fn system_event(
    room: &RoomId,
    event_type: EventType,
    code: &str,
    body: String,
    data: Metadata,
    at: DateTime<Utc>,
) -> RoomEvent {
    let content = SystemContent {
        body,
        code: Some(code.to_owned()),
        data,
    };
    let mut event = RoomEvent::new(room.clone(), EventSource::system(), content, at);
    event.event_type = event_type;
    event.status = EventStatus::Delivered;
    event.visibility = Visibility::Internal;
    event
}

/// The timeline's record of a change of one binding.
pub(crate) fn lifecycle_event(
    room: &RoomId,
    channel: &ChannelId,
    event_type: EventType,
    code: &str,
    mut data: Metadata,
    at: DateTime<Utc>,
) -> Arc<RoomEvent> {
    data.insert("channel_id", channel.as_str());
    let body = format!("Channel {channel}: {code}");
    Arc::new(system_event(room, event_type, code, body, data, at))
}
