//! What a provider reports later about a message it took.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, RoomId};
use super::metadata::Metadata;
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
}
