//! Running a source: started again with growing delays when it fails, given up when it fails too
//! often, ended when it is asked to.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::{Shared, SourceEmitter, SourceProvider};
use crate::clock;
use crate::error::{Error, Result};
use crate::kit::{Inner, SourceLimits};
use crate::model::{FrameworkEventType, SourceStatus};
use crate::pipeline::pass::millis;
use crate::sync::guard::guard;
use crate::sync::lock;

/// Why a source runs no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It was asked to end, or has nothing more to bring.
    Done,
    /// It failed and is not started again; it stays attached, so that its health can be asked for.
    GivenUp,
}

/// Runs a source until it is asked to end, has nothing more to bring, or is given up.
pub(crate) async fn supervise(
    inner: &Arc<Inner>,
    source: &Arc<dyn SourceProvider>,
    shared: &Arc<Shared>,
    limits: &SourceLimits,
) -> Ended {
    let emit = SourceEmitter {
        shared: Arc::clone(shared),
    };
    let mut failures: u32 = 0;
    loop {
        let first = if failures == 0 {
            SourceStatus::Connecting
        } else {
            SourceStatus::Reconnecting
        };
        lock(&shared.health).status = first;
        let (began, before) = (inner.clock.elapsed(), messages(shared));
        let ended = run_once(inner, source, &emit, limits).await;
        let error = match ended {
            Ok(()) => {
                emit.lost(inner, SourceStatus::Stopped, None);
                return Ended::Done;
            }
            Err(_) if shared.is_stopping() => {
                emit.lost(inner, SourceStatus::Stopped, None);
                return Ended::Done;
            }
            Err(error) => error,
        };
        let lasted = inner.clock.elapsed().saturating_sub(began);
        if messages(shared) > before || lasted >= limits.max_restart_delay {
            failures = 0;
        }
        failures = failures.saturating_add(1);
        emit.lost(inner, SourceStatus::Error, Some(error.to_string()));
        lock(&shared.health).failures = failures;
        let gives_up = limits
            .max_restart_attempts
            .is_some_and(|most| failures >= most);
        let delay = delay(limits, shared, failures, inner.clock.elapsed());
        tracing::warn!(
            channel_id = %shared.channel, source = shared.name, code = error.code(),
            error = %inner.shown(&error), failures,
            delay_ms = millis(delay), "source failed"
        );
        shared.tell(inner, FrameworkEventType::SourceError, |data| {
            data.insert("error", error.to_string());
            data.insert("attempt", failures);
        });
        if !limits.auto_restart {
            return Ended::GivenUp;
        }
        if gives_up {
            tracing::error!(channel_id = %shared.channel, source = shared.name, failures, "source is given up");
            shared.tell(inner, FrameworkEventType::SourceExhausted, |data| {
                data.insert("attempts", failures);
                data.insert("last_error", error.to_string());
            });
            return Ended::GivenUp;
        }
        match select(inner.clock.sleep(delay), pin!(shared.stopping())).await {
            Either::Left(_) => {}
            Either::Right(_) => {
                lock(&shared.health).status = SourceStatus::Stopped;
                return Ended::Done;
            }
        }
    }
}

/// One run of a source. One that is asked to end has its time to do so, and is dropped then.
async fn run_once(
    inner: &Arc<Inner>,
    source: &Arc<dyn SourceProvider>,
    emit: &SourceEmitter,
    limits: &SourceLimits,
) -> Result<()> {
    let ended = {
        let run = pin!(AssertUnwindSafe(source.start(emit.clone())).catch_unwind());
        match select(run, pin!(emit.shared.stopping())).await {
            Either::Left((ended, _)) => ended,
            Either::Right(((), run)) => {
                let ended = clock::timeout(&*inner.clock, limits.stop_timeout, pin!(run)).await;
                ended.unwrap_or_else(|clock::Elapsed| {
                    tracing::warn!(
                        channel_id = %emit.shared.channel, source = emit.shared.name,
                        "source did not end when it was asked to, and was dropped"
                    );
                    Ok(Ok(()))
                })
            }
        }
    };
    let stopped = guard(&*inner.clock, limits.stop_timeout, pin!(source.stop())).await;
    if let Err(problem) = stopped {
        tracing::error!(
            channel_id = %emit.shared.channel, source = emit.shared.name, ?problem,
            "source did not let go"
        );
    }
    ended.unwrap_or_else(|_panic| Err(Error::source("the source panicked")))
}

fn messages(shared: &Shared) -> u64 {
    lock(&shared.health).messages_received
}

/// How long to wait before the next start: twice as long after each failure, up to the longest, and
/// of that between a half and all. What is random in it comes of the channel and the kit's clock, so
/// that sources which failed together do not come back together, and a clock turned by hand shows
/// the same delays each time.
fn delay(limits: &SourceLimits, shared: &Shared, failures: u32, now: Duration) -> Duration {
    let doubled = 2_u32.saturating_pow(failures.saturating_sub(1).min(31));
    let longest = limits
        .restart_delay
        .saturating_mul(doubled)
        .min(limits.max_restart_delay);
    let mut hasher = DefaultHasher::new();
    (&shared.channel, failures, now).hash(&mut hasher);
    let random = u32::try_from(hasher.finish() >> 32).unwrap_or_default();
    let half = longest / 2;
    half + half.mul_f64(f64::from(random) / f64::from(u32::MAX))
}
