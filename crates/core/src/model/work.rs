//! What agents and hooks leave behind beside messages: tasks and observations.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::enums::TaskStatus;
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::ids::{ChannelId, ObservationId, RoomId, TaskId};
use super::metadata::Metadata;
use super::time;
use super::validate::{self, ValidationError};

/// Something that is to be done (RFC §5.10).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The task's id.
    pub id: TaskId,
    /// The room it came up in.
    pub room_id: RoomId,
    /// What is to be done, in short.
    pub title: String,
    /// What is to be done, in full.
    #[serde(default)]
    pub description: Option<String>,
    /// Who is to do it.
    #[serde(default)]
    pub assigned_to: Option<String>,
    /// How far it is. Default: pending.
    #[serde(default)]
    pub status: TaskStatus,
    /// When it came up.
    #[serde(with = "time")]
    pub created_at: DateTime<Utc>,
    /// The integrator's own data.
    #[serde(default)]
    pub metadata: Metadata,
}

impl Task {
    /// Makes a pending task with a new id that nobody is assigned to.
    pub fn new(
        room_id: impl Into<RoomId>,
        title: impl Into<String>,
        created_at: DateTime<Utc>,
    ) -> Self {
        Self {
            id: TaskId::generate(),
            room_id: room_id.into(),
            title: title.into(),
            description: None,
            assigned_to: None,
            status: TaskStatus::default(),
            created_at,
            metadata: Metadata::new(),
        }
    }
}

/// Something that was noticed (RFC §5.11).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Observation {
    /// The observation's id.
    pub id: ObservationId,
    /// The room it was made in.
    pub room_id: RoomId,
    /// The channel that made it.
    pub channel_id: ChannelId,
    /// What was noticed.
    pub content: String,
    /// What it is about, such as `sentiment`.
    pub category: Option<String>,
    /// How sure it is, from 0 to 1. Default: 1.
    pub confidence: f64,
    /// When it was made.
    #[serde(with = "time")]
    pub created_at: DateTime<Utc>,
    /// The integrator's own data.
    pub metadata: Metadata,
}

const CERTAIN: f64 = 1.0;

impl Observation {
    /// Makes a certain observation with a new id.
    pub fn new(
        room_id: impl Into<RoomId>,
        channel_id: impl Into<ChannelId>,
        category: impl Into<String>,
        content: impl Into<String>,
        created_at: DateTime<Utc>,
    ) -> Self {
        Self {
            id: ObservationId::generate(),
            room_id: room_id.into(),
            channel_id: channel_id.into(),
            content: content.into(),
            category: Some(category.into()),
            confidence: CERTAIN,
            created_at,
            metadata: Metadata::new(),
        }
    }

    /// Checks the confidence.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `confidence` is not from 0 to 1.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::in_range("confidence", self.confidence, 0.0, CERTAIN)
    }
}

impl FromFields for Observation {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let observation = Self {
            id: fields.required("id")?,
            room_id: fields.required("room_id")?,
            channel_id: fields.required("channel_id")?,
            content: fields.required("content")?,
            category: fields.or_default("category")?,
            confidence: fields.or("confidence", CERTAIN)?,
            created_at: fields.time("created_at")?,
            metadata: fields.or_default("metadata")?,
        };
        observation.validate()?;
        Ok(observation)
    }
}

deserialize_from_fields!(Observation);
