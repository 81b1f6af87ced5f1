//! What a client is sent, as a value and as the JSON that all connections share.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use crate::live::LiveFrame;
use crate::wire;
use bytes::Bytes;
use roomkit_core::model::{Metadata, RoomEvent, RoomId};

/// One message to a client; a clone is a reference count.
///
/// Every kind of frame is a JSON object whose `type` names the kind and whose `room_id` names the
/// room. A client passes over a `type` that it does not know.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Frame {
    /// An event of a room (`event`).
    Event(EventFrame),
    /// A piece of an answer as it comes (`stream_start`, `stream_chunk`, `stream_end`,
    /// `stream_replaced`, `stream_retracted`).
    Stream(LiveFrame),
}

impl Frame {
    /// The room that it is about.
    #[must_use]
    pub fn room_id(&self) -> &RoomId {
        match self {
            Self::Event(frame) => &frame.event().room_id,
            Self::Stream(frame) => frame.frame().room_id(),
        }
    }

    /// The event, in a frame that brings one.
    #[must_use]
    pub fn event(&self) -> Option<&Arc<RoomEvent>> {
        match self {
            Self::Event(frame) => Some(frame.event()),
            Self::Stream(frame) => frame.event(),
        }
    }

    /// The frame as JSON in UTF-8, without a line break; written once, however many connections
    /// ask for it.
    #[must_use]
    pub fn json(&self) -> Bytes {
        match self {
            Self::Event(frame) => frame.json(),
            Self::Stream(frame) => frame.json(),
        }
    }
}

/// A stored event in the form in which clients get it, such as for the history of a room.
impl From<Arc<RoomEvent>> for Frame {
    fn from(event: Arc<RoomEvent>) -> Self {
        Self::Event(EventFrame::new(event))
    }
}

/// An event of a room, for a client:
/// `{"type": "event", "room_id": "...", "event": {...}}`.
///
/// `event` is the event's own JSON with `source.raw_payload` empty: what the provider of another
/// channel sent is for the application, not for clients.
#[derive(Clone)]
pub struct EventFrame(Arc<Shared>);

struct Shared {
    event: Arc<RoomEvent>,
    json: OnceLock<Bytes>,
}

impl EventFrame {
    /// Makes the frame of an event.
    #[must_use]
    pub fn new(event: Arc<RoomEvent>) -> Self {
        Self(Arc::new(Shared {
            event,
            json: OnceLock::new(),
        }))
    }

    /// The event, complete.
    #[must_use]
    pub fn event(&self) -> &Arc<RoomEvent> {
        &self.0.event
    }

    /// The frame as JSON, as [`Frame::json`] gives it.
    #[must_use]
    pub fn json(&self) -> Bytes {
        self.0.json.get_or_init(|| write(&self.0.event)).clone()
    }
}

impl fmt::Debug for EventFrame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("EventFrame")
            .field("room_id", &self.event().room_id)
            .field("event_id", &self.event().id)
            .finish_non_exhaustive()
    }
}

fn write(event: &RoomEvent) -> Bytes {
    let event = for_clients(event);
    to_json(&wire::Frame::Event {
        room_id: &event.room_id,
        event: &event,
    })
}

/// A frame as one line of JSON.
pub(crate) fn to_json(frame: &wire::Frame<'_>) -> Bytes {
    // Nothing in a frame refuses to be written; should that ever change, clients see an empty frame.
    serde_json::to_vec(frame)
        .inspect_err(|_| tracing::error!("frame cannot be written as JSON"))
        .unwrap_or_default()
        .into()
}

pub(crate) fn for_clients(event: &RoomEvent) -> Cow<'_, RoomEvent> {
    if event.source.raw_payload.is_empty() {
        return Cow::Borrowed(event);
    }
    let mut event = event.clone();
    event.source.raw_payload = Metadata::new();
    Cow::Owned(event)
}
