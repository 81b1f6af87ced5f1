//! The people and programs in a room.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::enums::{IdentificationStatus, ParticipantRole, ParticipantStatus};
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::ids::{ChannelId, IdentityId, ParticipantId, RoomId};
use super::metadata::Metadata;
use super::time;
use super::validate::ValidationError;

/// Someone in a room: one record for every channel that reaches them (RFC §5.5).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Participant {
    /// The participant's id, unique in the room.
    pub id: ParticipantId,
    /// The room.
    pub room_id: RoomId,
    /// The channel they joined through.
    pub channel_id: ChannelId,
    /// The name to show.
    pub display_name: Option<String>,
    /// What they are in the room. Default: member.
    pub role: ParticipantRole,
    /// Whether they are there. Default: active.
    pub status: ParticipantStatus,
    /// How far it is known who they are. Default: pending.
    pub identification: IdentificationStatus,
    /// Who they are, once known.
    pub identity_id: Option<IdentityId>,
    /// Who they may be, where several identities fit.
    pub candidates: Option<Vec<IdentityId>>,
    /// Every channel that reaches them; `channel_id` is always there and comes first.
    pub connected_via: Vec<ChannelId>,
    /// The integrator's id of them.
    pub external_id: Option<String>,
    /// When it became known who they are.
    #[serde(with = "time::optional")]
    pub resolved_at: Option<DateTime<Utc>>,
    /// What found it out: a hook's name, `auto` or `manual`.
    pub resolved_by: Option<String>,
    /// When they entered the room.
    #[serde(with = "time")]
    pub joined_at: DateTime<Utc>,
    /// The integrator's own data. Keys that begin with `_` are the framework's.
    pub metadata: Metadata,
}

impl Participant {
    /// Makes an active member of whom nothing else is known.
    pub fn new(
        id: impl Into<ParticipantId>,
        room_id: impl Into<RoomId>,
        channel_id: impl Into<ChannelId>,
        joined_at: DateTime<Utc>,
    ) -> Self {
        let channel_id = channel_id.into();
        Self {
            id: id.into(),
            room_id: room_id.into(),
            connected_via: vec![channel_id.clone()],
            channel_id,
            display_name: None,
            role: ParticipantRole::default(),
            status: ParticipantStatus::default(),
            identification: IdentificationStatus::default(),
            identity_id: None,
            candidates: None,
            external_id: None,
            resolved_at: None,
            resolved_by: None,
            joined_at,
            metadata: Metadata::new(),
        }
    }
}

impl FromFields for Participant {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let channel_id: ChannelId = fields.required("channel_id")?;
        let mut connected_via: Vec<ChannelId> = fields.or_default("connected_via")?;
        connected_via.retain(|id| *id != channel_id);
        connected_via.insert(0, channel_id.clone());
        Ok(Self {
            id: fields.required("id")?,
            room_id: fields.required("room_id")?,
            channel_id,
            display_name: fields.optional("display_name")?,
            role: fields.or_default("role")?,
            status: fields.or_default("status")?,
            identification: fields.or_default("identification")?,
            identity_id: fields.optional("identity_id")?,
            candidates: fields.optional("candidates")?,
            connected_via,
            external_id: fields.optional("external_id")?,
            resolved_at: fields.optional_time("resolved_at")?,
            resolved_by: fields.optional("resolved_by")?,
            joined_at: fields.time("joined_at")?,
            metadata: fields.or_default("metadata")?,
        })
    }
}

deserialize_from_fields!(Participant);
