//! The window in which what a provider signed is taken: a request that was caught must not be good for
//! ever (RFC §17.1).

use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};

use crate::error::{Error, ErrorKind, Result};

/// How far the time that a provider signed may be from the clock, before and after. Default: 300 seconds.
///
/// A signature alone says that a request was made by the provider, once. Check the time that is signed
/// with it before the request is [taken](crate::Rooms::process_webhook). What comes twice inside the
/// window is told apart by the provider's id of the message, which becomes its idempotency key.
///
/// ```
/// use roomkit_core::RoomKit;
/// use roomkit_core::resilience::ReplayWindow;
///
/// let kit = RoomKit::new();
/// let signed = kit.now().timestamp().to_string();
/// ReplayWindow::default().check(&signed, kit.now())?;
/// assert!(ReplayWindow::default().check("1700000000", kit.now()).is_err());
/// # Ok::<_, roomkit_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayWindow {
    tolerance: Duration,
}

impl ReplayWindow {
    /// A window of this length to each side; at its end a time is still taken.
    #[must_use]
    pub fn new(tolerance: Duration) -> Self {
        Self { tolerance }
    }

    /// Checks a time as most providers write it: whole seconds since the beginning of 1970, UTC, as
    /// decimal digits. `now` is the time of the [kit's clock](crate::RoomKit::now).
    ///
    /// # Errors
    /// - [`StaleWebhook`](ErrorKind::StaleWebhook): it is outside of the window.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): it is no such number, or no time there is.
    pub fn check(&self, signed: &str, now: DateTime<Utc>) -> Result<()> {
        let is_number = !signed.is_empty() && signed.bytes().all(|byte| byte.is_ascii_digit());
        let seconds = signed.parse().ok().filter(|_| is_number);
        let time = seconds.and_then(|seconds| DateTime::from_timestamp(seconds, 0));
        let time = time.ok_or_else(|| {
            let problem = "timestamp: must be whole seconds since 1970";
            Error::new(ErrorKind::InvalidInput, problem)
        })?;
        self.check_time(time, now)
    }

    /// As [`check`](Self::check), for a time that was read already.
    ///
    /// # Errors
    /// [`StaleWebhook`](ErrorKind::StaleWebhook): it is outside of the window.
    pub fn check_time(&self, signed: DateTime<Utc>, now: DateTime<Utc>) -> Result<()> {
        let apart = (now - signed).abs();
        // A tolerance that no difference can reach takes everything.
        let tolerance = TimeDelta::from_std(self.tolerance).unwrap_or(TimeDelta::MAX);
        if apart <= tolerance {
            return Ok(());
        }
        let seconds = self.tolerance.as_secs();
        let problem = format!("timestamp: is more than {seconds} s from the clock");
        Err(Error::new(ErrorKind::StaleWebhook, problem))
    }
}

impl Default for ReplayWindow {
    fn default() -> Self {
        Self::new(Duration::from_secs(300))
    }
}
