//! Where a turn puts its answer as it comes, and the stream that it makes: the loop is one future, and
//! goes on only as fast as the stream is read.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::BoxFuture;
use roomkit_core::Result;
use roomkit_core::channel::Delta;

use super::steer::lock;

type Queue = Arc<Mutex<VecDeque<Result<Delta>>>>;

/// Takes pieces of an answer; one that takes nothing is for answers that are given whole.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outlet(Option<Queue>);

impl Outlet {
    /// Whether the answer is given as it comes.
    pub(crate) fn is_open(&self) -> bool {
        self.0.is_some()
    }

    /// Gives a piece on. Returns when it was taken.
    pub(crate) async fn send(&self, piece: Result<Delta>) {
        let Some(queue) = &self.0 else { return };
        lock(queue).push_back(piece);
        // Who reads the stream takes the piece and polls again: nobody else need be woken.
        let mut given = false;
        poll_fn(|_| {
            if std::mem::replace(&mut given, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
}

/// The pieces that a future sends, and the end when it is done.
pub(crate) struct Pieces {
    queue: Queue,
    work: Option<BoxFuture<'static, ()>>,
}

impl Pieces {
    /// The stream of what `work` sends to the outlet that it is given.
    pub(crate) fn of(work: impl FnOnce(Outlet) -> BoxFuture<'static, ()>) -> Self {
        let queue = Queue::default();
        let work = Some(work(Outlet(Some(Arc::clone(&queue)))));
        Self { queue, work }
    }
}

impl Stream for Pieces {
    type Item = Result<Delta>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(piece) = lock(&self.queue).pop_front() {
                return Poll::Ready(Some(piece));
            }
            let Some(work) = &mut self.work else {
                return Poll::Ready(None);
            };
            let is_done = work.as_mut().poll(cx).is_ready();
            if is_done {
                self.work = None;
            } else if lock(&self.queue).is_empty() {
                return Poll::Pending;
            }
        }
    }
}
