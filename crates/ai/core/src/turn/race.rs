//! What may end a turn before it is done: a cancellation, or its deadline. And calls into code that may
//! panic.

use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::Clock;

use crate::{Cancellation, LoopEndReason};

/// Says when a turn has to stop.
///
/// What is ready at once is asked for by looking alone; a timer is started, and the flag waited for, once
/// the turn waits for something itself.
pub(crate) struct Stop {
    cancel: Cancellation,
    clock: Arc<dyn Clock>,
    until: Option<Duration>,
    waits: Option<BoxFuture<'static, LoopEndReason>>,
    stopped: Option<LoopEndReason>,
}

impl Stop {
    pub(crate) fn new(
        cancel: &Cancellation,
        clock: &Arc<dyn Clock>,
        limit: Option<Duration>,
    ) -> Self {
        Self {
            cancel: cancel.clone(),
            clock: Arc::clone(clock),
            until: limit.map(|limit| clock.elapsed().saturating_add(limit)),
            waits: None,
            stopped: None,
        }
    }

    /// Whether the turn has to stop now.
    pub(crate) fn now(&mut self) -> Option<LoopEndReason> {
        if self.stopped.is_none() {
            let is_late = |until: Duration| self.clock.elapsed() >= until;
            if self.cancel.is_cancelled() {
                self.stopped = Some(LoopEndReason::Cancelled);
            } else if self.until.is_some_and(is_late) {
                self.stopped = Some(LoopEndReason::Timeout);
            }
        }
        self.stopped
    }

    /// Polls what the turn waits for, unless it has to stop.
    pub(crate) fn poll_or<T>(
        &mut self,
        cx: &mut Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<Result<T, LoopEndReason>> {
        if let Some(reason) = self.now() {
            return Poll::Ready(Err(reason));
        }
        if let Poll::Ready(output) = poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let waits = match &mut self.waits {
            Some(waits) => waits,
            None => {
                let waits = self.wait();
                self.waits.insert(waits)
            }
        };
        waits.as_mut().poll(cx).map(|reason| {
            self.waits = None;
            self.stopped = Some(reason);
            Err(reason)
        })
    }

    /// Waits for `future`, unless the turn has to stop before it is ready.
    pub(crate) async fn or<F: Future>(&mut self, future: F) -> Result<F::Output, LoopEndReason> {
        let mut future = pin!(future);
        poll_fn(|cx| self.poll_or(cx, |cx| future.as_mut().poll(cx))).await
    }

    fn wait(&self) -> BoxFuture<'static, LoopEndReason> {
        let cancel = self.cancel.clone();
        let left = |until: Duration| until.saturating_sub(self.clock.elapsed());
        let over = self.until.map(|until| self.clock.sleep(left(until)));
        async move {
            let mut cancelled = pin!(cancel.cancelled());
            let mut over = over;
            poll_fn(|cx| {
                if cancelled.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(LoopEndReason::Cancelled);
                }
                match &mut over {
                    Some(over) => over.as_mut().poll(cx).map(|()| LoopEndReason::Timeout),
                    None => Poll::Pending,
                }
            })
            .await
        }
        .boxed()
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Stop").field(&self.stopped).finish()
    }
}

/// The call panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Calls what is not ours: `call` itself may panic as well as its future.
pub(crate) async fn caught<T, F>(call: impl FnOnce() -> F) -> Result<T, Panicked>
where
    F: Future<Output = T>,
{
    let call = AssertUnwindSafe(async { call().await });
    call.catch_unwind().await.map_err(|_panic| Panicked)
}
