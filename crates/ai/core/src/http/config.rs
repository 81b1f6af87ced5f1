//! How long a call may take, how often it is tried, and how much of an answer is read.

use std::time::Duration;

use serde::Deserialize;

use crate::{AiError, AiErrorKind, Result};

/// The limits of calls over HTTP; every vendor's configuration has one as `http`.
///
/// Durations are in milliseconds, in configuration files too.
///
/// ```
/// use std::time::Duration;
/// use roomkit_ai::http::HttpConfig;
///
/// let config = HttpConfig::default().total_timeout(Duration::from_secs(30)).max_attempts(1);
/// assert_eq!(config.total_timeout_ms, 30_000);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct HttpConfig {
    /// How long connecting may take. Default: 10 seconds.
    pub connect_timeout_ms: u64,
    /// How long it may take from sending until the answer's first byte, for each attempt; an answer
    /// that comes whole is thought out before that. Default: 2 minutes.
    pub first_byte_timeout_ms: u64,
    /// How long the answer may pause once it has begun; what a server sends to keep the connection
    /// alive counts as a sign of life. Default: 1 minute.
    pub idle_timeout_ms: u64,
    /// How long the call may take in all, with every attempt and the waits between. Default: 10 minutes.
    pub total_timeout_ms: u64,
    /// How often a call is tried at most; 1 is never again. Default: 3.
    pub max_attempts: u32,
    /// The wait before the second attempt; it doubles with each, and a random half of it is left out.
    /// Default: 500 milliseconds.
    pub backoff_ms: u64,
    /// The longest such wait. Default: 8 seconds.
    pub max_backoff_ms: u64,
    /// How long a vendor may ask to be left alone (`Retry-After`) for the call to be tried again after
    /// that; where it asks for more, the call fails at once. Default: 1 minute.
    pub max_retry_after_ms: u64,
    /// The most bytes of one answer. Default: 32 MiB.
    pub max_response_bytes: usize,
    /// The most bytes of one event or line of an answer. Default: 8 MiB.
    pub max_frame_bytes: usize,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            connect_timeout_ms: 10_000,
            first_byte_timeout_ms: 120_000,
            idle_timeout_ms: 60_000,
            total_timeout_ms: 600_000,
            max_attempts: 3,
            backoff_ms: 500,
            max_backoff_ms: 8_000,
            max_retry_after_ms: 60_000,
            max_response_bytes: 32 << 20,
            max_frame_bytes: 8 << 20,
        }
    }
}

impl HttpConfig {
    /// Sets how long connecting may take.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how long the first byte of an answer may take.
    #[must_use]
    pub fn first_byte_timeout(mut self, timeout: Duration) -> Self {
        self.first_byte_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how long an answer may pause.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how long a call may take in all.
    #[must_use]
    pub fn total_timeout(mut self, timeout: Duration) -> Self {
        self.total_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how often a call is tried at most.
    #[must_use]
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts;
        self
    }

    /// Sets the wait before the second attempt, and the longest.
    #[must_use]
    pub fn backoff(mut self, first: Duration, longest: Duration) -> Self {
        self.backoff_ms = milliseconds(first);
        self.max_backoff_ms = milliseconds(longest);
        self
    }

    /// Sets how long a vendor may ask to be left alone.
    #[must_use]
    pub fn max_retry_after(mut self, longest: Duration) -> Self {
        self.max_retry_after_ms = milliseconds(longest);
        self
    }

    /// Sets the most bytes of one answer.
    #[must_use]
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_response_bytes = bytes;
        self
    }

    /// Sets the most bytes of one event or line of an answer.
    #[must_use]
    pub fn max_frame_bytes(mut self, bytes: usize) -> Self {
        self.max_frame_bytes = bytes;
        self
    }

    /// Refuses limits under which no call could be made.
    pub(crate) fn check(&self, provider: &str) -> Result<()> {
        let limits = [
            ("connect_timeout_ms", self.connect_timeout_ms),
            ("first_byte_timeout_ms", self.first_byte_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("total_timeout_ms", self.total_timeout_ms),
            ("max_attempts", self.max_attempts.into()),
            ("max_response_bytes", self.max_response_bytes as u64),
            ("max_frame_bytes", self.max_frame_bytes as u64),
        ];
        match limits.iter().find(|(_, limit)| *limit == 0) {
            None => Ok(()),
            Some((field, _)) => Err(AiError::new(
                AiErrorKind::InvalidRequest,
                provider,
                format!("http.{field}: must be at least 1"),
            )),
        }
    }
}

fn milliseconds(duration: Duration) -> u64 {
    duration.as_millis().try_into().unwrap_or(u64::MAX)
}
