//! A channel's place in a room.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::capabilities::ChannelCapabilities;
use super::channel_type::ChannelType;
use super::enums::{Access, ChannelCategory, ChannelDirection};
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::ids::{ChannelId, ParticipantId, RoomId};
use super::metadata::Metadata;
use super::policy::{RateLimit, RetryPolicy};
use super::time;
use super::validate::ValidationError;
use super::visibility::Visibility;

/// What a channel is and may do in one room (RFC §5.7).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelBinding {
    /// The channel.
    pub channel_id: ChannelId,
    /// The room.
    pub room_id: RoomId,
    /// The kind of the channel.
    pub channel_type: ChannelType,
    /// Whether it reaches people or thinks by itself. Default: transport.
    pub category: ChannelCategory,
    /// Which way messages go. Default: both ways.
    pub direction: ChannelDirection,
    /// Whether it may read and write. Default: both.
    pub access: Access,
    /// Whether its events are refused for now, though it still hears (RFC §7.2).
    pub muted: bool,
    /// Whether nothing is delivered through it, and replies of an agent are refused, for now.
    pub output_muted: bool,
    /// Who sees what it writes (RFC §7.3). Default: all.
    pub visibility: Visibility,
    /// The one participant it belongs to.
    pub participant_id: Option<ParticipantId>,
    /// A hint at how far it has been read; [`ReadMarker`](super::ReadMarker) is what counts.
    pub last_read_index: Option<u64>,
    /// When it was attached.
    #[serde(with = "time")]
    pub attached_at: DateTime<Utc>,
    /// What it can carry. Default: plain text.
    pub capabilities: Arc<ChannelCapabilities>,
    /// How fast it may send. Default: no limit.
    pub rate_limit: Option<RateLimit>,
    /// When failed deliveries are tried again. Default: the channel's own.
    pub retry_policy: Option<RetryPolicy>,
    /// What the channel needs to know about this room, such as the recipient's number.
    pub metadata: Metadata,
}

impl ChannelBinding {
    /// Makes a binding with every permission and the default capabilities.
    pub fn new(
        channel_id: impl Into<ChannelId>,
        room_id: impl Into<RoomId>,
        channel_type: ChannelType,
        category: ChannelCategory,
        attached_at: DateTime<Utc>,
    ) -> Self {
        Self {
            channel_id: channel_id.into(),
            room_id: room_id.into(),
            channel_type,
            category,
            direction: ChannelDirection::Bidirectional,
            access: Access::default(),
            muted: false,
            output_muted: false,
            visibility: Visibility::default(),
            participant_id: None,
            last_read_index: None,
            attached_at,
            capabilities: Arc::default(),
            rate_limit: None,
            retry_policy: None,
            metadata: Metadata::new(),
        }
    }

    /// Whether events reach the channel; a muted one still hears.
    pub fn can_read(&self) -> bool {
        self.access.can_read()
    }

    /// Whether the channel's events are accepted: it has access and is not muted (RFC §7.5).
    pub fn can_write(&self) -> bool {
        self.access.can_write() && !self.muted
    }

    /// Checks the capabilities and the policies.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first field that breaks a rule, such as `capabilities.max_length`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.capabilities
            .validate()
            .map_err(|error| error.within("capabilities"))?;
        if let Some(limit) = &self.rate_limit {
            limit
                .validate()
                .map_err(|error| error.within("rate_limit"))?;
        }
        if let Some(policy) = &self.retry_policy {
            policy
                .validate()
                .map_err(|error| error.within("retry_policy"))?;
        }
        Ok(())
    }
}

impl FromFields for ChannelBinding {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            channel_id: fields.required("channel_id")?,
            room_id: fields.required("room_id")?,
            channel_type: fields.required("channel_type")?,
            category: fields.or_default("category")?,
            direction: fields.or("direction", ChannelDirection::Bidirectional)?,
            access: fields.or_default("access")?,
            muted: fields.or_default("muted")?,
            output_muted: fields.or_default("output_muted")?,
            visibility: fields.or_default("visibility")?,
            participant_id: fields.optional("participant_id")?,
            last_read_index: fields.optional("last_read_index")?,
            attached_at: fields.time("attached_at")?,
            capabilities: Arc::new(fields.model("capabilities")?.unwrap_or_default()),
            rate_limit: fields.model("rate_limit")?,
            retry_policy: fields.model("retry_policy")?,
            metadata: fields.or_default("metadata")?,
        })
    }
}

deserialize_from_fields!(ChannelBinding);
