//! Flow to providers: the circuit breaker of each channel and the rate of each binding.
//!
//! Its rules: RFC §13.1 and §13.3.

use std::collections::HashMap;
use std::time::Duration;

use super::Inner;
use crate::model::{ChannelBinding, ChannelId, DeliveryOutcome, FrameworkEventType, RateLimit};
use crate::pipeline::LaneKey;
use crate::resilience::{BreakerTransition, CircuitBreaker, TokenBucket};
use crate::sync::Mutex;
use crate::sync::lock;

/// How many buckets are kept, at least, before the full ones are forgotten.
const MOST_BUCKETS: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct FlowControl {
    /// Only channels whose last delivery failed have one.
    breakers: Mutex<HashMap<ChannelId, CircuitBreaker>>,
    buckets: Mutex<Buckets>,
}

#[derive(Debug, Default)]
struct Buckets {
    by_lane: HashMap<LaneKey, Bucket>,
    /// At how many the full ones are looked for next; it grows with those that are not.
    sweep_at: usize,
}

impl Buckets {
    /// Forgets full buckets now and then, so that each call bears a constant part of it.
    fn sweep(&mut self, now: Duration) {
        if self.by_lane.len() >= self.sweep_at.max(MOST_BUCKETS) {
            self.by_lane.retain(|_, bucket| !bucket.tokens.is_full(now));
            self.sweep_at = self.by_lane.len().saturating_mul(2);
        }
    }
}

/// The tokens of one binding, and the limit that they are counted for.
#[derive(Debug)]
struct Bucket {
    limit: RateLimit,
    tokens: TokenBucket,
}

impl Bucket {
    fn new(limit: &RateLimit, now: Duration) -> Self {
        Self {
            limit: limit.clone(),
            tokens: TokenBucket::new(limit, now),
        }
    }
}

impl FlowControl {
    /// Waits until the binding's rate lets one more delivery pass.
    pub(crate) async fn wait_for_rate(&self, inner: &Inner, binding: &ChannelBinding) {
        let Some(limit) = &binding.rate_limit else {
            return;
        };
        loop {
            let now = inner.clock.elapsed();
            let taken = {
                let mut buckets = lock(&self.buckets);
                buckets.sweep(now);
                let key = (binding.room_id.clone(), binding.channel_id.clone());
                let bucket = buckets
                    .by_lane
                    .entry(key)
                    .or_insert_with(|| Bucket::new(limit, now));
                if bucket.limit != *limit {
                    *bucket = Bucket::new(limit, now);
                }
                bucket.tokens.take(now)
            };
            let Err(wait) = taken else { return };
            inner.clock.sleep(wait).await;
        }
    }

    /// Whether the channel's breaker lets a delivery be tried.
    pub(crate) fn allow(&self, inner: &Inner, channel: &ChannelId) -> bool {
        let mut breakers = lock(&self.breakers);
        breakers
            .get_mut(channel)
            .is_none_or(|breaker| breaker.allow(inner.clock.elapsed()))
    }

    /// Gives back a try that is to be repeated.
    pub(crate) fn release(&self, channel: &ChannelId) {
        if let Some(breaker) = lock(&self.breakers).get_mut(channel) {
            breaker.released();
        }
    }

    /// Forgets the breaker of a channel that is no longer registered.
    pub(crate) fn forget(&self, channel: &ChannelId) {
        lock(&self.breakers).remove(channel);
    }

    /// Takes note of how a delivery ended. A failure that trying again cannot help says nothing
    /// about the provider.
    pub(crate) fn note(&self, inner: &Inner, channel: &ChannelId, outcome: &DeliveryOutcome) {
        let mut breakers = lock(&self.breakers);
        let transition = match outcome {
            DeliveryOutcome::Sent { .. } => breakers
                .remove(channel)
                .and_then(|mut breaker| breaker.succeeded()),
            DeliveryOutcome::Failed(error) if !error.retryable => {
                if let Some(breaker) = breakers.get_mut(channel) {
                    breaker.released();
                }
                None
            }
            // A channel that has gone meanwhile is not to come back with a breaker.
            _ if inner.channel(channel).is_none() => None,
            DeliveryOutcome::Failed(_) | DeliveryOutcome::Unknown(_) => breakers
                .entry(channel.clone())
                .or_insert_with(|| CircuitBreaker::new(inner.settings.circuit_breaker))
                .failed(inner.clock.elapsed()),
        };
        drop(breakers);
        let (event_type, failures) = match transition {
            None => return,
            Some(BreakerTransition::Opened) => (
                FrameworkEventType::CircuitBreakerOpened,
                Some(inner.settings.circuit_breaker.failure_threshold),
            ),
            Some(BreakerTransition::Closed) => (FrameworkEventType::CircuitBreakerClosed, None),
        };
        let event = event_type.as_str();
        match transition {
            Some(BreakerTransition::Opened) => {
                tracing::error!(channel_id = %channel, event, "circuit breaker opened");
            }
            _ => tracing::info!(channel_id = %channel, event, "circuit breaker closed"),
        }
        inner.emit(event_type, |event| {
            event.channel_id = Some(channel.clone());
            if let Some(failures) = failures {
                event.data.insert("failure_count", failures);
            }
        });
    }
}
