//! A kit on a clock that is turned by hand, which says what it hears.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use roomkit_core::hook::AfterBroadcast;
use roomkit_core::model::{
    ChannelId, ChannelType, FrameworkEvent, InboundMessage, ProtocolTrace, RateLimit,
};
use roomkit_core::trace::TraceFilter;
use roomkit_core::{
    Channel, Error, EventDraft, Result, RoomContext, RoomKit, RoomKitBuilder, RoomOptions,
    async_trait,
};
use roomkit_testkit::ManualClock;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::{OwnedRwLockWriteGuard, RwLock};

pub(crate) struct Stage {
    pub(crate) kit: RoomKit,
    pub(crate) clock: ManualClock,
    pub(crate) texts: UnboundedReceiver<String>,
    held: Arc<RwLock<()>>,
    events: UnboundedReceiver<FrameworkEvent>,
}

/// A channel of which the first messages fail, and that can be held.
struct Feed {
    id: ChannelId,
    failing: AtomicUsize,
    held: Arc<RwLock<()>>,
}

#[async_trait]
impl Channel for Feed {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Webhook
    }

    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        let _goes_on = self.held.read().await;
        let less = |left: usize| left.checked_sub(1);
        let fails = self
            .failing
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, less);
        if fails.is_ok() {
            return Err(Error::channel("not now"));
        }
        Ok(EventDraft::inbound(
            message,
            self.channel_type(),
            None,
            context,
        ))
    }
}

impl Stage {
    /// A kit with room `r`, which channel `feed` is attached to and brings everything into.
    pub(crate) async fn new() -> Self {
        Self::failing(0).await
    }

    pub(crate) async fn failing(messages: usize) -> Self {
        Self::of(RoomKit::builder(), messages).await
    }

    /// As [`new`](Self::new), where the channel may bring in one message a second.
    pub(crate) async fn limited() -> Self {
        let limit = RateLimit {
            max_per_second: Some(1.0),
            ..RateLimit::default()
        };
        Self::of(RoomKit::builder().inbound_rate_limit(limit), 0).await
    }

    async fn of(builder: RoomKitBuilder, failing: usize) -> Self {
        let clock = ManualClock::new();
        let kit = builder.clock(Arc::new(clock.clone())).build().unwrap();
        let held: Arc<RwLock<()>> = Arc::default();
        let feed = Feed {
            id: "feed".into(),
            failing: AtomicUsize::new(failing),
            held: Arc::clone(&held),
        };
        kit.register_channel(feed).unwrap();
        kit.create_room(RoomOptions::new().id("r")).await.unwrap();
        kit.attach_channel("r", "feed").await.unwrap();
        let (text, texts) = unbounded_channel();
        kit.hook(AfterBroadcast, "texts", move |event, _| {
            let _ = text.send(event.text().unwrap_or_default().to_owned());
            async {}
        });
        let (told, events) = unbounded_channel();
        kit.on_any(move |event| {
            let _ = told.send(event);
            async {}
        });
        Self {
            kit,
            clock,
            texts,
            held,
            events,
        }
    }

    /// Takes no message until what comes back is dropped.
    pub(crate) async fn hold(&self) -> OwnedRwLockWriteGuard<()> {
        Arc::clone(&self.held).write_owned().await
    }

    /// Waits until somebody waits for the time to pass.
    pub(crate) async fn somebody_waits(&self) {
        while self.clock.sleepers() == 0 {
            tokio::task::yield_now().await;
        }
    }

    /// The next message that came in.
    pub(crate) async fn text(&mut self) -> String {
        self.texts.recv().await.unwrap()
    }

    /// Waits until the kit has told of this.
    pub(crate) async fn event(&mut self, kind: &str) -> FrameworkEvent {
        loop {
            let event = self.events.recv().await.unwrap();
            if event.event_type.as_str() == kind {
                return event;
            }
        }
    }

    /// Waits until the source has failed, and lets the time until its next start pass. What went
    /// wrong comes back.
    pub(crate) async fn fails(&mut self) -> String {
        let event = self.event("source_error").await;
        self.time_passes().await;
        event
            .data
            .get("error")
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned()
    }

    /// Lets the time pass for which somebody waits.
    pub(crate) async fn time_passes(&self) -> Duration {
        loop {
            match self.clock.advance_to_next() {
                Some(time) => return time,
                None => tokio::task::yield_now().await,
            }
        }
    }

    /// The protocol traces from now on.
    pub(crate) fn traces(&self) -> UnboundedReceiver<ProtocolTrace> {
        let (told, traces) = unbounded_channel();
        self.kit.on_trace(TraceFilter::all(), move |trace| {
            let _ = told.send(trace);
            async {}
        });
        traces
    }

    pub(crate) async fn detail(&self, name: &str) -> u64 {
        let health = self.kit.source_health("feed").await.unwrap();
        health.metadata.get(name).unwrap().as_u64().unwrap()
    }
}

/// What the next trace says, without its time, which must not say anything that is secret.
pub(crate) async fn told(traces: &mut UnboundedReceiver<ProtocolTrace>) -> String {
    let trace = traces.recv().await.unwrap();
    assert!(!format!("{trace:?}").contains("secret"), "{trace:?}");
    assert_eq!(trace.channel_id.as_str(), "feed");
    format!("{} {}", trace.protocol, trace.summary)
}

pub(crate) fn json(text: &str) -> String {
    format!(r#"{{"sender_id": "u", "text": "{text}"}}"#)
}
