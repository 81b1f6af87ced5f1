//! Answers as they come: their frames, and what a client that joins in the middle has missed.

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use roomkit_core::channel::{Delta, StreamFrame, StreamStart};
use roomkit_core::model::{EventId, RoomEvent};

use crate::frame::{Frame, for_clients, to_json};
use crate::wire;

/// How many unfinished answers of one room are remembered for clients that join.
const MOST_UNFINISHED: usize = 64;

/// A piece of an answer as it comes, for a client. Every one of them has the `room_id` and the
/// `event_id` that the answer will have in the room's timeline.
///
/// An answer begins with `stream_start`, whose `text` is what was said so far, goes on with
/// `stream_chunk`, and ends with one of `stream_end` (it stands as it was shown), `stream_replaced`
/// (`event` is to be shown instead) and `stream_retracted` (nothing of it is to be shown).
#[derive(Clone)]
pub struct LiveFrame(Arc<Shared>);

struct Shared {
    frame: StreamFrame,
    /// What a start frame brings along for a client that joins in the middle.
    so_far: String,
    json: OnceLock<Bytes>,
}

impl LiveFrame {
    /// Makes the frame of a piece.
    #[must_use]
    pub fn new(frame: StreamFrame) -> Self {
        Self::with_text(frame, String::new())
    }

    fn with_text(frame: StreamFrame, so_far: String) -> Self {
        Self(Arc::new(Shared {
            frame,
            so_far,
            json: OnceLock::new(),
        }))
    }

    /// The piece.
    #[must_use]
    pub fn frame(&self) -> &StreamFrame {
        &self.0.frame
    }

    /// What was said before, in the start frame of a client that joins in the middle.
    #[must_use]
    pub fn text_so_far(&self) -> &str {
        &self.0.so_far
    }

    /// The event, in a frame that ends an answer and brings it.
    #[must_use]
    pub fn event(&self) -> Option<&Arc<RoomEvent>> {
        match self.frame() {
            StreamFrame::End { event, .. } | StreamFrame::Replaced { event, .. } => Some(event),
            _ => None,
        }
    }

    /// The frame as JSON, as [`Frame::json`] gives it.
    #[must_use]
    pub fn json(&self) -> Bytes {
        self.0.json.get_or_init(|| self.write()).clone()
    }

    fn write(&self) -> Bytes {
        let (room_id, event_id) = (self.frame().room_id(), self.frame().event_id());
        match self.frame() {
            StreamFrame::Start(start) => to_json(&wire::Frame::StreamStart {
                room_id,
                event_id,
                source: &start.source,
                trigger_id: &start.trigger_id,
                parent_event_id: start.parent_event_id.as_ref(),
                text: &self.0.so_far,
            }),
            StreamFrame::Chunk { delta, .. } => to_json(&wire::Frame::StreamChunk {
                room_id,
                event_id,
                delta: delta.into(),
            }),
            StreamFrame::End { end, event } => {
                let (end, event) = (end.code(), &*for_clients(event));
                to_json(&wire::Frame::StreamEnd {
                    room_id,
                    event_id,
                    end,
                    event,
                })
            }
            StreamFrame::Replaced { end, event } => {
                let (end, event) = (end.code(), &*for_clients(event));
                to_json(&wire::Frame::StreamReplaced {
                    room_id,
                    event_id,
                    end,
                    event,
                })
            }
            StreamFrame::Retracted {
                reason, blocked_by, ..
            } => to_json(&wire::Frame::StreamRetracted {
                room_id,
                event_id,
                reason,
                blocked_by,
            }),
            // A kind of frame that this version does not know says nothing to clients.
            _ => Bytes::from_static(b"{}"),
        }
    }
}

impl fmt::Debug for LiveFrame {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LiveFrame")
            .field("room_id", self.frame().room_id())
            .field("event_id", self.frame().event_id())
            .finish_non_exhaustive()
    }
}

/// The answers of one room that have begun and not ended.
#[derive(Default)]
pub(crate) struct Unfinished(Vec<(Arc<StreamStart>, String)>);

impl Unfinished {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Takes note of a piece.
    pub(crate) fn note(&mut self, frame: &StreamFrame) {
        match frame {
            StreamFrame::Start(start) => {
                if self.0.len() >= MOST_UNFINISHED {
                    self.0.remove(0);
                }
                self.0.push((Arc::clone(start), String::new()));
            }
            StreamFrame::Chunk {
                start,
                delta: Delta::Text(more),
            } => {
                let found = self
                    .0
                    .iter_mut()
                    .find(|(other, _)| other.event_id == start.event_id);
                if let Some((_, text)) = found {
                    text.push_str(more);
                }
            }
            StreamFrame::Chunk { .. } => {}
            ended => self.forget(ended.event_id()),
        }
    }

    /// The answer has been delivered whole, or is not to be shown.
    pub(crate) fn forget(&mut self, event: &EventId) {
        self.0.retain(|(start, _)| start.event_id != *event);
    }

    /// What a client that joins now has missed.
    pub(crate) fn catch_up(&self) -> impl Iterator<Item = Frame> + '_ {
        self.0.iter().map(|(start, text)| {
            let frame = StreamFrame::Start(Arc::clone(start));
            Frame::Stream(LiveFrame::with_text(frame, text.clone()))
        })
    }
}
