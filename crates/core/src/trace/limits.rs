//! How many traces are kept for rooms that are to come, and which of them a callback wants.

use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChannelId, ProtocolTrace};

/// How many traces wait for their room, how long, and how large one may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceLimits {
    /// How many traces of one session, or of one room, wait; a further one takes the place of the oldest. Default: 64.
    pub per_session: usize,
    /// How many traces wait in all; a further one takes the place of the oldest. Default: 4,096.
    pub total: usize,
    /// How long a trace waits before it is dropped. Default: 60 seconds.
    pub max_age: Duration,
    /// How many bytes of [`raw`](ProtocolTrace::raw) are kept; the rest is cut, and the metadata says
    /// so with `raw_bytes`, how many there were. Default: 16,384.
    pub max_raw_bytes: usize,
}

impl Default for TraceLimits {
    fn default() -> Self {
        Self {
            per_session: 64,
            total: 4_096,
            max_age: Duration::from_secs(60),
            max_raw_bytes: 16_384,
        }
    }
}

impl TraceLimits {
    /// How many traces of one session, or of one room, wait.
    #[must_use]
    pub fn per_session(mut self, traces: usize) -> Self {
        self.per_session = traces;
        self
    }

    /// How many traces wait in all.
    #[must_use]
    pub fn total(mut self, traces: usize) -> Self {
        self.total = traces;
        self
    }

    /// How long a trace waits.
    #[must_use]
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = age;
        self
    }

    /// How many bytes of a raw message are kept.
    #[must_use]
    pub fn max_raw_bytes(mut self, bytes: usize) -> Self {
        self.max_raw_bytes = bytes;
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
        let problem = if self.per_session == 0 {
            "trace_limits.per_session: must be at least 1"
        } else if self.total == 0 {
            "trace_limits.total: must be at least 1"
        } else if self.max_age.is_zero() {
            "trace_limits.max_age: must not be zero"
        } else {
            return Ok(());
        };
        Err(Error::new(ErrorKind::InvalidInput, problem))
    }
}

/// What became of the traces of a kit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TraceStats {
    /// Those that were told to the hooks of their room.
    pub told: u64,
    /// Those that wait for their room.
    pub waiting: u64,
    /// Those that waited too long.
    pub dropped_by_age: u64,
    /// Those that gave way to later ones.
    pub dropped_by_number: u64,
    /// Those that could come to no room: without a room and a session, or of another organisation.
    pub without_room: u64,
}

/// Which traces a callback wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TraceFilter {
    channel: Option<ChannelId>,
    protocols: Option<Vec<String>>,
}

impl TraceFilter {
    /// Every trace.
    #[must_use]
    pub fn all() -> Self {
        Self::default()
    }

    /// Those of one channel.
    #[must_use]
    pub fn channel(mut self, channel: impl Into<ChannelId>) -> Self {
        self.channel = Some(channel.into());
        self
    }

    /// Those of these protocols, such as `sip`.
    #[must_use]
    pub fn protocols<P: Into<String>>(mut self, protocols: impl IntoIterator<Item = P>) -> Self {
        self.protocols = Some(protocols.into_iter().map(Into::into).collect());
        self
    }

    pub(crate) fn wants(&self, trace: &ProtocolTrace) -> bool {
        let channel = self.channel.as_ref();
        let protocols = self.protocols.as_ref();
        channel.is_none_or(|channel| *channel == trace.channel_id)
            && protocols.is_none_or(|protocols| protocols.contains(&trace.protocol))
    }
}
