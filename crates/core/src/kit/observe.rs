//! What is seen of a kit from outside: the builder's settings of telemetry, logs, traces and payloads.
//!
//! Its rules: RFC §15.2, §15.6, §15.7 and §17.3.

use std::sync::Arc;

use super::RoomKitBuilder;
use crate::clock::Clock;
use crate::error::{Error, ErrorKind, Result};
use crate::redaction::{RawPayload, Redaction};
use crate::telemetry::{LogContent, Shared, TelemetryProvider};
use crate::trace::TraceLimits;

/// The settings of what is seen.
#[derive(Debug, Clone)]
pub(super) struct Observe {
    provider: Option<Arc<dyn TelemetryProvider>>,
    sample_rate: f64,
    queue: usize,
    pub(super) log_content: LogContent,
    pub(super) trace_limits: TraceLimits,
    pub(super) trace_redaction: Redaction,
}

impl Default for Observe {
    fn default() -> Self {
        Self {
            provider: None,
            sample_rate: 1.0,
            queue: 8_192,
            log_content: LogContent::default(),
            trace_limits: TraceLimits::default(),
            trace_redaction: Redaction::default(),
        }
    }
}

impl Observe {
    pub(super) fn validate(&self) -> Result<()> {
        let problem = if !(0.0..=1.0).contains(&self.sample_rate) {
            "telemetry_sample_rate: must be between 0 and 1"
        } else if self.queue == 0 {
            "telemetry_queue: must be at least 1"
        } else {
            return self.trace_limits.validate();
        };
        Err(Error::new(ErrorKind::InvalidInput, problem))
    }

    /// Starts the provider, where there is one that does something.
    pub(super) fn start(&self, clock: &Arc<dyn Clock>) -> Result<Option<Arc<Shared>>> {
        let provider = self
            .provider
            .as_ref()
            .filter(|provider| !provider.is_noop());
        provider
            .map(|provider| {
                let (provider, clock) = (Arc::clone(provider), Arc::clone(clock));
                Shared::start(provider, clock, self.queue, self.sample_rate)
            })
            .transpose()
    }
}

impl RoomKitBuilder {
    /// What collects spans and metrics (RFC §15.7). Default: nothing, which is what a
    /// [`NoopTelemetryProvider`](crate::telemetry::NoopTelemetryProvider) does too.
    ///
    /// A thread of the kit's calls it; it ends when the kit is closed or gone.
    pub fn telemetry(mut self, provider: Arc<dyn TelemetryProvider>) -> Self {
        self.observe.provider = Some(provider);
        self
    }

    /// Of which part of all traces the provider is told, from 0 to 1; a trace is told whole or not at
    /// all, and one that came from outside as its origin says. Metrics are told in any case. Default: 1.
    pub fn telemetry_sample_rate(mut self, rate: f64) -> Self {
        self.observe.sample_rate = rate;
        self
    }

    /// How much may wait for the provider, in beginnings and ends of spans, metrics and events; more is
    /// dropped and [counted](crate::telemetry::Telemetry::stats). Default: 8,192, some 4 MB; at least 1.
    pub fn telemetry_queue(mut self, records: usize) -> Self {
        self.observe.queue = records;
        self
    }

    /// Writes what people and agents say into the logs: the texts and raw payloads of events at level
    /// DEBUG, and the words of errors that may repeat them (RFC §15.2). For debugging, never where
    /// people are promised that their words are not logged. Default: off; then ids, codes and counts
    /// are all that is logged. Spans and metrics never have any of it.
    pub fn log_content(mut self) -> Self {
        self.observe.log_content = LogContent(true);
        self
    }

    /// What becomes of providers' raw payloads before hooks see an event and the store keeps it
    /// (RFC §17.3). Default: kept as they came, [`RawPayload::Keep`].
    pub fn raw_payload(mut self, policy: RawPayload) -> Self {
        self.settings.raw_payload = policy;
        self
    }

    /// How many protocol traces wait for their room, and how long (RFC §15.6). Default: those of
    /// [`TraceLimits`].
    pub fn trace_limits(mut self, limits: TraceLimits) -> Self {
        self.observe.trace_limits = limits;
        self
    }

    /// What is taken out of protocol traces before anybody gets them. Default: what authenticates, as
    /// [`Redaction::default`] says.
    pub fn trace_redaction(mut self, redaction: Redaction) -> Self {
        self.observe.trace_redaction = redaction;
        self
    }
}
