//! Which span something belongs to: its ids, across tasks, channels and processes.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use uuid::Uuid;

use crate::sync::atomic::{AtomicU64, Ordering};

tokio::task_local! {
    static CURRENT: SpanContext;
}

/// The longest `tracestate` that is carried on, in bytes (W3C Trace Context).
const LONGEST_STATE: usize = 512;

/// A span as others know it: what a child names as its parent, and what goes over a wire, in the form
/// of W3C Trace Context (`traceparent` and `tracestate`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SpanContext {
    trace_id: u128,
    span_id: u64,
    sampled: bool,
    state: Option<Arc<str>>,
}

impl SpanContext {
    /// A span with these ids; `None` where one of them is zero, which no span has.
    #[must_use]
    pub fn new(trace_id: u128, span_id: u64, sampled: bool) -> Option<Self> {
        (trace_id != 0 && span_id != 0).then_some(Self {
            trace_id,
            span_id,
            sampled,
            state: None,
        })
    }

    /// Reads a `traceparent`, such as a request of HTTP carries; `None` where it is not one.
    ///
    /// ```
    /// use roomkit_core::telemetry::SpanContext;
    ///
    /// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    /// let context = SpanContext::from_traceparent(header).unwrap();
    /// assert!(context.is_sampled());
    /// assert_eq!(context.traceparent(), header);
    /// ```
    #[must_use]
    pub fn from_traceparent(header: &str) -> Option<Self> {
        let mut parts = header.trim().split('-');
        let (version, trace, span, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let lengths = [version, trace, span, flags].map(str::len);
        let is_hex = |text: &str| {
            text.bytes()
                .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
        };
        let is_form = lengths == [2, 32, 16, 2]
            && [version, trace, span, flags].into_iter().all(is_hex)
            && version != "ff"
            // What version 00 has is all that it has.
            && (version != "00" || parts.next().is_none());
        if !is_form {
            return None;
        }
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Self::new(
            u128::from_str_radix(trace, 16).ok()?,
            u64::from_str_radix(span, 16).ok()?,
            flags & 1 == 1,
        )
    }

    /// The same with the `tracestate` that came with it; one of more than 512 bytes is left out.
    #[must_use]
    pub fn with_tracestate(mut self, state: &str) -> Self {
        let fits = !state.is_empty() && state.len() <= LONGEST_STATE;
        self.state = fits.then(|| Arc::from(state));
        self
    }

    /// The trace that the span belongs to.
    #[must_use]
    pub fn trace_id(&self) -> u128 {
        self.trace_id
    }

    /// The span.
    #[must_use]
    pub fn span_id(&self) -> u64 {
        self.span_id
    }

    /// Whether the trace is recorded.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.sampled
    }

    /// What vendors of tracing carry along with it.
    #[must_use]
    pub fn tracestate(&self) -> Option<&str> {
        self.state.as_deref()
    }

    /// The header `traceparent`, for a request to another service.
    #[must_use]
    pub fn traceparent(&self) -> String {
        let flags = u8::from(self.sampled);
        format!(
            "00-{:032x}-{:016x}-{flags:02x}",
            self.trace_id, self.span_id
        )
    }

    /// The span that the running task is in; `None` outside of every span, and without a provider.
    ///
    /// A channel that sends a request gives it on; code of the application makes its own spans
    /// children of it.
    #[must_use]
    pub fn current() -> Option<Self> {
        CURRENT.try_with(Self::clone).ok()
    }

    /// Runs `future` inside of this span: what a kit does there becomes a part of its trace. So a
    /// server makes the messages of a request part of the request's trace.
    pub fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        CURRENT.scope(self, future)
    }

    /// Calls `call` inside of this span.
    pub(super) fn enter<T>(&self, call: impl FnOnce() -> T) -> T {
        CURRENT.sync_scope(self.clone(), call)
    }

    pub(super) fn child(&self, ids: &Ids) -> Self {
        Self {
            span_id: ids.next(),
            ..self.clone()
        }
    }
}

impl fmt::Display for SpanContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}/{:016x}", self.trace_id, self.span_id)
    }
}

/// Ids of traces and spans that no other kit gives: a sequence from a random place, mixed.
#[derive(Debug)]
pub(super) struct Ids(AtomicU64);

impl Ids {
    pub(super) fn new() -> Self {
        let (_, random) = Uuid::now_v7().as_u64_pair();
        Self(AtomicU64::new(random))
    }

    /// The next id; never zero.
    pub(super) fn next(&self) -> u64 {
        loop {
            let mut x = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^= x >> 31;
            if x != 0 {
                return x;
            }
        }
    }

    /// The first span of a new trace.
    pub(super) fn root(&self, sampled: impl FnOnce(u64) -> bool) -> SpanContext {
        let (high, low) = (self.next(), self.next());
        SpanContext {
            trace_id: (u128::from(high) << 64) | u128::from(low),
            span_id: self.next(),
            sampled: sampled(low),
            state: None,
        }
    }
}
