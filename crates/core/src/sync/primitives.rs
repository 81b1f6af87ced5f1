//! The locks and atomics of the core, in one place, so that a model checker can put its own in
//! their stead: `tests/shuttle` compiles these very files that way. No other module takes them from
//! `std`.

#[cfg(roomkit_shuttle)]
pub(crate) use shuttle::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
};
#[cfg(roomkit_shuttle)]
pub(crate) use tokio::waker::AtomicWaker;

#[cfg(not(roomkit_shuttle))]
pub(crate) use futures_util::task::AtomicWaker;
#[cfg(not(roomkit_shuttle))]
pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic};
