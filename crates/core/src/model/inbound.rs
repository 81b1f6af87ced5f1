//! Messages from outside, and what became of them.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::content::{self, EventContent};
use super::delivery::DeliveryResult;
use super::event::RoomEvent;
use super::event_type::EventType;
use super::ids::{ChannelId, EventId, ParticipantId, RoomId};
use super::metadata::Metadata;
use super::time;
use super::validate::ValidationError;
use super::visibility::Visibility;

/// A message that arrives from outside, in the same form whatever provider sent it (RFC §5.12).
///
/// ```
/// use roomkit_core::model::InboundMessage;
///
/// let message = InboundMessage::text("sms", "+15550001111", "Where is my order?")
///     .in_room("support-42")
///     .idempotency_key("SM123")
///     .metadata("sender_name", "Alice");
/// assert_eq!(message.content.text_body(), Some("Where is my order?"));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InboundMessage {
    /// The channel it arrives through.
    pub channel_id: ChannelId,
    /// Who sent it: a phone number, an address, a user's id. Blank where it is nobody in particular.
    pub sender_id: ParticipantId,
    /// What it says.
    #[serde(deserialize_with = "content::parse::field")]
    pub content: EventContent,
    /// What kind of event it becomes. Default: message.
    #[serde(default)]
    pub event_type: EventType,
    /// The room it is for, created if it does not exist. `None` leaves that to the router, which
    /// takes a new room where it is not clear which one is meant (RFC §10.4).
    #[serde(default)]
    pub room_id: Option<RoomId>,
    /// Its id in a system outside.
    #[serde(default)]
    pub external_id: Option<String>,
    /// The provider's id of the thread it belongs to.
    #[serde(default)]
    pub thread_id: Option<String>,
    /// The event it replies to.
    #[serde(default)]
    pub parent_event_id: Option<EventId>,
    /// The integrator's own reference.
    #[serde(default)]
    pub correlation_id: Option<String>,
    /// What tells a repeat of it from a new message.
    #[serde(default)]
    pub idempotency_key: Option<String>,
    /// What the provider sent, unchanged.
    #[serde(default)]
    pub raw_payload: Metadata,
    /// The provider's id of the message.
    #[serde(default)]
    pub provider_message_id: Option<String>,
    /// When it was sent, as far as the provider says.
    #[serde(default, with = "time::optional")]
    pub timestamp: Option<DateTime<Utc>>,
    /// How often agents had answered one another before it came here: what a channel that bridges
    /// to another system carries over, so that a loop through it ends. Default: 0.
    #[serde(default)]
    pub chain_depth: u32,
    /// Whether a bot sent it; then agents act only where it addresses them. Default: no.
    #[serde(default)]
    pub is_bot: bool,
    /// What else comes with it; becomes the event's metadata.
    #[serde(default)]
    pub metadata: Metadata,
    /// Who is to see it. Default: all.
    #[serde(default)]
    pub visibility: Visibility,
    /// The agents that are asked to act (RFC §19.3); nothing asks nobody in particular.
    #[serde(default)]
    pub addressed_to: Option<Vec<ChannelId>>,
    /// Who is to see the replies; nothing leaves them to the channel that replies.
    #[serde(default)]
    pub response_visibility: Option<Visibility>,
}

impl InboundMessage {
    /// Makes a message of nothing but its sender and content.
    ///
    /// Its type is edit or delete for such content and message for all else.
    pub fn new(
        channel_id: impl Into<ChannelId>,
        sender_id: impl Into<ParticipantId>,
        content: impl Into<EventContent>,
    ) -> Self {
        let content = content.into();
        Self {
            channel_id: channel_id.into(),
            sender_id: sender_id.into(),
            event_type: content.event_type(),
            content,
            room_id: None,
            external_id: None,
            thread_id: None,
            parent_event_id: None,
            correlation_id: None,
            idempotency_key: None,
            raw_payload: Metadata::new(),
            provider_message_id: None,
            timestamp: None,
            chain_depth: 0,
            is_bot: false,
            metadata: Metadata::new(),
            visibility: Visibility::default(),
            addressed_to: None,
            response_visibility: None,
        }
    }

    /// Makes a message of plain text.
    pub fn text(
        channel_id: impl Into<ChannelId>,
        sender_id: impl Into<ParticipantId>,
        body: impl Into<String>,
    ) -> Self {
        Self::new(channel_id, sender_id, EventContent::text(body))
    }

    /// The same for a room; see [`room_id`](Self::room_id).
    #[must_use]
    pub fn in_room(mut self, room_id: impl Into<RoomId>) -> Self {
        self.room_id = Some(room_id.into());
        self
    }

    /// The same as an event of another type.
    #[must_use]
    pub fn event_type(mut self, event_type: EventType) -> Self {
        self.event_type = event_type;
        self
    }

    /// The same with a key that tells repeats.
    #[must_use]
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// The same, asking these agents to act and no others; none of them where there are none.
    #[must_use]
    pub fn addressed_to<I>(mut self, agents: I) -> Self
    where
        I: IntoIterator,
        I::Item: Into<ChannelId>,
    {
        self.addressed_to = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// The same with one more value in its metadata.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key, value);
        self
    }

    /// The same, seen by others than all.
    #[must_use]
    pub fn visibility(mut self, visibility: impl Into<Visibility>) -> Self {
        self.visibility = visibility.into();
        self
    }

    /// The same as a reply to an event.
    #[must_use]
    pub fn parent(mut self, event_id: impl Into<EventId>) -> Self {
        self.parent_event_id = Some(event_id.into());
        self
    }

    /// Checks the content.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first field that breaks a rule, such as `content.parts[1].url`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.content
            .validate()
            .map_err(|error| error.within("content"))
    }
}

/// What became of an inbound message (RFC §10.1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct InboundResult {
    /// The event it became; nothing when nothing was stored.
    pub event: Option<Arc<RoomEvent>>,
    /// Whether it was stopped.
    pub blocked: bool,
    /// What stopped it: a stable code, or what a hook said.
    pub reason: Option<String>,
    /// What went wrong while the agents replied, where something did.
    pub error: Option<String>,
    /// What became of it at each channel.
    pub delivery_results: Vec<DeliveryResult>,
    /// What the agent that replied first says about its reply.
    pub response_metadata: Metadata,
}

impl InboundResult {
    /// What became of it at a channel.
    pub fn delivery(&self, channel_id: impl AsRef<str>) -> Option<&DeliveryResult> {
        let channel_id = channel_id.as_ref();
        self.delivery_results
            .iter()
            .find(|result| result.channel_id == *channel_id)
    }
}
