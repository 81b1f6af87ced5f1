//! What is worth telling now and not worth keeping.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, EventId, ParticipantId, RoomId};
use super::metadata::Metadata;
use super::string_enum::string_enum;
use super::time;

string_enum! {
    /// What an ephemeral event tells (RFC §8.4).
    pub enum EphemeralEventType: "ephemeral event type" {
        /// Someone began to type.
        TypingStart = "typing_start",
        /// Someone stopped typing.
        TypingStop = "typing_stop",
        /// Someone is online.
        PresenceOnline = "presence_online",
        /// Someone is away.
        PresenceAway = "presence_away",
        /// Someone is offline.
        PresenceOffline = "presence_offline",
        /// Someone has read up to an event.
        ReadReceipt = "read_receipt",
        /// Someone reacted to an event.
        Reaction = "reaction",
        /// An agent wrote more of a tool call's arguments.
        ToolCallDelta = "tool_call_delta",
        /// An agent began to call a tool.
        ToolCallStart = "tool_call_start",
        /// A tool call is over.
        ToolCallEnd = "tool_call_end",
        /// An agent began to think.
        ThinkingStart = "thinking_start",
        /// An agent thought further.
        ThinkingDelta = "thinking_delta",
        /// An agent is done thinking.
        ThinkingEnd = "thinking_end",
        /// Anything else; the data says what.
        Custom = "custom",
    }
}

/// An event that is told to those who listen and kept nowhere (RFC §8.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EphemeralEvent {
    /// The event's id.
    pub id: String,
    /// The room it happens in.
    pub room_id: RoomId,
    /// What happens.
    #[serde(rename = "type")]
    pub event_type: EphemeralEventType,
    /// Who does it.
    pub user_id: ParticipantId,
    /// The channel it happens on.
    #[serde(default)]
    pub channel_id: Option<ChannelId>,
    /// The details.
    #[serde(default)]
    pub data: Metadata,
    /// When it happens.
    #[serde(with = "time")]
    pub timestamp: DateTime<Utc>,
}

impl EphemeralEvent {
    /// Makes an event with a new id, without details.
    pub fn new(
        room_id: impl Into<RoomId>,
        event_type: EphemeralEventType,
        user_id: impl Into<ParticipantId>,
        timestamp: DateTime<Utc>,
    ) -> Self {
        Self {
            id: EventId::generate().as_str().to_owned(),
            room_id: room_id.into(),
            event_type,
            user_id: user_id.into(),
            channel_id: None,
            data: Metadata::new(),
            timestamp,
        }
    }
}
