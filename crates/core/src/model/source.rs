//! Where an event came from.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::channel_type::ChannelType;
use super::enums::ChannelDirection;
use super::ids::{ChannelId, ParticipantId};
use super::metadata::Metadata;

/// The origin of an event (RFC §5.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventSource {
    /// The channel it came through.
    pub channel_id: ChannelId,
    /// The kind of that channel.
    pub channel_type: ChannelType,
    /// Which way it went. Default: inbound.
    #[serde(default = "inbound")]
    pub direction: ChannelDirection,
    /// Who wrote it, where it was a person.
    #[serde(default)]
    pub participant_id: Option<ParticipantId>,
    /// Its id in a system outside.
    #[serde(default)]
    pub external_id: Option<String>,
    /// The name of the provider or backend that carried it, such as `TwilioSMS`.
    #[serde(default)]
    pub provider: Option<Arc<str>>,
    /// What the provider sent, unchanged.
    #[serde(default)]
    pub raw_payload: Metadata,
    /// The provider's id of the message.
    #[serde(default)]
    pub provider_message_id: Option<String>,
}

impl EventSource {
    /// Makes an inbound source of a channel.
    pub fn new(channel_id: impl Into<ChannelId>, channel_type: ChannelType) -> Self {
        Self {
            channel_id: channel_id.into(),
            channel_type,
            direction: inbound(),
            participant_id: None,
            external_id: None,
            provider: None,
            raw_payload: Metadata::new(),
            provider_message_id: None,
        }
    }

    /// Makes the source of the framework's own events: the channel `system`.
    pub fn system() -> Self {
        Self::new("system", ChannelType::System)
    }
}

const fn inbound() -> ChannelDirection {
    ChannelDirection::Inbound
}
