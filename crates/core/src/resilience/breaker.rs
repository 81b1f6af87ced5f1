//! The circuit breaker: a provider that keeps failing is left alone for a while (RFC §13.1).

use std::time::Duration;

/// When a breaker opens and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CircuitBreakerConfig {
    /// How many failures in a row open it. Default: 5.
    pub failure_threshold: u32,
    /// How long it stays open before one call may probe. Default: 60 seconds.
    pub recovery_timeout: Duration,
}

impl Default for CircuitBreakerConfig {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            recovery_timeout: Duration::from_secs(60),
        }
    }
}

/// Closed, open, or half open with one probe under way. Times are of the kit's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitBreaker {
    config: CircuitBreakerConfig,
    failures: u32,
    opened_at: Option<Duration>,
    probing: bool,
}

/// What a recorded outcome did to a breaker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerTransition {
    /// It opened.
    Opened,
    /// It closed again.
    Closed,
}

impl CircuitBreaker {
    /// A closed breaker.
    #[must_use]
    pub fn new(config: CircuitBreakerConfig) -> Self {
        Self {
            config,
            failures: 0,
            opened_at: None,
            probing: false,
        }
    }

    /// Whether a call may be made now. A `true` while it is half open is the one probe.
    pub fn allow(&mut self, now: Duration) -> bool {
        let Some(opened_at) = self.opened_at else {
            return true;
        };
        let recovered = now.saturating_sub(opened_at) >= self.config.recovery_timeout;
        if recovered && !self.probing {
            self.probing = true;
            return true;
        }
        false
    }

    /// Takes note of a call that succeeded.
    pub fn succeeded(&mut self) -> Option<BreakerTransition> {
        self.failures = 0;
        self.probing = false;
        self.opened_at.take().map(|_| BreakerTransition::Closed)
    }

    /// Takes note of a call that failed.
    pub fn failed(&mut self, now: Duration) -> Option<BreakerTransition> {
        self.failures = self.failures.saturating_add(1);
        self.probing = false;
        if self.opened_at.is_some() {
            self.opened_at = Some(now);
            return None;
        }
        if self.failures < self.config.failure_threshold.max(1) {
            return None;
        }
        self.opened_at = Some(now);
        Some(BreakerTransition::Opened)
    }

    /// Gives back a probe whose outcome says nothing about the provider.
    pub fn released(&mut self) {
        self.probing = false;
    }

    /// How many calls failed in a row.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn it_opens_probes_once_and_closes() {
        let mut breaker = CircuitBreaker::new(CircuitBreakerConfig::default());
        for _ in 0..4 {
            assert_eq!(breaker.failed(seconds(0)), None);
        }
        assert_eq!(breaker.failed(seconds(0)), Some(BreakerTransition::Opened));
        assert!(!breaker.allow(seconds(59)));
        assert!(breaker.allow(seconds(60)));
        assert!(!breaker.allow(seconds(60)), "one probe at a time");
        assert_eq!(breaker.failed(seconds(60)), None);
        assert!(!breaker.allow(seconds(119)));
        assert!(breaker.allow(seconds(120)));
        assert_eq!(breaker.succeeded(), Some(BreakerTransition::Closed));
        assert!(breaker.allow(seconds(120)));
        assert_eq!(breaker.failures(), 0);
    }

    #[test]
    fn a_success_between_failures_starts_the_count_again() {
        let mut breaker = CircuitBreaker::new(CircuitBreakerConfig::default());
        for _ in 0..4 {
            breaker.failed(seconds(0));
        }
        assert_eq!(breaker.succeeded(), None);
        assert_eq!(breaker.failed(seconds(0)), None);
    }
}
