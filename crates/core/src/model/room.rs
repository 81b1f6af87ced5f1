//! The room: where channels, people and agents meet.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::enums::{AgentResponsePolicy, RoomStatus};
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::ids::{OrganizationId, RoomId};
use super::metadata::Metadata;
use super::time;
use super::validate::ValidationError;

/// A room (RFC §5.1).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Room {
    /// The room's id.
    pub id: RoomId,
    /// The organisation it belongs to.
    pub organization_id: Option<OrganizationId>,
    /// Where it is in its life. Default: active.
    pub status: RoomStatus,
    /// When it was made.
    #[serde(with = "time")]
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    #[serde(with = "time")]
    pub updated_at: DateTime<Utc>,
    /// When it was closed.
    #[serde(with = "time::optional")]
    pub closed_at: Option<DateTime<Utc>>,
    /// When it pauses and closes by itself. Default: never.
    pub timers: RoomTimers,
    /// Which agents a message of another agent asks to act. Default: all.
    pub agent_response_policy: AgentResponsePolicy,
    /// The integrator's own data. Keys that begin with `_` are the framework's.
    pub metadata: Metadata,
    /// How many events were ever committed, deleted ones included.
    pub event_count: u64,
    /// The highest index that was ever given to an event; nothing in an empty room.
    ///
    /// It never goes back. In a room that was read with no event, it is nothing whatever was written.
    pub latest_index: Option<u64>,
    /// The highest index up to which every event has been delivered; -1 when none has.
    pub delivered_index: i64,
}

impl Room {
    /// Makes an empty active room without timers.
    pub fn new(id: impl Into<RoomId>, created_at: DateTime<Utc>) -> Self {
        Self {
            id: id.into(),
            organization_id: None,
            status: RoomStatus::default(),
            created_at,
            updated_at: created_at,
            closed_at: None,
            timers: RoomTimers::default(),
            agent_response_policy: AgentResponsePolicy::default(),
            metadata: Metadata::new(),
            event_count: 0,
            latest_index: None,
            delivered_index: NOTHING_DELIVERED,
        }
    }

    /// The index of the event that is committed next.
    pub fn next_index(&self) -> u64 {
        self.latest_index.map_or(0, |index| index.saturating_add(1))
    }

    /// Checks that no event was ever committed to it, as is so for one that is created.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] that names the counter which says otherwise.
    pub fn check_empty(&self) -> Result<(), ValidationError> {
        let counters = [
            ("event_count", self.event_count == 0),
            ("latest_index", self.latest_index.is_none()),
            ("delivered_index", self.delivered_index == NOTHING_DELIVERED),
        ];
        match counters.into_iter().find(|(_, is_empty)| !is_empty) {
            Some((name, _)) => Err(ValidationError::new(name, "a new room has no events")),
            None => Ok(()),
        }
    }

    /// Checks the counters.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `delivered_index` is below -1.
    pub fn validate(&self) -> Result<(), ValidationError> {
        if self.delivered_index < NOTHING_DELIVERED {
            return Err(ValidationError::new(
                "delivered_index",
                "must not be below -1",
            ));
        }
        Ok(())
    }
}

const NOTHING_DELIVERED: i64 = -1;

impl FromFields for Room {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let created_at = fields.time("created_at")?;
        let event_count = fields.or_default("event_count")?;
        // The Python package writes 0 for a room without events.
        let latest_index = fields.optional("latest_index")?.filter(|_| event_count > 0);
        let room = Self {
            id: fields.required("id")?,
            organization_id: fields.optional("organization_id")?,
            status: fields.or_default("status")?,
            created_at,
            updated_at: fields.optional_time("updated_at")?.unwrap_or(created_at),
            closed_at: fields.optional_time("closed_at")?,
            timers: fields.or_default("timers")?,
            agent_response_policy: fields.or_default("agent_response_policy")?,
            metadata: fields.or_default("metadata")?,
            event_count,
            latest_index,
            delivered_index: fields.or("delivered_index", NOTHING_DELIVERED)?,
        };
        room.validate()?;
        Ok(room)
    }
}

deserialize_from_fields!(Room);

/// When a room pauses and closes by itself (RFC §5.1).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RoomTimers {
    /// Seconds without an event until an active room is paused. Default: never.
    pub inactive_after_seconds: Option<u64>,
    /// Seconds in which a paused room is not resumed until it is closed. Default: never.
    pub closed_after_seconds: Option<u64>,
    /// When the last event was committed.
    #[serde(with = "time::optional")]
    pub last_activity_at: Option<DateTime<Utc>>,
    /// When the room was last paused, from which the time until it closes counts.
    #[serde(with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub paused_at: Option<DateTime<Utc>>,
}

impl RoomTimers {
    /// Timers that pause a room which has been quiet for so long.
    #[must_use]
    pub fn pause_after(seconds: u64) -> Self {
        Self {
            inactive_after_seconds: Some(seconds),
            ..Self::default()
        }
    }

    /// The same, and close it when it has been paused for so long.
    #[must_use]
    pub fn close_after(mut self, seconds: u64) -> Self {
        self.closed_after_seconds = Some(seconds);
        self
    }

    /// Checks the times.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when one of them is 0.
    pub fn validate(&self) -> Result<(), ValidationError> {
        let times = [
            ("inactive_after_seconds", self.inactive_after_seconds),
            ("closed_after_seconds", self.closed_after_seconds),
        ];
        match times.into_iter().find(|(_, time)| *time == Some(0)) {
            Some((field, _)) => Err(ValidationError::new(field, "must be at least 1")),
            None => Ok(()),
        }
    }
}
