//! How far a channel has read a room.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::ids::{ChannelId, RoomId};
use super::time;

/// How far a channel has read a room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadMarker {
    /// The room.
    pub room_id: RoomId,
    /// The channel that read.
    pub channel_id: ChannelId,
    /// The index of the last event it has read.
    pub index: u64,
    /// When it read that.
    #[serde(with = "time")]
    pub read_at: DateTime<Utc>,
}
