//! Answers as they come: what an agent yields, and what a channel that streams is given.

use std::sync::Arc;

use futures_util::stream::BoxStream;

use crate::error::Result;
use crate::model::{EventId, EventSource, Metadata, RoomEvent, RoomId};

/// An answer as it comes, ending with the stream or with an error.
pub type DeltaStream = BoxStream<'static, Result<Delta>>;

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of the model's reasoning, which is not part of the answer.
    Thinking(String),
    /// A tool was called; it cuts the text into two events.
    ToolCallStart {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A tool has answered.
    ToolCallEnd {
        /// The call's id.
        id: String,
    },
    /// Facts about the turn, such as tokens used: merged into the metadata of its answers, as those of
    /// [`ChannelOutput::response_metadata`](super::ChannelOutput::response_metadata) are that are known
    /// beforehand. It is shown to no channel.
    Metadata(Metadata),
    /// The answer is complete.
    End,
}

/// What a channel that streams is given of an answer. Every frame names the event that the answer
/// is, or will be once it is committed.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum StreamFrame {
    /// An answer begins.
    Start(Arc<StreamStart>),
    /// More of it.
    Chunk {
        /// Which answer it belongs to.
        start: Arc<StreamStart>,
        /// What there is more of.
        delta: Delta,
    },
    /// It is committed as it was shown.
    End {
        /// How it ended.
        end: StreamEnd,
        /// The event.
        event: Arc<RoomEvent>,
    },
    /// It is committed otherwise than it was shown: a hook changed it, or it did not fit.
    Replaced {
        /// How it ended.
        end: StreamEnd,
        /// The event as it is to be shown.
        event: Arc<RoomEvent>,
    },
    /// It is not to be shown any longer: it was blocked or refused, or there was nothing in it.
    Retracted {
        /// Which answer it was.
        start: Arc<StreamStart>,
        /// Why: the hook's reason, or a stable code.
        reason: String,
        /// The hook's name, or the same code.
        blocked_by: String,
    },
}

/// What is known of an answer before it is there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct StreamStart {
    /// The id that its event will have.
    pub event_id: EventId,
    /// The room.
    pub room_id: RoomId,
    /// Who says it.
    pub source: EventSource,
    /// The event that it answers.
    pub trigger_id: EventId,
    /// The root of its thread, where it is in one.
    pub parent_event_id: Option<EventId>,
}

/// How a streamed answer ended. What was said until then is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamEnd {
    /// The agent had finished.
    Complete,
    /// A tool call cut it; the next part is an answer of its own.
    ToolCall,
    /// The agent failed.
    Failed,
    /// The agent took longer than it may.
    TimedOut,
    /// Somebody cancelled it.
    Cancelled,
}

impl StreamEnd {
    /// The stable snake_case code, such as `complete`; metadata of an event whose answer did not end
    /// as its agent meant it has it under `stream_end`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ToolCall => "tool_call",
            Self::Failed => "failed",
            Self::TimedOut => "timed_out",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the agent ended it itself.
    #[must_use]
    pub const fn is_clean(self) -> bool {
        matches!(self, Self::Complete | Self::ToolCall)
    }
}

impl StreamFrame {
    /// The id of the answer's event.
    #[must_use]
    pub fn event_id(&self) -> &EventId {
        match self {
            Self::Start(start) | Self::Chunk { start, .. } | Self::Retracted { start, .. } => {
                &start.event_id
            }
            Self::End { event, .. } | Self::Replaced { event, .. } => &event.id,
        }
    }

    /// The room.
    #[must_use]
    pub fn room_id(&self) -> &RoomId {
        match self {
            Self::Start(start) | Self::Chunk { start, .. } | Self::Retracted { start, .. } => {
                &start.room_id
            }
            Self::End { event, .. } | Self::Replaced { event, .. } => &event.room_id,
        }
    }
}
