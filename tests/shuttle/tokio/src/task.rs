//! Tasks, counted while they are there, and what a task has to itself.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::swap;
use std::task::{Poll, Waker};

pub use shuttle::future::{AbortHandle, JoinError, JoinHandle, yield_now};

// The checker runs one schedule at a time in a thread, but several threads may run checkers.
std::thread_local! {
    static ALIVE: Cell<usize> = const { Cell::new(0) };
    static ALONE: Cell<Option<Waker>> = const { Cell::new(None) };
}

struct Alive;

impl Alive {
    fn new() -> Self {
        ALIVE.set(ALIVE.get() + 1);
        Self
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.set(ALIVE.get().saturating_sub(1));
        if ALIVE.get() == 0
            && let Some(waker) = ALONE.take()
        {
            waker.wake();
        }
    }
}

/// Starts a task.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let alive = Alive::new();
    shuttle::future::spawn(async move {
        let _alive = alive;
        future.await
    })
}

/// How many tasks of this schedule have not ended.
#[must_use]
pub fn alive() -> usize {
    ALIVE.get()
}

/// Starts counting anew, for a schedule that comes after one that failed.
pub fn forget_alive() {
    ALIVE.set(0);
    ALONE.set(None);
}

/// Returns when no task is there; in vain, which the checker reports, where one goes on for ever.
pub async fn until_alone() {
    poll_fn(|cx| {
        if alive() == 0 {
            return Poll::Ready(());
        }
        ALONE.set(Some(cx.waker().clone()));
        Poll::Pending
    })
    .await;
}

/// A key of [`task_local!`](crate::task_local).
pub struct LocalKey<T: 'static> {
    slot: &'static shuttle::thread::LocalKey<RefCell<Option<T>>>,
}

/// There is no value: no scope is around the caller.
#[derive(Debug, Clone, Copy)]
pub struct AccessError;

impl<T: 'static> LocalKey<T> {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(slot: &'static shuttle::thread::LocalKey<RefCell<Option<T>>>) -> Self {
        Self { slot }
    }

    /// Runs `future` with the value.
    pub async fn scope<F: Future>(&'static self, value: T, future: F) -> F::Output {
        let (mut value, mut future) = (Some(value), Box::pin(future));
        poll_fn(|cx| {
            self.swap(&mut value);
            let polled = future.as_mut().poll(cx);
            self.swap(&mut value);
            polled
        })
        .await
    }

    fn swap(&'static self, value: &mut Option<T>) {
        // Where the task is being torn down it has no values any more, and nobody looks.
        let _ = self
            .slot
            .try_with(|slot| swap(&mut *slot.borrow_mut(), value));
    }

    /// Shows the value of the innermost scope.
    ///
    /// # Errors
    /// Where there is no scope.
    pub fn try_with<R>(&'static self, look: impl FnOnce(&T) -> R) -> Result<R, AccessError> {
        let found = self.slot.try_with(|slot| slot.borrow().as_ref().map(look));
        found.ok().flatten().ok_or(AccessError)
    }
}

impl<T> fmt::Debug for LocalKey<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalKey").finish_non_exhaustive()
    }
}
