//! A transport that records what it is given and fails when it is told to.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::channel::StreamFrame;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelDirection, ChannelId, ChannelType, DeliveryOutcome,
    RoomEvent, RoomId,
};
use roomkit_core::{Channel, Clock, RoomContext, SystemClock};

use crate::sync::Log;

/// A transport for tests. A clone is another handle of the same channel.
///
/// ```
/// use roomkit_core::{RoomKit, model::InboundMessage};
/// use roomkit_testkit::MockChannel;
///
/// # async fn deliver() -> roomkit_core::Result<()> {
/// let (web, sms) = (MockChannel::new("web"), MockChannel::new("sms"));
/// let kit = RoomKit::new();
/// kit.register_channel(web.clone())?;
/// kit.register_channel(sms.clone())?;
/// kit.create_room("r").await?;
/// kit.attach_channel("r", "web").await?;
/// kit.attach_channel("r", "sms").await?;
///
/// kit.process_inbound(InboundMessage::text("web", "alice", "hello").in_room("r")).await?;
/// assert_eq!(sms.deliveries()[0].event.text(), Some("hello"));
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(deliver()).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct MockChannel {
    parts: Arc<MockChannelBuilder>,
    calls: Arc<AtomicU64>,
    frames: Arc<AtomicU64>,
    taken: Log<Taken>,
}

/// Something that a [`MockChannel`] took.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Taken {
    /// A whole event.
    Whole(Delivery),
    /// A frame of an answer as it comes.
    Frame(StreamFrame),
}

/// One event that a [`MockChannel`] took.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Delivery {
    /// The room it came from.
    pub room_id: RoomId,
    /// Its place in that room's timeline.
    pub index: u64,
    /// The event as the channel was given it: transcoded and cut to length.
    pub event: Arc<RoomEvent>,
}

/// Says what a [`MockChannel`] is and how it behaves.
#[derive(Debug, Clone)]
#[must_use = "nothing is built until `build` is called"]
pub struct MockChannelBuilder {
    id: ChannelId,
    channel_type: ChannelType,
    direction: ChannelDirection,
    capabilities: ChannelCapabilities,
    streaming: bool,
    fail_first: Option<u64>,
    fail_frame: Option<u64>,
    provider_ids: bool,
    names_its_senders: bool,
    failure: Option<DeliveryOutcome>,
    delay: Duration,
    clock: Arc<dyn Clock>,
}

impl MockChannel {
    /// A WebSocket channel of plain text without limit that takes everything.
    pub fn new(id: impl Into<ChannelId>) -> Self {
        Self::builder(id).build()
    }

    /// A channel that is to be something else.
    pub fn builder(id: impl Into<ChannelId>) -> MockChannelBuilder {
        MockChannelBuilder {
            id: id.into(),
            channel_type: ChannelType::Websocket,
            direction: ChannelDirection::Bidirectional,
            capabilities: ChannelCapabilities::default(),
            streaming: false,
            fail_first: None,
            fail_frame: None,
            provider_ids: false,
            names_its_senders: false,
            failure: None,
            delay: Duration::ZERO,
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// The events that the channel took whole, of all rooms, in the order in which it did; failed
    /// calls are not here.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        let whole = self.taken().into_iter().filter_map(|taken| match taken {
            Taken::Whole(delivery) => Some(delivery),
            Taken::Frame(_) => None,
        });
        whole.collect()
    }

    /// The frames of answers that the channel took as they came, of all rooms, in the order in which
    /// it did.
    #[must_use]
    pub fn frames(&self) -> Vec<StreamFrame> {
        let frames = self.taken().into_iter().filter_map(|taken| match taken {
            Taken::Frame(frame) => Some(frame),
            Taken::Whole(_) => None,
        });
        frames.collect()
    }

    /// All that the channel took, whole events and frames, in the order in which it did.
    #[must_use]
    pub fn taken(&self) -> Vec<Taken> {
        self.taken.entries()
    }

    /// How often it was asked to deliver, failed calls included.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Forgets what it took so far. The counts of calls stay, and with them who is still to fail.
    pub fn clear(&self) {
        self.taken.clear();
    }
}

impl MockChannelBuilder {
    /// What kind of channel it is. Default: WebSocket.
    pub fn channel_type(mut self, channel_type: ChannelType) -> Self {
        self.channel_type = channel_type;
        self
    }

    /// Which way it carries messages. Default: both ways.
    pub fn direction(mut self, direction: ChannelDirection) -> Self {
        self.direction = direction;
        self
    }

    /// What it can show. Default: plain text without limit.
    pub fn capabilities(mut self, capabilities: ChannelCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Lets it take answers as they come. Default: it gets them whole.
    pub fn streaming(mut self) -> Self {
        self.streaming = true;
        self
    }

    /// Lets the frame with this number fail, counted from 1 over all answers; the channel then gets
    /// that answer whole. Default: none fails.
    pub fn fail_frame(mut self, number: u64) -> Self {
        self.fail_frame = Some(number);
        self
    }

    /// Lets the first calls of `deliver` fail: with a retryable error, or as
    /// [`fail_with`](Self::fail_with) says. Default: none fails.
    pub fn fail_first(mut self, calls: u64) -> Self {
        self.fail_first = Some(calls);
        self
    }

    /// The outcome of the calls that fail; without [`fail_first`](Self::fail_first) that is every
    /// call. Default: none fails.
    pub fn fail_with(mut self, outcome: DeliveryOutcome) -> Self {
        self.failure = Some(outcome);
        self
    }

    /// Gives each event that it takes whole an id as of a provider: the channel's id, `-` and the
    /// number of the call, from 1. Default: none.
    pub fn provider_ids(mut self) -> Self {
        self.provider_ids = true;
        self
    }

    /// Lets the senders of its messages be participants of the room by their ids, of whom nobody asks who
    /// they are (RFC §11.6). Default: they are addresses.
    pub fn names_its_senders(mut self) -> Self {
        self.names_its_senders = true;
        self
    }

    /// How long each call takes, for an event or for a frame. Default: no time.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The clock by which it takes its time. Default: tokio's, which a test may pause.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the channel.
    #[must_use]
    pub fn build(self) -> MockChannel {
        MockChannel {
            parts: Arc::new(self),
            calls: Arc::default(),
            frames: Arc::default(),
            taken: Log::default(),
        }
    }

    /// What becomes of a call, counted from 1.
    fn outcome(&self, call: u64) -> DeliveryOutcome {
        let fails = match (self.fail_first, &self.failure) {
            (Some(first), _) => call <= first,
            (None, failure) => failure.is_some(),
        };
        if !fails {
            let id = self.provider_ids.then(|| format!("{}-{call}", self.id));
            return DeliveryOutcome::Sent {
                provider_message_id: id,
            };
        }
        self.failure.clone().unwrap_or_else(|| {
            DeliveryOutcome::failed_retryable("mock_failure", "the mock was told to fail")
        })
    }
}

#[async_trait]
impl Channel for MockChannel {
    fn id(&self) -> &ChannelId {
        &self.parts.id
    }

    fn channel_type(&self) -> ChannelType {
        self.parts.channel_type.clone()
    }

    fn direction(&self) -> ChannelDirection {
        self.parts.direction
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.parts.capabilities.clone()
    }

    fn names_its_senders(&self) -> bool {
        self.parts.names_its_senders
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.parts.delay.is_zero() {
            self.parts.clock.sleep(self.parts.delay).await;
        }
        let outcome = self.parts.outcome(call);
        if outcome.is_sent() {
            self.taken.push(Taken::Whole(Delivery {
                room_id: event.room_id.clone(),
                index: event.index,
                event: Arc::clone(event),
            }));
        }
        outcome
    }

    fn supports_streaming(&self) -> bool {
        self.parts.streaming
    }

    async fn deliver_frame(
        &self,
        frame: &StreamFrame,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        let number = self.frames.fetch_add(1, Ordering::Relaxed) + 1;
        if !self.parts.delay.is_zero() {
            self.parts.clock.sleep(self.parts.delay).await;
        }
        if self.parts.fail_frame == Some(number) {
            return DeliveryOutcome::failed("mock_failure", "the mock was told to fail");
        }
        self.taken.push(Taken::Frame(frame.clone()));
        DeliveryOutcome::sent()
    }
}
