//! The token bucket: how fast a binding may send (RFC §13.3).

use std::time::Duration;

use crate::model::RateLimit;

/// A bucket for each limit that is set; a call takes a token from all of them.
///
/// A bucket holds one second's worth of its rate, at least one token, and is full at first.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBucket {
    levels: Vec<Level>,
    filled_at: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Level {
    per_second: f64,
    capacity: f64,
    tokens: f64,
}

impl TokenBucket {
    /// Full buckets for the limits that are set. `now` is time of the kit's clock.
    #[must_use]
    pub fn new(limit: &RateLimit, now: Duration) -> Self {
        let rates = [
            limit.max_per_second,
            limit.max_per_minute.map(|rate| rate / 60.0),
            limit.max_per_hour.map(|rate| rate / 3600.0),
        ];
        let level = |per_second: f64| {
            let capacity = per_second.max(1.0);
            Level {
                per_second,
                capacity,
                tokens: capacity,
            }
        };
        Self {
            levels: rates.into_iter().flatten().map(level).collect(),
            filled_at: now,
        }
    }

    /// A full bucket that holds all that one window of time lets pass.
    #[must_use]
    pub fn of_window(most: f64, window: Duration, now: Duration) -> Self {
        let per_second = most / window.as_secs_f64().max(f64::MIN_POSITIVE);
        Self {
            levels: vec![Level {
                per_second,
                capacity: most,
                tokens: most,
            }],
            filled_at: now,
        }
    }

    /// Takes a token, or says how long to wait before asking again.
    ///
    /// # Errors
    /// The time until every limit has a token.
    pub fn take(&mut self, now: Duration) -> Result<(), Duration> {
        let passed = now.saturating_sub(self.filled_at).as_secs_f64();
        self.filled_at = self.filled_at.max(now);
        let mut wait: f64 = 0.0;
        for level in &mut self.levels {
            level.tokens = (level.tokens + passed * level.per_second).min(level.capacity);
            // A token that is there but for rounding is there.
            let missing = 1.0 - level.tokens;
            if missing > 1e-9 {
                wait = wait.max(missing / level.per_second);
            }
        }
        if wait > 0.0 {
            let wait = Duration::try_from_secs_f64(wait).unwrap_or(Duration::MAX);
            return Err(wait.max(Duration::from_millis(1)));
        }
        for level in &mut self.levels {
            level.tokens -= 1.0;
        }
        Ok(())
    }

    /// Gives back a token that was taken for nothing.
    pub fn give_back(&mut self) {
        for level in &mut self.levels {
            level.tokens = (level.tokens + 1.0).min(level.capacity);
        }
    }

    /// Whether every bucket is full, so that nothing is lost by forgetting it.
    #[must_use]
    pub fn is_full(&self, now: Duration) -> bool {
        let passed = now.saturating_sub(self.filled_at).as_secs_f64();
        self.levels
            .iter()
            .all(|level| level.tokens + passed * level.per_second >= level.capacity)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_of_burst_then_the_rate() {
        let limit = RateLimit {
            max_per_second: Some(2.0),
            max_per_minute: None,
            max_per_hour: None,
        };
        let mut bucket = TokenBucket::new(&limit, Duration::ZERO);
        assert_eq!(bucket.take(Duration::ZERO), Ok(()));
        assert_eq!(bucket.take(Duration::ZERO), Ok(()));
        assert_eq!(bucket.take(Duration::ZERO), Err(Duration::from_millis(500)));
        assert!(!bucket.is_full(Duration::ZERO));
        assert_eq!(bucket.take(Duration::from_millis(500)), Ok(()));
        assert!(bucket.is_full(Duration::from_secs(2)));
    }

    #[test]
    fn the_tightest_of_several_limits_binds() {
        let limit = RateLimit {
            max_per_second: Some(10.0),
            max_per_minute: Some(30.0),
            max_per_hour: None,
        };
        let mut bucket = TokenBucket::new(&limit, Duration::ZERO);
        assert_eq!(bucket.take(Duration::ZERO), Ok(()));
        assert_eq!(bucket.take(Duration::ZERO), Err(Duration::from_secs(2)));
        assert_eq!(bucket.take(Duration::from_secs(2)), Ok(()));
    }
}
