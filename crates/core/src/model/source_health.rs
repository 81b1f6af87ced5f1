//! How a source of messages is.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::metadata::Metadata;
use super::string_enum::string_enum;
use super::time;

string_enum! {
    /// Whether a source has its connection (RFC §6.5).
    #[derive(Default)]
    pub enum SourceStatus: "source status" {
        /// Not running. The default.
        #[default]
        Stopped = "stopped",
        /// Making its connection for the first time.
        Connecting = "connecting",
        /// Connected: messages come in.
        Connected = "connected",
        /// Making its connection again after it was lost.
        Reconnecting = "reconnecting",
        /// Failed; given up, or waiting to be started again.
        Error = "error",
    }
}

/// What is to be said about a source (RFC §6.5).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SourceHealth {
    /// Whether it has its connection. Default: stopped.
    pub status: SourceStatus,
    /// Since when it has it, or when it last had.
    #[serde(with = "time::optional")]
    pub connected_at: Option<DateTime<Utc>>,
    /// When its last message was taken.
    #[serde(with = "time::optional")]
    pub last_message_at: Option<DateTime<Utc>>,
    /// How many of its messages were taken since it was attached.
    pub messages_received: u64,
    /// What went wrong last, while it is wrong.
    pub error: Option<String>,
    /// How often it has failed since it last worked.
    pub failures: u32,
    /// What the source itself has to say.
    pub metadata: Metadata,
}
