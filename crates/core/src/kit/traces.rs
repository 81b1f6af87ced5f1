//! Protocol traces and telemetry of a kit: who is told of them, and who tells.
//!
//! Its rules: RFC §15.6 and §15.7.

use std::future::Future;
use std::sync::Arc;

use super::{RoomKit, Rooms};
use crate::error::{Error, Result};
use crate::model::{ChannelId, ProtocolTrace, RoomId};
use crate::telemetry::Telemetry;
use crate::trace::{TraceEmitter, TraceFilter, TraceStats};

impl RoomKit {
    /// Calls `callback` with every protocol trace that `filter` lets through, in order and in the
    /// background, whether its room is known or not (RFC §15.6). A hook of
    /// [`OnProtocolTrace`](crate::hook::OnProtocolTrace) is called with those of its room.
    pub fn on_trace<F, Fut>(&self, filter: TraceFilter, callback: F)
    where
        F: Fn(ProtocolTrace) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        self.inner().traces.callbacks.listen(filter, callback);
    }

    /// What became of the protocol traces so far.
    #[must_use]
    pub fn trace_stats(&self) -> TraceStats {
        self.inner().traces.stats(self.inner())
    }

    /// The kit's telemetry, for spans and metrics of channels, agents and the application.
    #[must_use]
    pub fn telemetry(&self) -> Telemetry {
        self.inner().spans.handle()
    }
}

impl Rooms {
    /// What emits protocol traces of a channel, into rooms of this handle's organisation. A channel takes one
    /// when it is [registered](crate::Channel::registered); a source has
    /// [its own](crate::source::SourceEmitter::traces).
    #[must_use]
    pub fn trace_emitter(&self, channel: impl Into<ChannelId>) -> TraceEmitter {
        let inner = Arc::downgrade(self.inner());
        TraceEmitter::new(inner, self.scope.clone(), channel.into())
    }

    /// Emits one protocol trace, of the channel that it names. Who is told works in the background.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound): the room that it names is another
    /// organisation's. A room that is not there yet is waited for.
    pub async fn emit_trace(&self, trace: ProtocolTrace) -> Result<()> {
        if let Some(room) = &trace.room_id {
            self.check_trace_room(room).await?;
        }
        let inner = self.inner();
        if inner.traces.is_enabled(inner) {
            inner.traces.take(inner, &self.scope, trace);
        }
        Ok(())
    }

    /// Says which room a session of a channel's transport is of: traces of the session that came
    /// before, through handles of this organisation, go there, in order, as soon as there is such a room.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound): it is another organisation's.
    pub async fn bind_trace_session(
        &self,
        channel: impl Into<ChannelId>,
        session: &str,
        room: impl Into<RoomId>,
    ) -> Result<()> {
        let room = room.into();
        self.check_trace_room(&room).await?;
        let inner = self.inner();
        inner
            .traces
            .bind(inner, &self.scope, &channel.into(), session, &room);
        Ok(())
    }

    async fn check_trace_room(&self, room: &RoomId) -> Result<()> {
        let inner = self.inner();
        match inner.read(inner.store.room(room)).await? {
            Some(found) if !self.scope.admits(&found.room) => Err(Error::room_not_found(room)),
            _ => Ok(()),
        }
    }
}
