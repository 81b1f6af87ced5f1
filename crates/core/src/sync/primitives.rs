//! The locks, atomics and blocking queues of the core, in one place, so that a model checker can put its
//! own in their stead: `tests/shuttle` compiles these very files that way. No other module takes them from
//! `std`.

#[cfg(roomkit_shuttle)]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc,
};
#[cfg(roomkit_shuttle)]
pub(crate) use tokio::waker::AtomicWaker;

#[cfg(not(roomkit_shuttle))]
pub(crate) use futures_util::task::AtomicWaker;
#[cfg(not(roomkit_shuttle))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic, mpsc,
};

/// Counts what has to be told apart in this process, from 0. It is the standard library's under the
/// checker too: a static is shared by checkers in several threads, which one of theirs is not made
/// for, and no schedule turns on which number is given.
#[derive(Debug)]
pub(crate) struct Numbers(std::sync::atomic::AtomicU64);

impl Numbers {
    pub(crate) const fn new() -> Self {
        Self(std::sync::atomic::AtomicU64::new(0))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }
}
