//! The shipped source of what only the core itself can see, compiled here as it stands.
#![allow(dead_code, reason = "not all of it is looked at from here")]

#[path = "../../../crates/core/src/sync/queue.rs"]
pub(crate) mod queue;
#[path = "../../../crates/core/src/sync/tasks.rs"]
pub(crate) mod tasks;

use std::sync::PoisonError;

pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic};
pub(crate) use tokio::waker::AtomicWaker;

pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
