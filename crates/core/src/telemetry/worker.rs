//! The thread that calls the provider: what happens is queued without waiting, and dropped where the
//! queue is full.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::select;
use tokio::sync::{oneshot, watch};

use super::context::{Ids, SpanContext};
use super::provider::{Metric, SpanEnd, SpanStart, TelemetryEvent, TelemetryProvider};
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::lock;
use crate::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// What the provider is to be told.
pub(super) enum Record {
    Start(Arc<SpanStart>),
    End(Box<SpanEnd>),
    Metric(Box<Metric>),
    Event(Box<TelemetryEvent>),
    /// Nothing; something else than the queue is to be looked at.
    Wake,
}

/// What a kit, its spans and its worker share of a provider.
pub(crate) struct Shared {
    pub(super) provider: Arc<dyn TelemetryProvider>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) ids: Ids,
    /// Of how many traces out of 2⁶⁴ there are records.
    sampled_below: Option<u64>,
    sender: SyncSender<Record>,
    control: Arc<Control>,
    ended: watch::Receiver<()>,
}

/// What is said to the worker and by it beside the queue.
#[derive(Default)]
struct Control {
    closing: AtomicBool,
    flushes: Mutex<Vec<oneshot::Sender<()>>>,
    dropped: AtomicU64,
    panicked: AtomicU64,
}

/// How a provider kept up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TelemetryStats {
    /// Beginnings and ends of spans, metrics and events that the provider was not told of, because too
    /// much was waiting.
    pub dropped: u64,
    /// Calls in which the provider panicked.
    pub panicked: u64,
}

impl Shared {
    /// Starts the thread of a provider.
    pub(crate) fn start(
        provider: Arc<dyn TelemetryProvider>,
        clock: Arc<dyn Clock>,
        capacity: usize,
        sample_rate: f64,
    ) -> Result<Arc<Self>> {
        let (sender, receiver) = sync_channel(capacity);
        let control = Arc::new(Control::default());
        let (alive, ended) = watch::channel(());
        let worker = Worker {
            provider: Arc::clone(&provider),
            receiver,
            control: Arc::clone(&control),
            capacity,
        };
        std::thread::Builder::new()
            .name("roomkit-telemetry".to_owned())
            .spawn(move || {
                worker.run();
                drop(alive);
            })
            .map_err(|error| {
                Error::new(ErrorKind::ProviderFailed, "telemetry: no thread for it")
                    .with_source(error)
            })?;
        Ok(Arc::new(Self {
            provider,
            clock,
            ids: Ids::new(),
            sampled_below: (sample_rate < 1.0).then(|| threshold(sample_rate)),
            sender,
            control,
            ended,
        }))
    }

    /// Queues a record; never waits.
    pub(super) fn tell(&self, record: Record) {
        if let Err(TrySendError::Full(_)) = self.sender.try_send(record) {
            self.control.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The span of something new, below its parent or as the first of a trace.
    pub(super) fn context(&self, parent: Option<&SpanContext>) -> SpanContext {
        match parent {
            Some(parent) => parent.child(&self.ids),
            None => {
                let is_sampled = |id| self.sampled_below.is_none_or(|below| id < below);
                self.ids.root(is_sampled)
            }
        }
    }

    /// What the provider's own library knows of the caller.
    pub(super) fn ambient_parent(&self) -> Option<SpanContext> {
        let parent = catch_unwind(AssertUnwindSafe(|| self.provider.ambient_parent()));
        parent.unwrap_or_else(|_panic| {
            self.control.panicked.fetch_add(1, Ordering::Relaxed);
            None
        })
    }

    pub(super) fn stats(&self) -> TelemetryStats {
        TelemetryStats {
            dropped: self.control.dropped.load(Ordering::Relaxed),
            panicked: self.control.panicked.load(Ordering::Relaxed),
        }
    }

    /// Returns when the provider was told of all that was queued, and has flushed.
    pub(super) async fn flush(&self) {
        let (sender, flushed) = oneshot::channel();
        lock(&self.control.flushes).push(sender);
        // A queue that is full wakes the worker by itself.
        let _ = self.sender.try_send(Record::Wake);
        // Nobody answers where the worker has ended, and there is nothing to flush.
        let mut ended = self.ended.clone();
        let ended = async move { while ended.changed().await.is_ok() {} };
        select(flushed, pin!(ended)).await;
    }

    /// As [`flush`](Self::flush), and ends the worker.
    pub(super) async fn close(&self) {
        self.control.closing.store(true, Ordering::Release);
        let _ = self.sender.try_send(Record::Wake);
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }
}

/// The part of all ids below which a trace is recorded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of all ids; which of them lies on its edge does not matter"
)]
fn threshold(rate: f64) -> u64 {
    (rate.clamp(0.0, 1.0) * 18_446_744_073_709_551_616.0) as u64
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("stats", &self.stats())
            .finish_non_exhaustive()
    }
}

/// Calls the provider until the kit is closed or gone.
struct Worker {
    provider: Arc<dyn TelemetryProvider>,
    receiver: Receiver<Record>,
    control: Arc<Control>,
    capacity: usize,
}

impl Worker {
    fn run(self) {
        while let Ok(record) = self.receiver.recv() {
            self.handle(record);
            if self.attend() {
                break;
            }
        }
        self.guard(|| self.provider.close());
        lock(&self.control.flushes).clear();
    }

    fn handle(&self, record: Record) {
        self.guard(|| match record {
            Record::Start(start) => self.provider.start_span(&start),
            Record::End(end) => self.provider.end_span(&end),
            Record::Metric(metric) => self.provider.record_metric(&metric),
            Record::Event(event) => self.provider.record_event(&event),
            Record::Wake => {}
        });
    }

    /// Flushes where somebody waits for that; `true` when this was the end.
    fn attend(&self) -> bool {
        let closing = self.control.closing.load(Ordering::Acquire);
        let flushes = std::mem::take(&mut *lock(&self.control.flushes));
        if flushes.is_empty() && !closing {
            return false;
        }
        // What was queued before they asked is among the next so many.
        for _ in 0..self.capacity {
            let Ok(record) = self.receiver.try_recv() else {
                break;
            };
            self.handle(record);
        }
        if !flushes.is_empty() {
            self.guard(|| self.provider.flush());
        }
        for flush in flushes {
            // Who waited may have gone.
            let _ = flush.send(());
        }
        closing
    }

    /// Calls the provider, whose panic ends the call alone.
    fn guard(&self, call: impl FnOnce()) {
        if catch_unwind(AssertUnwindSafe(call)).is_err()
            && self.control.panicked.fetch_add(1, Ordering::Relaxed) == 0
        {
            tracing::error!("telemetry provider panicked; further panics are counted alone");
        }
    }
}
