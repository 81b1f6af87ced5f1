//! A transport that records and an agent made of a function, for these tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome,
    InboundMessage, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext, RoomKit};

type Outcome = dyn Fn(usize) -> DeliveryOutcome + Send + Sync;

/// A transport that keeps what it delivered. A clone is the same channel.
#[derive(Clone)]
pub(crate) struct Transport {
    id: ChannelId,
    channel_type: ChannelType,
    capabilities: ChannelCapabilities,
    delay: Duration,
    /// The outcome of call number n, counted from 0.
    outcome: Arc<Outcome>,
    calls: Arc<Mutex<usize>>,
    delivered: Arc<Mutex<Vec<Arc<RoomEvent>>>>,
}

impl Transport {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.into(),
            channel_type: ChannelType::Websocket,
            capabilities: ChannelCapabilities::default(),
            delay: Duration::ZERO,
            outcome: Arc::new(|_| DeliveryOutcome::sent()),
            calls: Arc::default(),
            delivered: Arc::default(),
        }
    }

    pub(crate) fn of_type(mut self, channel_type: ChannelType) -> Self {
        self.channel_type = channel_type;
        self
    }

    pub(crate) fn slow(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    pub(crate) fn outcomes(
        mut self,
        outcome: impl Fn(usize) -> DeliveryOutcome + Send + Sync + 'static,
    ) -> Self {
        self.outcome = Arc::new(outcome);
        self
    }

    pub(crate) fn calls(&self) -> usize {
        *self.calls.lock().unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Arc<RoomEvent>> {
        self.delivered.lock().unwrap().clone()
    }

    pub(crate) fn indexes(&self) -> Vec<u64> {
        self.events().iter().map(|event| event.index).collect()
    }

    pub(crate) fn texts(&self) -> Vec<String> {
        self.events()
            .iter()
            .filter_map(|event| event.text().map(str::to_owned))
            .collect()
    }
}

#[async_trait]
impl Channel for Transport {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        self.channel_type.clone()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.capabilities.clone()
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let call = {
            let mut calls = self.calls.lock().unwrap();
            *calls += 1;
            *calls - 1
        };
        if !self.delay.is_zero() {
            tokio::time::sleep(self.delay).await;
        }
        let outcome = (self.outcome)(call);
        if outcome.is_sent() {
            self.delivered.lock().unwrap().push(Arc::clone(event));
        }
        outcome
    }
}

type Reaction = dyn Fn(
        Arc<RoomEvent>,
        RoomContext,
    ) -> futures_util::future::BoxFuture<'static, Result<ChannelOutput>>
    + Send
    + Sync;

/// An agent made of a function. A clone is the same channel.
#[derive(Clone)]
pub(crate) struct Agent {
    id: ChannelId,
    reaction: Arc<Reaction>,
    heard: Arc<Mutex<Vec<u64>>>,
}

impl Agent {
    pub(crate) fn new<F, Fut>(id: &str, reaction: F) -> Self
    where
        F: Fn(Arc<RoomEvent>, RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<ChannelOutput>> + Send + 'static,
    {
        Self {
            id: id.into(),
            reaction: Arc::new(move |event, context| Box::pin(reaction(event, context))),
            heard: Arc::default(),
        }
    }

    /// An agent that says the same to everything.
    pub(crate) fn says(id: &str, reply: &'static str) -> Self {
        Self::new(
            id,
            move |_, _| async move { Ok(ChannelOutput::text(reply)) },
        )
    }

    pub(crate) fn heard(&self) -> Vec<u64> {
        self.heard.lock().unwrap().clone()
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
        self.heard.lock().unwrap().push(event.index);
        (self.reaction)(Arc::clone(event), context.clone()).await
    }
}

/// A kit with one room `r` to which these channels are attached, in order.
pub(crate) async fn room_of(kit: &RoomKit, channels: Vec<Arc<dyn Channel>>) {
    kit.create_room("r").await.unwrap();
    for channel in channels {
        let id = channel.id().clone();
        kit.register_shared(channel).unwrap();
        kit.attach_channel("r", id).await.unwrap();
    }
}

pub(crate) fn shared(channel: &(impl Channel + Clone)) -> Arc<dyn Channel> {
    Arc::new(channel.clone())
}

/// A message from `sender` over `channel` into room `r`.
pub(crate) fn say(channel: &str, sender: &str, text: &str) -> InboundMessage {
    InboundMessage::text(channel, sender, text).in_room("r")
}

/// The texts of the room's messages, in index order.
pub(crate) async fn timeline_texts(kit: &RoomKit) -> Vec<String> {
    let events = kit.timeline("r", 0, 100_000).await.unwrap();
    events
        .iter()
        .filter_map(|event| event.text().map(str::to_owned))
        .collect()
}
