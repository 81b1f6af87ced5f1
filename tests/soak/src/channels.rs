//! Channels that work, are slow, fail now and then or always, and agents; each looks at the order in
//! which it gets what it gets.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use roomkit_core::channel::{Delta, StreamFrame};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Clock, Result, RoomContext};
use roomkit_testkit::ManualClock;

/// The transports that people speak over.
pub(crate) const SPOKEN: [&str; 4] = ["web", "app", "slow", "flaky"];
/// A transport that never gets anything through.
pub(crate) const BROKEN: &str = "broken";
/// The agent that answers what has a question mark.
pub(crate) const HELPER: &str = "helper";
/// The agent whose answers come in pieces, to what has `tell` in it.
pub(crate) const TELLER: &str = "teller";
/// What the helper says.
pub(crate) const ANSWER: &str = "an answer";
/// What the teller says.
pub(crate) const STORY: &str = "once upon a time";

/// A transport; a clone is the same one.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    id: ChannelId,
    clock: ManualClock,
    calls: Arc<AtomicU64>,
    /// By the slot of a room: which room of the slot it was, and the index of the last event.
    last: Arc<Mutex<HashMap<String, (u64, u64)>>>,
    wrong: Arc<AtomicU64>,
}

impl Transport {
    pub(crate) fn new(id: &str, clock: &ManualClock) -> Self {
        Self {
            id: id.into(),
            clock: clock.clone(),
            calls: Arc::default(),
            last: Arc::default(),
            wrong: Arc::default(),
        }
    }

    /// How often something came after what follows it, or twice.
    pub(crate) fn out_of_order(&self) -> u64 {
        self.wrong.load(Ordering::Relaxed)
    }

    /// How many events it was asked to carry.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    fn got(&self, event: &RoomEvent) {
        let Some((slot, generation)) = event.room_id.as_str().rsplit_once('-') else {
            return;
        };
        let is = (generation.parse().unwrap_or(0), event.index);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let before = last.get(slot).copied();
        if before.is_some_and(|(generation, index)| generation == is.0 && index >= is.1) {
            self.wrong.fetch_add(1, Ordering::Relaxed);
        }
        // What still comes of a room that was removed says nothing of the one after it.
        if before.is_none_or(|before| before < is) {
            last.insert(slot.to_owned(), is);
        }
    }
}

#[async_trait]
impl Channel for Transport {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn supports_streaming(&self) -> bool {
        self.id == *"app"
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        match self.id.as_str() {
            "slow" => self.clock.sleep(Duration::from_millis(20)).await,
            "flaky" if call.is_multiple_of(5) => {
                return DeliveryOutcome::failed_retryable("busy", "try later");
            }
            BROKEN => return DeliveryOutcome::failed_retryable("down", "not at all"),
            _ => {}
        }
        self.got(event);
        DeliveryOutcome::Sent {
            provider_message_id: Some(event.id.to_string()),
        }
    }

    async fn deliver_frame(
        &self,
        frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        if let StreamFrame::End { event, .. } | StreamFrame::Replaced { event, .. } = frame {
            self.got(event);
        }
        DeliveryOutcome::sent()
    }
}

/// An agent that answers people.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    id: ChannelId,
}

impl Agent {
    pub(crate) fn new(id: &str) -> Self {
        Self { id: id.into() }
    }
}

#[async_trait]
impl Channel for Agent {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        let words = event.text().unwrap_or_default();
        if event.chain_depth > 0 {
            return Ok(ChannelOutput::none());
        }
        if self.id == *TELLER && words.contains("tell") {
            context.recent_events(5).await?;
            let pieces = ["once ", "upon ", "a time"].map(|it| Ok(Delta::Text(it.to_owned())));
            return Ok(ChannelOutput::stream(
                futures_util::stream::iter(pieces).boxed(),
            ));
        }
        if self.id == *HELPER && words.contains('?') {
            // Others have their turn in between, as while a model thinks.
            tokio::task::yield_now().await;
            let answer = ChannelOutput::text(ANSWER);
            return Ok(answer.with_task(context.task("call back")));
        }
        if words.contains("break") {
            return Err(roomkit_core::Error::channel("the model is not there"));
        }
        Ok(ChannelOutput::none())
    }
}
