//! Time as the core sees it: one [`Clock`] that tells and waits, so that tests need not.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use chrono::{DateTime, SubsecRound, Utc};
use futures_util::future::BoxFuture;
use tokio::time::Instant;

/// Where a kit takes its time from; no other code of the core reads a clock or sleeps.
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The time of day, for stamps on events and rooms, in whole microseconds.
    fn now(&self) -> DateTime<Utc>;

    /// Time since some fixed moment of this clock; it never goes back.
    fn elapsed(&self) -> Duration;

    /// Waits for `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// The machine's clock, with waiting by tokio; it stands still while tokio's time is paused.
#[derive(Debug, Clone, Copy)]
pub struct SystemClock {
    origin: Instant,
}

impl SystemClock {
    /// A clock whose [`elapsed`](Clock::elapsed) counts from now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
        }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> DateTime<Utc> {
        Utc::now().trunc_subsecs(6)
    }

    fn elapsed(&self) -> Duration {
        self.origin.elapsed()
    }

    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

/// The limit of [`timeout`] passed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Elapsed;

/// Runs `future` for at most `limit`; a future that is ready at once never starts a timer.
///
/// It is pinned by the caller, so that it is not stored twice.
pub(crate) async fn timeout<F: Future>(
    clock: &dyn Clock,
    limit: Duration,
    mut future: Pin<&mut F>,
) -> Result<F::Output, Elapsed> {
    timeout_with(clock, || limit, future.as_mut()).await
}

/// As [`timeout`], up to a moment of the clock; the clock is not asked for a future that is ready.
pub(crate) async fn timeout_at<F: Future>(
    clock: &dyn Clock,
    until: Duration,
    mut future: Pin<&mut F>,
) -> Result<F::Output, Elapsed> {
    timeout_with(
        clock,
        || until.saturating_sub(clock.elapsed()),
        future.as_mut(),
    )
    .await
}

async fn timeout_with<F: Future>(
    clock: &dyn Clock,
    limit: impl Fn() -> Duration,
    mut future: Pin<&mut F>,
) -> Result<F::Output, Elapsed> {
    let mut sleep: Option<BoxFuture<'static, ()>> = None;
    poll_fn(|cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let sleep = sleep.get_or_insert_with(|| clock.sleep(limit()));
        sleep.as_mut().poll(cx).map(|()| Err(Elapsed))
    })
    .await
}
