//! What a provider reports later about a message it took, and how far such reports have come.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, EventId, RoomId};
use super::inbound::InboundMessage;
use super::metadata::Metadata;
use super::string_enum::string_enum;
use super::time;

/// A provider's report about a message it took: sent on, delivered, failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryStatus {
    /// The room the message is of, once that is known.
    #[serde(default)]
    pub room_id: Option<RoomId>,
    /// The channel the message went through, once that is known.
    #[serde(default)]
    pub channel_id: Option<ChannelId>,
    /// The provider's name.
    pub provider: String,
    /// The provider's id of the message.
    pub message_id: String,
    /// What became of it, in the provider's words.
    pub status: String,
    /// The address it was sent to; empty when the provider does not say.
    #[serde(default)]
    pub recipient: String,
    /// The address it was sent from; empty when the provider does not say.
    #[serde(default)]
    pub sender: String,
    /// The provider's code of what went wrong.
    #[serde(default)]
    pub error_code: Option<String>,
    /// What went wrong, in the provider's words.
    #[serde(default)]
    pub error_message: Option<String>,
    /// When that was.
    #[serde(default, with = "time::optional")]
    pub timestamp: Option<DateTime<Utc>>,
    /// What the provider sent, unchanged.
    #[serde(default)]
    pub raw: Metadata,
}

impl DeliveryStatus {
    /// Makes a report of nothing but the message and its status.
    pub fn new(
        provider: impl Into<String>,
        message_id: impl Into<String>,
        status: impl Into<String>,
    ) -> Self {
        Self {
            room_id: None,
            channel_id: None,
            provider: provider.into(),
            message_id: message_id.into(),
            status: status.into(),
            recipient: String::new(),
            sender: String::new(),
            error_code: None,
            error_message: None,
            timestamp: None,
            raw: Metadata::new(),
        }
    }

    /// The state that the provider's word stands for, in whatever case; `None` where it stands for
    /// none.
    pub fn state(&self) -> Option<DeliveryState> {
        DeliveryState::of_word(&self.status)
    }
}

string_enum! {
    /// How far a message has come with its provider, in the order in which it only moves up.
    ///
    /// Reports arrive in any order and more than once. Whatever the order, a message ends at the
    /// highest state that was reported: what was delivered did not fail, whoever says so later.
    pub enum DeliveryState: "delivery state" {
        /// The provider has it and has not sent it.
        Queued = "queued",
        /// It was sent on.
        Sent = "sent",
        /// It did not arrive, as far as is known.
        Failed = "failed",
        /// It arrived.
        Delivered = "delivered",
        /// It was read.
        Read = "read",
    }
}

impl DeliveryState {
    /// The state that a provider's word stands for; `None` where it stands for none.
    pub fn of_word(word: &str) -> Option<Self> {
        let word: String = word
            .trim()
            .chars()
            .map(|c| {
                if matches!(c, ' ' | '-') {
                    '_'
                } else {
                    c.to_ascii_lowercase()
                }
            })
            .collect();
        Some(match word.as_str() {
            "queued" | "accepted" | "scheduled" | "pending" | "buffered" | "enqueued"
            | "created" | "processing" | "in_progress" | "sending" => Self::Queued,
            "sent" | "dispatched" | "submitted" | "enroute" | "en_route" | "relayed"
            | "transmitted" => Self::Sent,
            "failed" | "failure" | "undelivered" | "undeliverable" | "not_delivered"
            | "delivery_failed" | "sending_failed" | "rejected" | "bounce" | "bounced"
            | "hard_bounce" | "dropped" | "expired" | "canceled" | "cancelled" | "error"
            | "blocked" => Self::Failed,
            "delivered" | "delivery" => Self::Delivered,
            "read" | "seen" | "displayed" | "open" | "opened" | "click" | "clicked" | "played" => {
                Self::Read
            }
            _ => return None,
        })
    }
}

/// What became of a provider's report.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StatusOutcome {
    /// The room of the message; nothing where it is not known.
    pub room_id: Option<RoomId>,
    /// The event that the message carries; nothing where it is not known.
    pub event_id: Option<EventId>,
    /// The channel the message went through; nothing where it is not known.
    pub channel_id: Option<ChannelId>,
    /// How far the message has come, by all reports so far.
    pub state: Option<DeliveryState>,
    /// Whether it was reported as failed after it had arrived, now or before, which lowers no state.
    #[serde(default)]
    pub failed_late: bool,
    /// Whether the report said something new, so that hooks and listeners were told.
    pub told: bool,
}

/// One thing that a provider's webhook brought, as its channel's parser reads it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WebhookItem {
    /// A message from outside.
    Message(Box<InboundMessage>),
    /// A report about a message that went out.
    Status(Box<DeliveryStatus>),
}

impl From<InboundMessage> for WebhookItem {
    fn from(message: InboundMessage) -> Self {
        Self::Message(Box::new(message))
    }
}

impl From<DeliveryStatus> for WebhookItem {
    fn from(status: DeliveryStatus) -> Self {
        Self::Status(Box::new(status))
    }
}
