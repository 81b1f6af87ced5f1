//! What collects spans and metrics: the trait, what it is given, and the one that collects nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};

use super::context::SpanContext;
use super::names::MetricKind;
use super::value::Attributes;

/// Collects what a kit tells of its work (RFC §15.7).
///
/// The kit calls it from one thread of its own, in the order of what happened, and never waits for it.
/// What it cannot keep up with is dropped and counted, a panic ends nothing but the call. So a
/// provider may block on a network; nothing that passes through the kit becomes slower or fails.
///
/// Every span has its ids before the provider hears of it. One that exports to OpenTelemetry makes its
/// spans with those, or exports what [`end_span`](Self::end_span) is given, which is all of it.
pub trait TelemetryProvider: Send + Sync + fmt::Debug + 'static {
    /// Names it in logs.
    fn name(&self) -> &str;

    /// Whether it does nothing; the kit then does nothing for it either. Default: no.
    fn is_noop(&self) -> bool {
        false
    }

    /// The span that the caller of a kit is in, where the provider's own library knows of it, and no
    /// [`SpanContext::scope`] says so. Called in the caller's thread for each span without a parent: it must not wait.
    /// Default: none, and the span begins a trace.
    fn ambient_parent(&self) -> Option<SpanContext> {
        None
    }

    /// A span began. Default: nothing; its end says it all.
    fn start_span(&self, _span: &SpanStart) {}

    /// A span ended. Under load its beginning may not have been heard of.
    fn end_span(&self, span: &SpanEnd);

    /// A number was measured.
    fn record_metric(&self, metric: &Metric);

    /// Something happened at one moment, in a span where it has a context. Default: nothing.
    fn record_event(&self, _event: &TelemetryEvent) {}

    /// What is buffered goes out now. Default: nothing is buffered.
    fn flush(&self) {}

    /// The kit is closed or gone: flush, and let go of connections. Nothing is called after it.
    fn close(&self) {
        self.flush();
    }
}

/// A span that has begun.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpanStart {
    /// What is being done: one of [`SpanName`](super::SpanName), or a name of another crate.
    pub name: &'static str,
    /// The span's own ids.
    pub context: SpanContext,
    /// The span that it is a part of, in this process or another.
    pub parent: Option<SpanContext>,
    /// When it began, by the kit's clock.
    pub started_at: DateTime<Utc>,
    /// What is known of it at its beginning.
    pub attributes: Attributes,
}

/// A span that has ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpanEnd {
    /// How it began.
    pub start: Arc<SpanStart>,
    /// How long it took, by the kit's clock.
    pub duration: Duration,
    /// How it ended.
    pub status: SpanStatus,
    /// All that is known of it, what was known at its beginning included.
    pub attributes: Attributes,
}

impl SpanEnd {
    /// When it ended: its beginning and its duration, also where the clock of the machine was set.
    #[must_use]
    pub fn ended_at(&self) -> DateTime<Utc> {
        let duration = chrono::Duration::from_std(self.duration).unwrap_or_default();
        self.start
            .started_at
            .checked_add_signed(duration)
            .unwrap_or(self.start.started_at)
    }
}

/// How a span ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SpanStatus {
    /// What was to be done is done.
    Ok,
    /// It failed; the attribute `error_code` says how.
    Error,
    /// It was given up before its end: its kit went away.
    Cancelled,
}

impl SpanStatus {
    /// The status as a word: `ok`, `error`, `cancelled`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for SpanStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A number that was measured.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Metric {
    /// What was measured: one of [`metric`](super::metric), or a name of another crate.
    pub name: &'static str,
    /// What the number is for.
    pub kind: MetricKind,
    /// The number.
    pub value: f64,
    /// Its unit, such as `ms`; empty for a count.
    pub unit: &'static str,
    /// What it is about.
    pub attributes: Attributes,
    /// The span in which it was measured.
    pub context: Option<SpanContext>,
}

/// Something that happened at one moment.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TelemetryEvent {
    /// What happened.
    pub name: &'static str,
    /// When, by the kit's clock.
    pub at: DateTime<Utc>,
    /// What is known of it.
    pub attributes: Attributes,
    /// The span in which it happened.
    pub context: Option<SpanContext>,
}

/// Collects nothing: a kit with it costs what a kit without a provider does.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoopTelemetryProvider;

impl TelemetryProvider for NoopTelemetryProvider {
    fn name(&self) -> &str {
        "noop"
    }

    fn is_noop(&self) -> bool {
        true
    }

    fn end_span(&self, _span: &SpanEnd) {}

    fn record_metric(&self, _metric: &Metric) {}
}
