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

/// Says when a turn has to stop. It is polled along with whatever the turn waits for.
pub(crate) struct Stop {
    waits: Option<BoxFuture<'static, LoopEndReason>>,
    stopped: Option<LoopEndReason>,
}

impl Stop {
    pub(crate) fn new(
        cancel: &Cancellation,
        clock: &Arc<dyn Clock>,
        limit: Option<Duration>,
    ) -> Self {
        let cancel = cancel.clone();
        let over = limit.map(|limit| clock.sleep(limit));
        let waits = async move {
            let cancelled = pin!(cancel.cancelled());
            let mut cancelled = cancelled;
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
        };
        Self {
            waits: Some(waits.boxed()),
            stopped: None,
        }
    }

    /// Why the turn has to stop, where it has to.
    pub(crate) fn poll_stop(&mut self, cx: &mut Context<'_>) -> Option<LoopEndReason> {
        if let Some(waits) = &mut self.waits
            && let Poll::Ready(reason) = waits.as_mut().poll(cx)
        {
            self.waits = None;
            self.stopped = Some(reason);
        }
        self.stopped
    }

    /// Whether the turn has to stop now.
    pub(crate) async fn now(&mut self) -> Option<LoopEndReason> {
        poll_fn(|cx| Poll::Ready(self.poll_stop(cx))).await
    }

    /// Waits for `future`, unless the turn has to stop before it is ready.
    pub(crate) async fn or<F: Future>(&mut self, future: F) -> Result<F::Output, LoopEndReason> {
        let mut future = pin!(future);
        poll_fn(|cx| {
            if let Some(reason) = self.poll_stop(cx) {
                return Poll::Ready(Err(reason));
            }
            future.as_mut().poll(cx).map(Ok)
        })
        .await
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
