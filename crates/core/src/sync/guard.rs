//! Calls into code that is not the kit's: bounded in time, and a panic stays there.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;

use crate::clock::{self, Clock, Elapsed};

/// Why a guarded call gave no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoAnswer {
    Panicked,
    TookTooLong,
}

/// Runs a call for at most `limit` and catches its panic.
pub(crate) async fn guard<F: Future>(
    clock: &dyn Clock,
    limit: Duration,
    call: F,
) -> Result<F::Output, NoAnswer> {
    match clock::timeout(clock, limit, AssertUnwindSafe(call).catch_unwind()).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(_panic)) => Err(NoAnswer::Panicked),
        Err(Elapsed) => Err(NoAnswer::TookTooLong),
    }
}
