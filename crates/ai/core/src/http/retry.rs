//! When a call is tried again, and after how long; what `Retry-After` says.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};
use roomkit_core::Clock;
use roomkit_core::model::{DeliveryError, RetryPolicy};
use roomkit_core::resilience::backoff;
use tokio::time::Instant;

use super::HttpConfig;
use crate::AiError;

/// The longest that is believed of a vendor who asks to be left alone.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(24 * 60 * 60);

/// How long to wait before the next attempt after `attempt` of them; `None` where there is to be none.
pub(super) fn wait(
    config: &HttpConfig,
    attempt: u32,
    error: &AiError,
    deadline: Instant,
) -> Option<Duration> {
    if !error.is_retryable() || attempt >= config.max_attempts {
        return None;
    }
    let asked = error.retry_after().unwrap_or_default();
    if asked > Duration::from_millis(config.max_retry_after_ms) {
        return None;
    }
    let seconds = |ms: u64| Duration::from_millis(ms).as_secs_f64();
    let policy = RetryPolicy {
        base_delay_seconds: seconds(config.backoff_ms),
        max_delay_seconds: seconds(config.max_backoff_ms),
        exponential_base: 2.0,
        ..RetryPolicy::default()
    };
    let failed = DeliveryError::new(error.code(), "a call of a model");
    let wait = backoff(&policy, attempt.saturating_sub(1), &failed).max(asked);
    // A wait that outlasts the call would only make its failure come later.
    let ends = Instant::now().checked_add(wait)?;
    (ends < deadline).then_some(wait)
}

/// How long the vendor asks to be left alone: `retry-after-ms`, or `Retry-After` in seconds or as a date
/// (RFC 9110 §10.2.3), at most a day.
///
/// A date is taken against the server's own `Date`, and only without one against the clock here, which
/// may differ from the server's.
pub(super) fn retry_after(headers: &HeaderMap, clock: &dyn Clock) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number >= 0.0);
    let after = if let Some(ms) = text("retry-after-ms").and_then(number) {
        Duration::try_from_secs_f64(ms / 1_000.0).unwrap_or(LONGEST_RETRY_AFTER)
    } else {
        let asked = text(RETRY_AFTER.as_str())?;
        match number(asked) {
            Some(seconds) => Duration::try_from_secs_f64(seconds).unwrap_or(LONGEST_RETRY_AFTER),
            None => {
                let now = text(DATE.as_str()).and_then(date);
                let until = date(asked)? - now.unwrap_or_else(|| clock.now());
                until.to_std().unwrap_or_default()
            }
        }
    };
    Some(after.min(LONGEST_RETRY_AFTER))
}

/// A date in one of the three forms of RFC 9110 §5.6.7.
fn date(text: &str) -> Option<DateTime<Utc>> {
    let obsolete = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];
    let parsed = DateTime::parse_from_rfc2822(text).map(|date| date.to_utc());
    parsed.ok().or_else(|| {
        let parse = |form| NaiveDateTime::parse_from_str(text, form).ok();
        obsolete
            .into_iter()
            .find_map(parse)
            .map(|date| date.and_utc())
    })
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;
    use roomkit_core::SystemClock;

    use super::*;
    use crate::AiErrorKind;

    fn asked(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name = name.parse::<reqwest::header::HeaderName>().unwrap();
                (name, HeaderValue::from_static(value))
            })
            .collect();
        retry_after(&headers, &SystemClock::new())
    }

    #[test]
    fn retry_after_is_read_in_every_form_and_bounded() {
        let now = ("date", "Sun, 06 Nov 1994 08:49:00 GMT");
        let cases = [
            ("7", Some(7)),
            (" 0 ", Some(0)),
            ("1.5", Some(1)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(37)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(37)),
            ("Sun Nov  6 08:49:37 1994", Some(37)),
            ("Sun, 06 Nov 1994 08:48:00 GMT", Some(0)),
            ("Sat, 06 Nov 2094 08:49:37 GMT", Some(86_400)),
            ("999999999999999999999999", Some(86_400)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
        ];
        for (text, seconds) in cases {
            let found = asked(&[now, ("retry-after", text)]);
            assert_eq!(found.map(|after| after.as_secs()), seconds, "{text}");
        }
        assert_eq!(asked(&[]), None);
        assert_eq!(
            asked(&[("retry-after-ms", "20"), ("retry-after", "7")]),
            Some(Duration::from_millis(20))
        );
        assert_eq!(
            asked(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")]),
            Some(Duration::ZERO),
            "without the server's date the clock is asked"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_tried_again_only_where_that_may_help_in_time() {
        let config = HttpConfig::default();
        let late = Instant::now() + Duration::from_secs(600);
        let error = |kind| AiError::new(kind, "acme", "asking");
        let busy = || error(AiErrorKind::Overloaded);
        let first = wait(&config, 1, &busy(), late).unwrap();
        assert!(first >= Duration::from_millis(250) && first <= Duration::from_millis(500));
        let second = wait(&config, 2, &busy(), late).unwrap();
        assert!(second >= Duration::from_millis(500) && second <= Duration::from_secs(1));
        assert_eq!(
            wait(&config, 3, &busy(), late),
            None,
            "attempts are bounded"
        );
        assert_eq!(
            wait(&config, 1, &error(AiErrorKind::Unauthorized), late),
            None
        );
        let asks = |seconds| busy().with_retry_after(Duration::from_secs(seconds));
        assert_eq!(
            wait(&config, 1, &asks(30), late),
            Some(Duration::from_secs(30))
        );
        assert_eq!(wait(&config, 1, &asks(61), late), None);
        let soon = Instant::now() + Duration::from_secs(20);
        assert_eq!(wait(&config, 1, &asks(30), soon), None);
    }
}
