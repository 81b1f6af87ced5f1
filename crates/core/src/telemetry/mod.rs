//! Telemetry: spans, metrics and logs about what a kit does (RFC §15), without what is said in it.
//!
//! A kit makes [spans](SpanName) for `tracing`, where a subscriber listens, and for a
//! [`TelemetryProvider`], where [the builder](crate::RoomKitBuilder::telemetry) was given one. Without
//! either they cost a comparison each. A span carries ids, codes and numbers; no text, no address and
//! no payload is in any of them.
//!
//! ```
//! use std::sync::Arc;
//!
//! use roomkit_core::RoomKit;
//! use roomkit_core::telemetry::ConsoleTelemetryProvider;
//!
//! let kit = RoomKit::builder()
//!     .telemetry(Arc::new(ConsoleTelemetryProvider::new()))
//!     .build()?;
//! # Ok::<_, roomkit_core::Error>(())
//! ```
//!
//! A trace crosses a kit from end to end: [`SpanContext::scope`] makes a message part of the request
//! that brought it, and [`SpanContext::current`] is what a channel gives on to the service that it calls.

mod console;
mod content;
mod context;
mod names;
mod provider;
mod span;
mod value;
mod worker;

pub use console::ConsoleTelemetryProvider;
pub(crate) use content::{LogContent, REDACTED, Shown};
pub use context::SpanContext;
pub use names::{METRICS, MetricKind, SpanName, TARGET, metric, span_name};
pub use provider::{
    Metric, NoopTelemetryProvider, SpanEnd, SpanStart, SpanStatus, TelemetryEvent,
    TelemetryProvider,
};
pub(crate) use span::{Parent, Span, Spans, millis};
pub use span::{Telemetry, TelemetrySpan};
pub use value::{AttributeValue, Attributes};
pub(crate) use worker::Shared;
pub use worker::TelemetryStats;
