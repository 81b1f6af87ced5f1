//! What a channel, a source or a web server emits traces through.

use std::fmt;
use std::sync::Weak;

use chrono::{DateTime, Utc};

use crate::kit::Inner;
use crate::model::{ChannelId, ProtocolTrace, RoomId};
use crate::pipeline::Scope;

/// Emits the protocol traces of one channel. A clone is another handle; none of them keeps the kit.
#[derive(Clone)]
pub struct TraceEmitter {
    inner: Weak<Inner>,
    scope: Scope,
    channel: ChannelId,
}

impl TraceEmitter {
    pub(crate) fn new(inner: Weak<Inner>, scope: Scope, channel: ChannelId) -> Self {
        Self {
            inner,
            scope,
            channel,
        }
    }

    /// An emitter of no kit, whose traces nobody wants.
    #[must_use]
    pub fn disabled() -> Self {
        Self::new(Weak::new(), Scope(None), ChannelId::from(""))
    }

    /// Whether anybody wants traces: a callback, or a hook of
    /// [`OnProtocolTrace`](crate::hook::OnProtocolTrace) in any room.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        let inner = self.inner.upgrade();
        inner.is_some_and(|inner| inner.traces.is_enabled(&inner))
    }

    /// Emits the trace that `make` makes, which is called with the time of the kit's clock, and only
    /// where somebody wants traces. It is one of the emitter's channel, whatever channel it names.
    ///
    /// Returns at once; who is told works in the background. The trace is of the room that it names, else
    /// of the one that the channel knows its session by
    /// ([`Channel::resolve_trace_room`](crate::Channel::resolve_trace_room)), else it waits for
    /// [`bind`](Self::bind).
    pub fn emit(&self, make: impl FnOnce(DateTime<Utc>) -> ProtocolTrace) {
        let Some(inner) = self.inner.upgrade() else {
            return;
        };
        if !inner.traces.is_enabled(&inner) {
            return;
        }
        let mut trace = make(inner.clock.now());
        trace.channel_id.clone_from(&self.channel);
        inner.traces.take(&inner, &self.scope, trace);
    }

    /// Says which room a session is of; its traces that waited go there, in order, as soon as there is
    /// such a room.
    pub fn bind(&self, session: &str, room: impl Into<RoomId>) {
        if let Some(inner) = self.inner.upgrade() {
            let room = room.into();
            inner
                .traces
                .bind(&inner, &self.scope, &self.channel, session, &room);
        }
    }
}

impl fmt::Debug for TraceEmitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TraceEmitter")
            .field("channel", &self.channel)
            .finish_non_exhaustive()
    }
}
