//! When a failed delivery is tried again, and after how long (RFC §13.2).

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::model::{DeliveryError, RetryPolicy};

/// How long to wait before retry number `attempt`, counted from 0.
///
/// The base delay grows by the exponential base up to the longest delay; of that, between a half
/// and all is waited, so that many who failed together do not come back together. What the provider
/// asked for in `retry_after` is a lower bound.
#[must_use]
pub fn backoff(policy: &RetryPolicy, attempt: u32, error: &DeliveryError) -> Duration {
    let exponent = i32::try_from(attempt).unwrap_or(i32::MAX);
    let grown = policy.base_delay_seconds * policy.exponential_base.powi(exponent);
    let longest = grown.min(policy.max_delay_seconds);
    let jittered = longest * (0.5 + 0.5 * random_fraction());
    let seconds = jittered.max(error.retry_after_seconds.unwrap_or(0.0));
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(60))
}

/// Whether a policy lets this error be tried again after `attempt` retries.
pub(crate) fn may_retry(policy: Option<&RetryPolicy>, attempt: u32, error: &DeliveryError) -> bool {
    policy.is_some_and(|policy| {
        error.retryable
            && attempt < policy.max_retries
            && policy
                .retryable_errors
                .as_ref()
                .is_none_or(|codes| codes.contains(&error.code))
    })
}

/// A random number from 0 to 1, good enough to spread retries.
fn random_fraction() -> f64 {
    let random = RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error() -> DeliveryError {
        DeliveryError {
            retryable: true,
            ..DeliveryError::new("busy", "try later")
        }
    }

    #[test]
    fn delays_grow_within_their_jitter_up_to_the_longest() {
        let policy = RetryPolicy {
            max_delay_seconds: 5.0,
            ..RetryPolicy::default()
        };
        for (attempt, longest) in [(0, 1.0), (1, 2.0), (2, 4.0), (3, 5.0), (400, 5.0)] {
            let delay = backoff(&policy, attempt, &error()).as_secs_f64();
            assert!(
                delay >= longest / 2.0 - 1e-9 && delay <= longest + 1e-9,
                "{attempt}: {delay}"
            );
        }
    }

    #[test]
    fn the_provider_may_ask_for_more_time() {
        let error = DeliveryError {
            retry_after_seconds: Some(33.0),
            ..error()
        };
        assert_eq!(
            backoff(&RetryPolicy::default(), 0, &error),
            Duration::from_secs(33)
        );
    }

    #[test]
    fn only_what_the_error_and_the_policy_allow_is_retried() {
        let policy = RetryPolicy {
            max_retries: 1,
            ..RetryPolicy::default()
        };
        assert!(may_retry(Some(&policy), 0, &error()));
        assert!(!may_retry(Some(&policy), 1, &error()));
        assert!(!may_retry(None, 0, &error()));
        assert!(!may_retry(
            Some(&policy),
            0,
            &DeliveryError {
                retryable: false,
                ..error()
            }
        ));
        let named = RetryPolicy {
            retryable_errors: Some(vec!["other".to_owned()]),
            ..policy
        };
        assert!(!may_retry(Some(&named), 0, &error()));
    }
}
