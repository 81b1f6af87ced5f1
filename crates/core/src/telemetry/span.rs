//! Spans that are under way: in `tracing`, at the provider, in both, or in neither, which costs nothing.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};

use super::context::SpanContext;
use super::names::{METRICS, MetricKind, SpanName};
use super::provider::{Metric, SpanEnd, SpanStart, SpanStatus, TelemetryEvent};
use super::value::{AttributeValue, Attributes};
use super::worker::{Record, Shared, TelemetryStats};
use crate::clock::Clock;

/// Where the core's spans and metrics go.
#[derive(Debug, Clone)]
pub(crate) struct Spans {
    shared: Option<Arc<Shared>>,
    clock: Arc<dyn Clock>,
}

impl Spans {
    pub(crate) fn new(shared: Option<Arc<Shared>>, clock: Arc<dyn Clock>) -> Self {
        Self { shared, clock }
    }

    /// Whether anybody may look at spans of this name.
    #[inline]
    pub(crate) fn may_watch(&self, name: SpanName) -> bool {
        let level = name.level();
        self.shared.is_some() || (level <= STATIC_MAX_LEVEL && level <= LevelFilter::current())
    }

    /// Begins a span inside of the one that the task is in; `fill` is called where somebody looks on.
    #[inline]
    pub(crate) fn start(&self, name: SpanName, fill: impl FnOnce(&mut Open)) -> Span {
        if !self.may_watch(name) {
            return Span(None);
        }
        self.open(name, None, fill)
    }

    /// Begins a span inside of `parent`.
    #[inline]
    pub(crate) fn start_in(
        &self,
        parent: &Parent,
        name: SpanName,
        fill: impl FnOnce(&mut Open),
    ) -> Span {
        if !self.may_watch(name) {
            return Span(None);
        }
        self.open(name, parent.0.as_deref(), fill)
    }

    #[cold]
    fn open(&self, name: SpanName, parent: Option<&Ids>, fill: impl FnOnce(&mut Open)) -> Span {
        // The parent's own span may be one that nobody listens to; then the one entered is it.
        let above = parent.map(|parent| &parent.tracing);
        let tracing = name.open(above.filter(|span| !span.is_disabled()));
        if tracing.is_disabled() && self.shared.is_none() {
            return Span(None);
        }
        let mut open = Open {
            began: self.clock.elapsed(),
            clock: Arc::clone(&self.clock),
            tracing,
            provided: None,
            attributes: Attributes::new(),
            ended: false,
        };
        fill(&mut open);
        if let Some(shared) = &self.shared {
            let parent = parent.and_then(|parent| parent.context.as_ref());
            let attributes = std::mem::take(&mut open.attributes);
            open.provided = Some(Provided::begin(shared, name.as_str(), parent, attributes));
        }
        Span(Some(Box::new(open)))
    }

    /// Records one of the core's metrics; `fill` is called where there is a provider.
    #[inline]
    pub(crate) fn metric(
        &self,
        name: &'static str,
        value: f64,
        fill: impl FnOnce(&mut Attributes),
    ) {
        if let Some(shared) = &self.shared {
            let mut attributes = Attributes::new();
            fill(&mut attributes);
            let known = METRICS.iter().find(|(other, _, _)| *other == name);
            let (kind, unit) =
                known.map_or((MetricKind::Counter, ""), |(_, kind, unit)| (*kind, *unit));
            record_metric(shared, name, kind, value, unit, attributes);
        }
    }

    /// Whether there is a provider.
    pub(crate) fn has_provider(&self) -> bool {
        self.shared.is_some()
    }

    /// Tells the provider that there is nothing more to come, and waits until it has ended.
    pub(crate) async fn close(&self) {
        if let Some(shared) = &self.shared {
            shared.close().await;
        }
    }

    pub(crate) fn handle(&self) -> Telemetry {
        Telemetry(self.shared.as_ref().map(Arc::downgrade))
    }
}

fn record_metric(
    shared: &Shared,
    name: &'static str,
    kind: MetricKind,
    value: f64,
    unit: &'static str,
    attributes: Attributes,
) {
    shared.tell(Record::Metric(Box::new(Metric {
        name,
        kind,
        value,
        unit,
        attributes,
        context: SpanContext::current(),
    })));
}

/// A span that is under way; nothing where nobody looks on. Dropped before its end, it was cancelled.
#[derive(Default)]
pub(crate) struct Span(Option<Box<Open>>);

/// What other tasks begin spans in: a span, which may be over by then.
#[derive(Default)]
pub(crate) struct Parent(Option<Box<Ids>>);

struct Ids {
    tracing: tracing::Span,
    context: Option<SpanContext>,
    began: Duration,
}

impl Parent {
    /// Whether somebody looks on.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// When the span began, by the kit's clock; `None` where nobody looks on.
    pub(crate) fn began(&self) -> Option<Duration> {
        self.0.as_ref().map(|ids| ids.began)
    }
}

/// A span of which somebody wants to know.
pub(crate) struct Open {
    tracing: tracing::Span,
    provided: Option<Provided>,
    /// Of a span that the provider has not heard of yet.
    attributes: Attributes,
    clock: Arc<dyn Clock>,
    began: Duration,
    ended: bool,
}

impl Span {
    /// A span that nobody looks at.
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    /// The span, where somebody looks on.
    #[inline]
    pub(crate) fn open(&mut self) -> Option<&mut Open> {
        self.0.as_deref_mut()
    }

    /// Whether somebody looks on.
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// The span for others to begin theirs in.
    #[inline]
    pub(crate) fn as_parent(&self) -> Parent {
        let ids = self.0.as_ref().map(|open| {
            Box::new(Ids {
                tracing: open.tracing.clone(),
                context: open.context().cloned(),
                began: open.began,
            })
        });
        Parent(ids)
    }

    /// Polls a future inside of the span. It is pinned by the caller, so that it is not stored twice.
    pub(crate) fn run<'a, F: Future>(&'a self, future: Pin<&'a mut F>) -> InSpan<'a, F> {
        InSpan { span: self, future }
    }

    /// Calls something inside of the span.
    #[inline]
    pub(crate) fn enter<T>(&self, call: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => call(),
            Some(open) => open.enter(call),
        }
    }

    /// Ends the span: what was to be done is done.
    #[inline]
    pub(crate) fn end(self) {
        if let Some(open) = self.0 {
            open.end(SpanStatus::Ok);
        }
    }

    /// Ends the span: it failed, with the code of an error.
    #[inline]
    pub(crate) fn fail(self, code: &str) {
        if let Some(mut open) = self.0 {
            open.set("error_code", code);
            open.end(SpanStatus::Error);
        }
    }

    /// Ends the span with what came of a call.
    #[inline]
    pub(crate) fn end_with<T>(self, result: &crate::error::Result<T>) {
        match result {
            Ok(_) => self.end(),
            Err(error) => self.fail(error.code()),
        }
    }
}

impl Open {
    /// Sets a field of the span, which is one of its name's [`fields`](SpanName::fields).
    pub(crate) fn set(&mut self, field: &'static str, value: impl Into<AttributeValue>) {
        let value = value.into();
        match &value {
            AttributeValue::Text(text) => self.tracing.record(field, &**text),
            AttributeValue::Bool(value) => self.tracing.record(field, value),
            AttributeValue::Int(value) => self.tracing.record(field, value),
            AttributeValue::Float(value) => self.tracing.record(field, value),
        };
        match &mut self.provided {
            Some(provided) => provided.attributes.set(field, value),
            None => self.attributes.set(field, value),
        }
    }

    /// As [`set`](Self::set), where there is something to say.
    pub(crate) fn set_some<V: Into<AttributeValue>>(
        &mut self,
        field: &'static str,
        value: Option<V>,
    ) {
        if let Some(value) = value {
            self.set(field, value);
        }
    }

    /// How long it has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.clock.elapsed().saturating_sub(self.began)
    }

    fn context(&self) -> Option<&SpanContext> {
        self.provided
            .as_ref()
            .map(|provided| &provided.start.context)
    }

    fn enter<T>(&self, call: impl FnOnce() -> T) -> T {
        let _entered = self.tracing.enter();
        match self.context() {
            None => call(),
            Some(context) => context.enter(call),
        }
    }

    fn end(mut self, status: SpanStatus) {
        self.finish(status);
    }

    fn finish(&mut self, status: SpanStatus) {
        if std::mem::replace(&mut self.ended, true) {
            return;
        }
        let duration = self.elapsed();
        self.tracing.record("status", status.as_str());
        self.tracing.record("latency_ms", millis(duration));
        if let Some(provided) = self.provided.take() {
            provided.end(duration, status);
        }
    }
}

/// A duration as the figures of spans and metrics give it.
pub(crate) fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

impl Drop for Open {
    fn drop(&mut self) {
        self.finish(SpanStatus::Cancelled);
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let context = self.0.as_ref().and_then(|open| open.context());
        f.debug_tuple("Span").field(&context).finish()
    }
}

/// A future that is polled inside of a span.
pub(crate) struct InSpan<'a, F> {
    span: &'a Span,
    future: Pin<&'a mut F>,
}

impl<F: Future> Future for InSpan<'_, F> {
    type Output = F::Output;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        match &this.span.0 {
            None => this.future.as_mut().poll(cx),
            Some(open) => open.enter(|| this.future.as_mut().poll(cx)),
        }
    }
}

/// A span at the provider.
struct Provided {
    shared: Arc<Shared>,
    start: Arc<SpanStart>,
    attributes: Attributes,
}

impl Provided {
    fn begin(
        shared: &Arc<Shared>,
        name: &'static str,
        parent: Option<&SpanContext>,
        attributes: Attributes,
    ) -> Self {
        let parent = parent
            .cloned()
            .or_else(SpanContext::current)
            .or_else(|| shared.ambient_parent());
        let start = Arc::new(SpanStart {
            name,
            context: shared.context(parent.as_ref()),
            parent,
            started_at: shared.clock.now(),
            attributes: attributes.clone(),
        });
        if start.context.is_sampled() {
            shared.tell(Record::Start(Arc::clone(&start)));
        }
        Self {
            shared: Arc::clone(shared),
            start,
            attributes,
        }
    }

    fn end(self, duration: Duration, status: SpanStatus) {
        if self.start.context.is_sampled() {
            self.shared.tell(Record::End(Box::new(SpanEnd {
                start: self.start,
                duration,
                status,
                attributes: self.attributes,
            })));
        }
    }
}

/// The telemetry of a kit, for channels, agents and providers that make spans and metrics of their own.
/// It does nothing where the kit has no provider, or is gone.
#[derive(Debug, Clone, Default)]
pub struct Telemetry(Option<Weak<Shared>>);

impl Telemetry {
    fn shared(&self) -> Option<Arc<Shared>> {
        self.0.as_ref()?.upgrade()
    }

    /// Whether there is a provider.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.0.is_some()
    }

    /// Begins a span inside of the one that the task is in, such as a channel's delivery.
    #[must_use = "a span that is dropped is over"]
    pub fn start_span(&self, name: &'static str, attributes: Attributes) -> TelemetrySpan {
        let live = self.shared().map(|shared| {
            let began = shared.clock.elapsed();
            let provided = Provided::begin(&shared, name, None, attributes);
            Box::new(Live { provided, began })
        });
        TelemetrySpan(live)
    }

    /// Records a number.
    pub fn record_metric(
        &self,
        name: &'static str,
        kind: MetricKind,
        value: f64,
        unit: &'static str,
        attributes: Attributes,
    ) {
        if let Some(shared) = self.shared() {
            record_metric(&shared, name, kind, value, unit, attributes);
        }
    }

    /// Records that something happened, in the span that the task is in.
    pub fn record_event(&self, name: &'static str, attributes: Attributes) {
        if let Some(shared) = self.shared() {
            shared.tell(Record::Event(Box::new(TelemetryEvent {
                name,
                at: shared.clock.now(),
                attributes,
                context: SpanContext::current(),
            })));
        }
    }

    /// How the provider keeps up.
    #[must_use]
    pub fn stats(&self) -> TelemetryStats {
        self.shared()
            .map(|shared| shared.stats())
            .unwrap_or_default()
    }

    /// Returns when the provider was told of all that happened so far, and has flushed it.
    pub async fn flush(&self) {
        if let Some(shared) = self.shared() {
            shared.flush().await;
        }
    }
}

/// A span of another crate that is under way; one that is dropped without an end was cancelled.
#[derive(Default)]
pub struct TelemetrySpan(Option<Box<Live>>);

struct Live {
    provided: Provided,
    began: Duration,
}

impl TelemetrySpan {
    /// The span as others know it; `None` where there is no provider.
    #[must_use]
    pub fn context(&self) -> Option<&SpanContext> {
        self.0.as_ref().map(|live| &live.provided.start.context)
    }

    /// Sets an attribute.
    pub fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        if let Some(live) = &mut self.0 {
            live.provided.attributes.set(name, value);
        }
    }

    /// Runs a future inside of the span: what it begins are children of it.
    pub async fn run<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        match self.context() {
            None => future.await,
            Some(context) => {
                std::future::poll_fn(|cx| context.enter(|| future.as_mut().poll(cx))).await
            }
        }
    }

    /// Ends it: what was to be done is done.
    pub fn end(mut self) {
        self.finish(SpanStatus::Ok);
    }

    /// Ends it: it failed, with the code of an error.
    pub fn fail(mut self, code: &str) {
        self.set("error_code", code);
        self.finish(SpanStatus::Error);
    }

    fn finish(&mut self, status: SpanStatus) {
        if let Some(live) = self.0.take() {
            let Live { provided, began } = *live;
            let duration = provided.shared.clock.elapsed().saturating_sub(began);
            provided.end(duration, status);
        }
    }
}

impl Drop for TelemetrySpan {
    fn drop(&mut self) {
        self.finish(SpanStatus::Cancelled);
    }
}

impl fmt::Debug for TelemetrySpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TelemetrySpan")
            .field(&self.context())
            .finish()
    }
}
