//! Records of what went over a wire.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::enums::TraceDirection;
use super::ids::{ChannelId, RoomId};
use super::metadata::Metadata;
use super::time;

/// A message of a transport protocol that a channel sent or received (RFC §5.14).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProtocolTrace {
    /// The channel.
    pub channel_id: ChannelId,
    /// Which way the message went.
    pub direction: TraceDirection,
    /// The protocol: `sip`, `rtp`, `smtp` and so on.
    pub protocol: String,
    /// What the message is, in words.
    pub summary: String,
    /// The whole message as it was on the wire.
    #[serde(default)]
    pub raw: Option<TracePayload>,
    /// The facts of the protocol, such as a call's id.
    #[serde(default)]
    pub metadata: Metadata,
    /// The voice session it belongs to.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The room, where it is known already.
    #[serde(default)]
    pub room_id: Option<RoomId>,
    /// When it went.
    #[serde(with = "time")]
    pub timestamp: DateTime<Utc>,
}

impl ProtocolTrace {
    /// Makes a trace of nothing but what the message is.
    pub fn new(
        channel_id: impl Into<ChannelId>,
        direction: TraceDirection,
        protocol: impl Into<String>,
        summary: impl Into<String>,
        timestamp: DateTime<Utc>,
    ) -> Self {
        Self {
            channel_id: channel_id.into(),
            direction,
            protocol: protocol.into(),
            summary: summary.into(),
            raw: None,
            metadata: Metadata::new(),
            session_id: None,
            room_id: None,
            timestamp,
        }
    }
}

/// A message as it was on the wire: in JSON a string, or a list of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TracePayload {
    /// A message of text.
    Text(String),
    /// A message of bytes.
    Bytes(Vec<u8>),
}
