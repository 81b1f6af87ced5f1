//! A provider that prints, for development.

use std::fmt;
use std::io::Write;

use super::provider::{Metric, SpanEnd, SpanStart, TelemetryEvent, TelemetryProvider};
use super::value::Attributes;
use crate::sync::{Mutex, lock};

/// Prints a line for every span that begins or ends and for every metric and event.
pub struct ConsoleTelemetryProvider {
    out: Mutex<Box<dyn Write + Send>>,
}

impl ConsoleTelemetryProvider {
    /// Prints to the standard error stream.
    #[must_use]
    pub fn new() -> Self {
        Self::to(std::io::stderr())
    }

    /// Prints to `out`. What cannot be printed is left out.
    pub fn to(out: impl Write + Send + 'static) -> Self {
        Self {
            out: Mutex::new(Box::new(out)),
        }
    }

    fn print(&self, line: fmt::Arguments<'_>) {
        // Nobody is there to be told that the console is gone.
        let _ = writeln!(lock(&self.out), "{line}");
    }
}

impl Default for ConsoleTelemetryProvider {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ConsoleTelemetryProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConsoleTelemetryProvider")
            .finish_non_exhaustive()
    }
}

struct Shown<'a>(&'a Attributes);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(name, value)| write!(f, " {name}={value}"))
    }
}

impl TelemetryProvider for ConsoleTelemetryProvider {
    fn name(&self) -> &str {
        "console"
    }

    fn start_span(&self, span: &SpanStart) {
        let SpanStart {
            name,
            context,
            parent,
            attributes,
            ..
        } = span;
        let shown = Shown(attributes);
        match parent {
            None => self.print(format_args!(
                "begin {name} {:016x}{shown}",
                context.span_id()
            )),
            Some(parent) => self.print(format_args!(
                "begin {name} {:016x} in {:016x}{shown}",
                context.span_id(),
                parent.span_id()
            )),
        }
    }

    fn end_span(&self, span: &SpanEnd) {
        let SpanEnd {
            start,
            duration,
            status,
            attributes,
        } = span;
        self.print(format_args!(
            "end {} {:016x} {status} {:.3} ms{}",
            start.name,
            start.context.span_id(),
            duration.as_secs_f64() * 1e3,
            Shown(attributes)
        ));
    }

    fn record_metric(&self, metric: &Metric) {
        let Metric {
            name,
            value,
            unit,
            attributes,
            ..
        } = metric;
        self.print(format_args!(
            "metric {name} {value:.3} {unit}{}",
            Shown(attributes)
        ));
    }

    fn record_event(&self, event: &TelemetryEvent) {
        self.print(format_args!(
            "event {}{}",
            event.name,
            Shown(&event.attributes)
        ));
    }

    fn flush(&self) {
        let _ = lock(&self.out).flush();
    }
}
