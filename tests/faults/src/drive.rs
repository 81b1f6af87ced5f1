//! Lets a kit run until something is done: its tasks first, then the time for which they wait.

use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::Clock;
use roomkit_testkit::ManualClock;

use crate::probe::Probe;

/// How many turns tasks get before time passes.
const TURNS: usize = 20;

/// How it ended.
#[derive(Debug)]
pub(crate) enum Driven<T> {
    Done(T),
    /// The call itself panicked, in its caller's face.
    Panicked,
    /// The caller went away while the planned step was reached.
    Cancelled,
    /// It does not end.
    Waits,
}

/// A call that is under way; gone once its caller is.
pub(crate) type Call<'a, T> = Option<BoxFuture<'a, T>>;

/// Runs `call` for at most `limit` of the clock's time. With `probe` the caller goes away as soon as
/// the planned step is reached.
pub(crate) async fn drive<T>(
    clock: &ManualClock,
    limit: Duration,
    probe: Option<&Probe>,
    call: &mut Call<'_, T>,
) -> Driven<T> {
    let until = clock.elapsed().saturating_add(limit);
    loop {
        for _ in 0..TURNS {
            let Some(running) = call else {
                return Driven::Cancelled;
            };
            let mut guarded = AssertUnwindSafe(running).catch_unwind();
            match poll_fn(|cx| Poll::Ready(guarded.poll_unpin(cx))).await {
                Poll::Ready(Ok(done)) => return Driven::Done(done),
                Poll::Ready(Err(_panic)) => return Driven::Panicked,
                Poll::Pending => {}
            }
            if let Some(probe) = probe.filter(|probe| probe.was_hit()) {
                *call = None;
                probe.release();
                return Driven::Cancelled;
            }
            tokio::task::yield_now().await;
        }
        if clock.elapsed() >= until || clock.advance_to_next().is_none() {
            return Driven::Waits;
        }
    }
}

/// Runs a call that nobody leaves.
pub(crate) async fn to_end<'a, T>(
    clock: &ManualClock,
    limit: Duration,
    call: impl Future<Output = T> + Send + 'a,
) -> Driven<T> {
    drive(clock, limit, None, &mut Some(call.boxed())).await
}

/// Lets everything run that can without time passing.
pub(crate) async fn turns() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}
