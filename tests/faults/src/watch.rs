//! A telemetry provider that looks on: it keeps which spans began and which ended.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use roomkit_core::telemetry::{Metric, SpanEnd, SpanStart, TelemetryProvider};
use tokio::sync::Notify;

/// The provider; a clone is the same one.
#[derive(Debug, Clone, Default)]
pub(crate) struct Watcher {
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    spans: Mutex<BTreeMap<String, Times>>,
    closed: Notify,
}

/// How often a span began and ended.
#[derive(Debug, Default, Clone, Copy)]
struct Times {
    name: &'static str,
    began: usize,
    ended: usize,
}

impl Watcher {
    fn spans(&self) -> MutexGuard<'_, BTreeMap<String, Times>> {
        let spans = &self.seen.spans;
        spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns once the kit has no more to tell. Its thread works in time of its own, not in the kit's.
    pub(crate) async fn wait_closed(&self) {
        self.seen.closed.notified().await;
    }

    /// How many spans ended.
    pub(crate) fn ended(&self) -> usize {
        self.spans().values().map(|times| times.ended).sum()
    }

    /// What is wrong with what it was told.
    pub(crate) fn problems(&self) -> Vec<String> {
        let spans = self.spans();
        let wrong = spans.values().filter(|it| (it.began, it.ended) != (1, 1));
        wrong
            .map(|it| {
                let Times { name, began, ended } = it;
                format!("a span {name} began {began} times and ended {ended} times")
            })
            .collect()
    }

    fn note(&self, span: &SpanStart, note: impl FnOnce(&mut Times)) {
        let mut spans = self.spans();
        let times = spans.entry(format!("{:?}", span.context)).or_default();
        times.name = span.name;
        note(times);
    }
}

impl TelemetryProvider for Watcher {
    fn name(&self) -> &str {
        "watcher"
    }

    fn start_span(&self, span: &SpanStart) {
        self.note(span, |times| times.began += 1);
    }

    fn end_span(&self, span: &SpanEnd) {
        self.note(&span.start, |times| times.ended += 1);
    }

    fn record_metric(&self, _metric: &Metric) {}

    fn close(&self) {
        self.seen.closed.notify_one();
    }
}
