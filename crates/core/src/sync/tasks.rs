//! The tasks of one kit: counted while they run, waited for at close, aborted when the kit goes.

use std::collections::HashMap;
use std::fmt;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::task::AbortHandle;

use super::atomic::{AtomicBool, AtomicUsize, Ordering};
use super::{Mutex, lock};

/// Everything of a kit that is under way, whether in a task of its own or in a caller's.
#[derive(Default)]
pub(crate) struct Tasks {
    state: Mutex<State>,
    /// What runs in callers' tasks.
    in_place: AtomicUsize,
    /// Set once nothing may begin any more; what is under way by then has been counted before.
    ended: AtomicBool,
    idle: Notify,
}

#[derive(Default)]
struct State {
    next: u64,
    /// A task that has just been started has no handle yet.
    running: HashMap<u64, Option<AbortHandle>>,
    aborted: bool,
}

/// A task under way; dropping it says that it has ended.
struct Running {
    tasks: Arc<Tasks>,
    id: u64,
}

/// The work panicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Panicked;

/// Work in a caller's task; dropping it says that it has ended, or has become a task.
struct InPlace<'a>(&'a Tasks);

impl Tasks {
    /// Counts a task that is about to start; `None` after [`abort_all`](Self::abort_all).
    fn begin(self: &Arc<Self>) -> Option<Running> {
        let mut state = lock(&self.state);
        if state.aborted {
            return None;
        }
        let id = state.next;
        state.next += 1;
        state.running.insert(id, None);
        Some(Running {
            tasks: Arc::clone(self),
            id,
        })
    }

    /// Runs `future` in a task of its own; after [`abort_all`](Self::abort_all) it is dropped unrun.
    pub(crate) fn spawn(self: &Arc<Self>, future: impl Future<Output = ()> + Send + 'static) {
        let Ok(runtime) = Handle::try_current() else {
            tracing::error!("called outside of a tokio runtime: background work is left out");
            return;
        };
        let Some(running) = self.begin() else { return };
        let id = running.id;
        let task = runtime.spawn(async move {
            let _running = running;
            future.await;
        });
        let mut state = lock(&self.state);
        if state.aborted {
            task.abort();
        } else if let Some(handle) = state.running.get_mut(&id) {
            *handle = Some(task.abort_handle());
        }
    }

    /// Runs `future` to its end whatever becomes of the caller, who may drop this one at any await.
    ///
    /// It is polled once in place, where most of them end; only one that has to wait becomes a task.
    /// Returns `None` when the kit went away first, or had before.
    pub(crate) async fn run_to_end<T: Send + 'static>(
        self: &Arc<Self>,
        mut future: BoxFuture<'static, T>,
    ) -> Option<Result<T, Panicked>> {
        self.in_place.fetch_add(1, Ordering::SeqCst);
        let in_place = InPlace(self);
        if self.ended.load(Ordering::SeqCst) {
            return None;
        }
        let at_once = poll_fn(|cx| {
            let mut guarded = AssertUnwindSafe(future.as_mut()).catch_unwind();
            match guarded.poll_unpin(cx) {
                Poll::Ready(output) => Poll::Ready(Some(output.map_err(|_panic| Panicked))),
                Poll::Pending => Poll::Ready(None),
            }
        })
        .await;
        if at_once.is_some() {
            return at_once;
        }
        let (sender, receiver) = oneshot::channel();
        self.spawn(async move {
            let output = AssertUnwindSafe(future).catch_unwind().await;
            // The caller may have gone; the work was what mattered.
            let _ = sender.send(output.map_err(|_panic| Panicked));
        });
        drop(in_place);
        receiver.await.ok()
    }

    /// How many things are under way.
    pub(crate) fn running(&self) -> usize {
        // In this order: what moves from a caller to a task in between is counted twice, not never.
        let in_place = self.in_place.load(Ordering::SeqCst);
        in_place + lock(&self.state).running.len()
    }

    /// Returns when nothing is under way.
    pub(crate) async fn idle(&self) {
        loop {
            let idle = self.idle.notified();
            if self.running() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Aborts every task and lets no new one start.
    pub(crate) fn abort_all(&self) {
        let handles: Vec<_> = {
            let mut state = lock(&self.state);
            state.aborted = true;
            self.ended.store(true, Ordering::SeqCst);
            state
                .running
                .values_mut()
                .filter_map(Option::take)
                .collect()
        };
        for handle in handles {
            handle.abort();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let last = {
            let mut state = lock(&self.tasks.state);
            state.running.remove(&self.id);
            state.running.is_empty()
        };
        if last {
            self.tasks.idle.notify_waiters();
        }
    }
}

impl Drop for InPlace<'_> {
    fn drop(&mut self) {
        if self.0.in_place.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.idle.notify_waiters();
        }
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks")
            .field("running", &self.running())
            .finish_non_exhaustive()
    }
}

#[cfg(all(test, not(roomkit_shuttle)))]
mod tests {
    use super::*;

    #[tokio::test]
    async fn work_that_is_ready_needs_no_task() {
        let tasks = Arc::new(Tasks::default());
        assert_eq!(tasks.run_to_end(Box::pin(async { 7 })).await, Some(Ok(7)));
        assert_eq!(tasks.running(), 0);
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_does_not_stop_the_work() {
        let tasks = Arc::new(Tasks::default());
        let done = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&done);
        let mut call = Box::pin(tasks.run_to_end(Box::pin(async move {
            tokio::task::yield_now().await;
            counter.fetch_add(1, Ordering::SeqCst);
        })));
        assert!(futures_util::FutureExt::now_or_never(&mut call).is_none());
        drop(call);
        tasks.idle().await;
        assert_eq!(done.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn aborting_ends_what_runs_and_what_comes_after() {
        let tasks = Arc::new(Tasks::default());
        tasks.spawn(std::future::pending());
        tasks.abort_all();
        tasks.spawn(std::future::pending());
        tasks.idle().await;
        assert_eq!(tasks.running(), 0);
    }
}
