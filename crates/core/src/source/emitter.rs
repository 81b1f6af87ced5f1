//! What a running source is given: where its messages go, and when it is to end.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::select;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use crate::error::{Error, ErrorKind, Result};
use crate::kit::Inner;
use crate::model::{
    ChannelId, FrameworkEvent, FrameworkEventType, InboundMessage, InboundResult, Metadata,
    SourceHealth, SourceStatus,
};
use crate::pipeline::{self, Refusal, Scope};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::inside::Inside;
use crate::sync::lock;
use crate::telemetry::SpanName;
use crate::trace::{self, TraceEmitter};

/// How long to wait at most before a limit is asked again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// What a source and its supervisor know of each other.
pub(crate) struct Shared {
    pub(crate) channel: ChannelId,
    pub(crate) scope: Scope,
    pub(crate) name: String,
    pub(crate) health: Mutex<SourceHealth>,
    pub(crate) stop: watch::Sender<bool>,
    /// Whether it runs no longer, and brings nothing any more.
    over: AtomicBool,
    inner: Weak<Inner>,
    /// A place for each message that is under way; without, there is no limit.
    places: Option<Arc<Semaphore>>,
    /// Whose turn it is to wait for the limit of what comes in, so that messages keep their order.
    limited: tokio::sync::Mutex<()>,
    /// How many messages were given back because the source was to end.
    not_taken: AtomicU64,
}

impl Shared {
    pub(crate) fn new(
        inner: &Arc<Inner>,
        scope: Scope,
        channel: ChannelId,
        name: String,
        at_once: Option<usize>,
    ) -> Self {
        Self {
            channel,
            scope,
            name,
            health: Mutex::default(),
            stop: watch::Sender::new(false),
            over: AtomicBool::new(false),
            inner: Arc::downgrade(inner),
            places: at_once.map(|most| Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))),
            limited: tokio::sync::Mutex::default(),
            not_taken: AtomicU64::new(0),
        }
    }

    /// How many messages were given back to the source because it was to end.
    pub(crate) fn not_taken(&self) -> u64 {
        self.not_taken.load(Ordering::SeqCst)
    }

    /// Asks the source to end.
    pub(crate) fn ask_to_stop(&self) {
        self.stop.send_replace(true);
    }

    /// Refuses what is emitted from now on: the source's run is over.
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stop.borrow()
    }

    pub(crate) async fn stopping(&self) {
        let mut asked = self.stop.subscribe();
        // The sender lives as long as this.
        let _ = asked.wait_for(|stop| *stop).await;
    }

    /// Tells of the source; `fill` adds to what is said.
    pub(crate) fn tell(
        &self,
        inner: &Inner,
        kind: FrameworkEventType,
        fill: impl FnOnce(&mut Metadata),
    ) {
        inner.emit(kind, |event: &mut FrameworkEvent| {
            event.channel_id = Some(self.channel.clone());
            event.data.insert("source_id", self.name.as_str());
            event.data.insert("source_name", self.name.as_str());
            fill(&mut event.data);
        });
    }
}

/// Where a source's messages go. A clone is another handle; none of them keeps the kit.
#[derive(Clone)]
pub struct SourceEmitter {
    pub(super) shared: Arc<Shared>,
}

impl SourceEmitter {
    /// The channel that the source is attached to.
    #[must_use]
    pub fn channel_id(&self) -> &ChannelId {
        &self.shared.channel
    }

    /// Takes a message through the pipeline as one of the source's channel, whatever channel it names.
    ///
    /// Returns once it is stored or refused; agents and deliveries go on. While as many of the
    /// source's messages are under way as may be, or its channel or organisation has brought in as
    /// much as [may come in](crate::RoomKitBuilder::inbound_rate_limit), it waits: that is what holds a source back. A
    /// call that is dropped while it waits has done nothing; one that has begun goes on to its end.
    ///
    /// # Errors
    /// As [`process_inbound`](crate::Rooms::process_inbound);
    /// `rate_limited`, as [`ErrorKind::Refused`], where the source was asked to end before the limit let
    /// the message in, which was not taken then;
    /// [`SourceNotFound`](ErrorKind::SourceNotFound) once the source has ended,
    /// [`KitClosed`](ErrorKind::KitClosed) once the kit is closed or gone.
    pub async fn emit(&self, mut message: InboundMessage) -> Result<InboundResult> {
        let place = self.place().await?;
        message.channel_id.clone_from(&self.shared.channel);
        let inner = self.let_in(&message).await?;
        let shared = Arc::clone(&self.shared);
        let running = Arc::clone(&inner);
        let call = async move {
            let told = trace::of_message(&running, &shared.channel, "source", &message);
            let accepted = if running.spans.may_watch(SpanName::ProcessInbound) {
                pipeline::observed::accept(&running, &shared.scope, message).await?
            } else {
                pipeline::inbound::accept(&running, &shared.scope, message).await?
            };
            {
                let mut health = lock(&shared.health);
                health.messages_received = health.messages_received.saturating_add(1);
                health.last_message_at = Some(running.clock.now());
                health.failures = 0;
            }
            let result = accepted.result.clone();
            if let Some(mut told) = told {
                told.room_id = result.event.as_ref().map(|event| event.room_id.clone());
                running.traces.take(&running, &shared.scope, told);
            }
            if accepted.cascade.is_some() {
                running.tasks.spawn(async move {
                    accepted.settle_apart().await;
                    drop(place);
                });
            }
            Ok(result)
        };
        inner.run_to_end(Inside::current(), Box::pin(call)).await
    }

    async fn place(&self) -> Result<Option<OwnedSemaphorePermit>> {
        let Some(places) = &self.shared.places else {
            return Ok(None);
        };
        let place = Arc::clone(places).acquire_owned().await;
        place.map(Some).map_err(|_closed| closed())
    }

    /// The kit, once the limits of what comes in let one more message in; until then it waits, without
    /// keeping the kit.
    async fn let_in(&self, message: &InboundMessage) -> Result<Arc<Inner>> {
        let inner = self.running()?;
        if !inner.intake.is_limited() {
            return Ok(inner);
        }
        drop(inner);
        let Shared {
            scope,
            channel,
            limited,
            ..
        } = &*self.shared;
        let _turn = limited.lock().await;
        loop {
            let inner = self.running()?;
            let Err(wait) = inner.intake.take(&inner, scope, channel) else {
                return Ok(inner);
            };
            if self.is_stopped() {
                self.shared.not_taken.fetch_add(1, Ordering::SeqCst);
                pipeline::observed::turned_away(&inner, message, Refusal::RateLimited);
                let problem =
                    format!("the source of channel {channel} is to end, and over its limit");
                let kind = ErrorKind::Refused(Refusal::RateLimited);
                return Err(Error::new(kind, problem).retryable(true));
            }
            let sleep = inner.clock.sleep(wait.min(LONGEST_WAIT));
            drop(inner);
            select(sleep, pin!(self.stopped())).await;
        }
    }

    fn running(&self) -> Result<Arc<Inner>> {
        let inner = self.shared.inner.upgrade().ok_or_else(closed)?;
        if self.shared.over.load(Ordering::SeqCst) {
            let problem = format!("the source of channel {} has ended", self.shared.channel);
            return Err(Error::new(ErrorKind::SourceNotFound, problem));
        }
        Ok(inner)
    }

    /// Says that the connection is there. Listeners hear `source_connected`.
    pub fn connected(&self) {
        let Some(inner) = self.shared.inner.upgrade() else {
            return;
        };
        let was_connected = {
            let mut health = lock(&self.shared.health);
            health.connected_at = Some(inner.clock.now());
            health.error = None;
            std::mem::replace(&mut health.status, SourceStatus::Connected)
                == SourceStatus::Connected
        };
        if !was_connected {
            self.shared
                .tell(&inner, FrameworkEventType::SourceConnected, |_| {});
        }
    }

    /// Says that the connection is lost and being made again, where the source does that by itself.
    /// Listeners hear `source_disconnected`.
    pub fn reconnecting(&self, error: &Error) {
        if let Some(inner) = self.shared.inner.upgrade() {
            self.lost(&inner, SourceStatus::Reconnecting, Some(error.to_string()));
        }
    }

    pub(super) fn lost(&self, inner: &Inner, status: SourceStatus, error: Option<String>) {
        let was_connected = {
            let mut health = lock(&self.shared.health);
            health.error = error;
            std::mem::replace(&mut health.status, status) == SourceStatus::Connected
        };
        if was_connected {
            self.shared
                .tell(inner, FrameworkEventType::SourceDisconnected, |_| {});
        }
    }

    /// What emits protocol traces of the source's channel (RFC §15.6). Each message that is taken
    /// leaves a trace `source` in its room by itself.
    #[must_use]
    pub fn traces(&self) -> TraceEmitter {
        let Shared {
            inner,
            scope,
            channel,
            ..
        } = &*self.shared;
        TraceEmitter::new(Weak::clone(inner), scope.clone(), channel.clone())
    }

    /// Returns when the source is to end: it is being detached, or the kit is closing or gone.
    pub async fn stopped(&self) {
        self.shared.stopping().await;
    }

    /// Whether the source is to end.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopping()
    }

    /// The time of the kit's clock since some fixed moment; it never goes back.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        let inner = self.shared.inner.upgrade();
        inner.map_or(Duration::ZERO, |inner| inner.clock.elapsed())
    }

    /// Waits by the kit's clock, or until the kit is gone.
    pub async fn sleep(&self, duration: Duration) {
        let sleep = self
            .shared
            .inner
            .upgrade()
            .map(|inner| inner.clock.sleep(duration));
        if let Some(sleep) = sleep {
            sleep.await;
        }
    }
}

fn closed() -> Error {
    Error::new(ErrorKind::KitClosed, "the kit is closed")
}

impl fmt::Debug for SourceEmitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SourceEmitter")
            .field("channel", &self.shared.channel)
            .field("source", &self.shared.name)
            .finish_non_exhaustive()
    }
}
