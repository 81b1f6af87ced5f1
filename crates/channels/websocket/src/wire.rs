//! The JSON of a frame. A client passes over a `type`, or a field, that it does not know.

use roomkit_core::channel::Delta;
use roomkit_core::model::{EventId, EventSource, RoomEvent, RoomId};
use serde::Serialize;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Frame<'a> {
    Event {
        room_id: &'a RoomId,
        event: &'a RoomEvent,
    },
    StreamStart {
        room_id: &'a RoomId,
        event_id: &'a EventId,
        source: &'a EventSource,
        trigger_id: &'a EventId,
        parent_event_id: Option<&'a EventId>,
        text: &'a str,
    },
    StreamChunk {
        room_id: &'a RoomId,
        event_id: &'a EventId,
        delta: Piece<'a>,
    },
    StreamEnd {
        room_id: &'a RoomId,
        event_id: &'a EventId,
        end: &'static str,
        event: &'a RoomEvent,
    },
    StreamReplaced {
        room_id: &'a RoomId,
        event_id: &'a EventId,
        end: &'static str,
        event: &'a RoomEvent,
    },
    StreamRetracted {
        room_id: &'a RoomId,
        event_id: &'a EventId,
        reason: &'a str,
        blocked_by: &'a str,
    },
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Piece<'a> {
    Text {
        text: &'a str,
    },
    Thinking {
        text: &'a str,
    },
    ToolCallStart {
        id: &'a str,
        name: &'a str,
    },
    ToolCallEnd {
        id: &'a str,
    },
    End,
    /// A kind of piece that this version does not know.
    Other,
}

impl<'a> From<&'a Delta> for Piece<'a> {
    fn from(delta: &'a Delta) -> Self {
        match delta {
            Delta::Text(text) => Self::Text { text },
            Delta::Thinking(text) => Self::Thinking { text },
            Delta::ToolCallStart { id, name } => Self::ToolCallStart { id, name },
            Delta::ToolCallEnd { id } => Self::ToolCallEnd { id },
            Delta::End => Self::End,
            _ => Self::Other,
        }
    }
}
