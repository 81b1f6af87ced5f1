//! Memory: what a model is given of a room's past (RFC §20).

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::model::{ChannelId, RoomEvent, RoomId};
use roomkit_core::{Result, RoomContext};

use crate::AiMessage;

/// What a memory gives: messages that are ready, then events to make messages of.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct MemoryResult {
    /// Messages as they are, such as a summary; they come first.
    pub messages: Vec<AiMessage>,
    /// Events, oldest first, that become messages as the agent makes them.
    pub events: Vec<Arc<RoomEvent>>,
}

impl MemoryResult {
    /// Events alone.
    #[must_use]
    pub fn events(events: Vec<Arc<RoomEvent>>) -> Self {
        Self {
            events,
            ..Self::default()
        }
    }

    /// Adds messages before the events.
    #[must_use]
    pub fn with_messages(mut self, messages: impl IntoIterator<Item = AiMessage>) -> Self {
        self.messages.extend(messages);
        self
    }
}

/// Decides what a model is given of a room's past.
///
/// The context is the agent's own view of the room: history that it may not see is not in it
/// (RFC §7.5 rule 8).
#[async_trait]
pub trait MemoryProvider: Send + Sync + 'static {
    /// What comes before `event` in the model's conversation; the event itself is added by the agent.
    ///
    /// # Errors
    /// Where the past cannot be had; the turn is given up then.
    async fn retrieve(
        &self,
        event: &Arc<RoomEvent>,
        context: &RoomContext,
        channel: &ChannelId,
    ) -> Result<MemoryResult>;

    /// Takes note of an event that the agent is asked about. Default: nothing.
    ///
    /// # Errors
    /// A failure is logged; the turn goes on.
    async fn ingest(
        &self,
        _event: &Arc<RoomEvent>,
        _context: &RoomContext,
        _channel: &ChannelId,
    ) -> Result<()> {
        Ok(())
    }

    /// Forgets a room. Default: nothing to forget.
    async fn clear(&self, _room: &RoomId) {}

    /// Lets go of connections. Default: none.
    async fn close(&self) {}
}

/// The last events before the one that is answered, as many as are set. What it costs depends on that
/// number, and not on how long the room is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlidingWindowMemory {
    max_events: usize,
}

impl SlidingWindowMemory {
    /// A window of this many events.
    #[must_use]
    pub const fn new(max_events: usize) -> Self {
        Self { max_events }
    }
}

impl Default for SlidingWindowMemory {
    /// 50 events.
    fn default() -> Self {
        Self::new(50)
    }
}

#[async_trait]
impl MemoryProvider for SlidingWindowMemory {
    async fn retrieve(
        &self,
        event: &Arc<RoomEvent>,
        context: &RoomContext,
        _channel: &ChannelId,
    ) -> Result<MemoryResult> {
        if self.max_events == 0 {
            return Ok(MemoryResult::default());
        }
        // An event that only passes has no place in the timeline: its index, 0, says nothing then.
        let is_kept = event.index > 0 || context.event(&event.id).await?.is_some();
        let history = if is_kept {
            context.events_before(event.index, self.max_events).await?
        } else {
            context.recent_events(self.max_events).await?
        };
        Ok(MemoryResult::events(history.events))
    }
}
