//! How fast and how often a channel delivers.

use serde::Serialize;

use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::validate::{self, ValidationError};

/// How many messages a channel may send in a span of time (RFC §13.3).
///
/// Every limit that is there holds; the default has none. Each attempt counts, repeats included. A
/// delivery over the limit waits for its turn, and so does who waits for that delivery.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct RateLimit {
    /// Messages a second; greater than 0.
    pub max_per_second: Option<f64>,
    /// Messages a minute; greater than 0.
    pub max_per_minute: Option<f64>,
    /// Messages an hour; greater than 0.
    pub max_per_hour: Option<f64>,
}

impl RateLimit {
    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when a limit is not finite and greater than 0.
    pub fn validate(&self) -> Result<(), ValidationError> {
        let limits = [
            ("max_per_second", self.max_per_second),
            ("max_per_minute", self.max_per_minute),
            ("max_per_hour", self.max_per_hour),
        ];
        limits
            .into_iter()
            .filter_map(|(field, limit)| Some((field, limit?)))
            .try_for_each(|(field, limit)| validate::positive(field, limit))
    }
}

impl FromFields for RateLimit {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let limit = Self {
            max_per_second: fields.optional("max_per_second")?,
            max_per_minute: fields.optional("max_per_minute")?,
            max_per_hour: fields.optional("max_per_hour")?,
        };
        limit.validate()?;
        Ok(limit)
    }
}

/// How often and when a failed delivery is tried again (RFC §13.2).
///
/// The wait before retry `n`, from 0, is `base_delay_seconds * exponential_base^n`, at most
/// `max_delay_seconds`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RetryPolicy {
    /// How many tries follow the first. Default: 3.
    pub max_retries: u32,
    /// The wait before the first retry, in seconds; greater than 0. Default: 1.
    pub base_delay_seconds: f64,
    /// The longest wait, in seconds; greater than 0. Default: 60.
    pub max_delay_seconds: f64,
    /// What each wait is multiplied by; greater than 0. Default: 2.
    pub exponential_base: f64,
    /// The codes of the errors that are worth a retry; nothing leaves it to the error itself.
    pub retryable_errors: Option<Vec<String>>,
}

impl RetryPolicy {
    /// Checks the waits.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when a wait or the base is not finite and greater than 0.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::positive("base_delay_seconds", self.base_delay_seconds)?;
        validate::positive("max_delay_seconds", self.max_delay_seconds)?;
        validate::positive("exponential_base", self.exponential_base)
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 3,
            base_delay_seconds: 1.0,
            max_delay_seconds: 60.0,
            exponential_base: 2.0,
            retryable_errors: None,
        }
    }
}

impl FromFields for RetryPolicy {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let default = Self::default();
        let policy = Self {
            max_retries: fields.or("max_retries", default.max_retries)?,
            base_delay_seconds: fields.or("base_delay_seconds", default.base_delay_seconds)?,
            max_delay_seconds: fields.or("max_delay_seconds", default.max_delay_seconds)?,
            exponential_base: fields.or("exponential_base", default.exponential_base)?,
            retryable_errors: fields.optional("retryable_errors")?,
        };
        policy.validate()?;
        Ok(policy)
    }
}

deserialize_from_fields!(RateLimit, RetryPolicy);
