//! What is worth telling now and not worth keeping.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, EventId, ParticipantId, RoomId};
use super::metadata::Metadata;
use super::string_enum::string_enum;
use super::time;
use super::validate::ValidationError;

/// How large the details of an ephemeral event may be, as JSON in bytes.
const MOST_DATA: usize = 64 * 1024;

/// How long an emoji may be, in bytes; families with skin tones are long.
const LONGEST_EMOJI: usize = 128;

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

    /// Checks that it says who, and what its type asks for: a reaction `target_event_id`, and
    /// `emoji` unless its `action` is `remove`; a read receipt `event_id`; a tool call `tool_calls`, a
    /// list.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first field that breaks a rule, or when `data` is larger than 64 KiB.
    pub fn validate(&self) -> Result<(), ValidationError> {
        if self.user_id.as_str().is_empty() {
            return Err(ValidationError::new("user_id", "must not be empty"));
        }
        match self.event_type {
            EphemeralEventType::Reaction => {
                self.text_of("target_event_id", "data.target_event_id")?;
                self.check_reaction()?;
            }
            EphemeralEventType::ReadReceipt => {
                self.text_of("event_id", "data.event_id")?;
            }
            EphemeralEventType::ToolCallDelta
            | EphemeralEventType::ToolCallStart
            | EphemeralEventType::ToolCallEnd => {
                let calls = self.data.get("tool_calls");
                if !calls.is_some_and(serde_json::Value::is_array) {
                    return Err(ValidationError::new("data.tool_calls", "must be a list"));
                }
            }
            _ => {}
        }
        let mut size = Size(0);
        if serde_json::to_writer(&mut size, &self.data).is_err() {
            return Err(ValidationError::new(
                "data",
                "must not be larger than 64 KiB",
            ));
        }
        Ok(())
    }

    fn check_reaction(&self) -> Result<(), ValidationError> {
        let removes = match self.data.get("action").map(serde_json::Value::as_str) {
            None | Some(Some("add")) => false,
            Some(Some("remove")) => true,
            Some(_) => return Err(ValidationError::new("data.action", "must be add or remove")),
        };
        let emoji = self.data.get("emoji").and_then(serde_json::Value::as_str);
        match emoji {
            Some(emoji) if emoji.len() > LONGEST_EMOJI => Err(ValidationError::new(
                "data.emoji",
                "must not be longer than 128 bytes",
            )),
            None | Some("") if !removes => {
                Err(ValidationError::new("data.emoji", "must not be empty"))
            }
            _ => Ok(()),
        }
    }

    fn text_of(&self, key: &str, field: &'static str) -> Result<(), ValidationError> {
        let text = self.data.get(key).and_then(serde_json::Value::as_str);
        match text {
            None | Some("") => Err(ValidationError::new(field, "must not be empty")),
            Some(_) => Ok(()),
        }
    }
}

/// Counts what is written, up to the most that may be.
struct Size(usize);

impl std::io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > MOST_DATA {
            return Err(std::io::Error::other("too large"));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Whether somebody is there (RFC §8.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    /// Online.
    Online,
    /// Away.
    Away,
    /// Offline.
    Offline,
    /// A word of the application's own.
    Other(String),
}

impl From<&str> for Presence {
    fn from(word: &str) -> Self {
        match word {
            "online" => Self::Online,
            "away" => Self::Away,
            "offline" => Self::Offline,
            other => Self::Other(other.to_owned()),
        }
    }
}

impl From<EphemeralEventType> for Presence {
    /// The presence that a type stands for; of any other type its word.
    fn from(event_type: EphemeralEventType) -> Self {
        match event_type {
            EphemeralEventType::PresenceOnline => Self::Online,
            EphemeralEventType::PresenceAway => Self::Away,
            EphemeralEventType::PresenceOffline => Self::Offline,
            other => Self::Other(other.as_str().to_owned()),
        }
    }
}
