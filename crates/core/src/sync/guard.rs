//! Calls into code that is not the kit's: bounded in time, and a panic stays there.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::time::Duration;

use futures_util::FutureExt;

use crate::clock::{self, Clock, Elapsed};

/// Why a guarded call gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    Panicked,
    TookTooLong,
}

/// Runs a call, which the caller has pinned, for at most `limit` and catches its panic.
pub(crate) async fn guard<F: Future>(
    clock: &dyn Clock,
    limit: Duration,
    call: Pin<&mut F>,
) -> Result<F::Output, NoAnswer> {
    let call = pin!(AssertUnwindSafe(call).catch_unwind());
    match clock::timeout(clock, limit, call).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_panic)) => Err(NoAnswer::Panicked),
        Err(Elapsed) => Err(NoAnswer::TookTooLong),
    }
}
