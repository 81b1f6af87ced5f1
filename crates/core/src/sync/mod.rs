//! What keeps concurrent work in order: keyed queues, room locks, the realtime backend, tracked tasks.

pub(crate) mod guard;
pub(crate) mod inside;
mod lock;
mod primitives;
pub(crate) mod queue;
mod realtime;
pub(crate) mod tasks;

use std::sync::PoisonError;

pub use lock::{FencingToken, InProcessLocks, RoomLock, RoomLockManager};
pub(crate) use primitives::{
    AtomicWaker, Mutex, MutexGuard, Numbers, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic,
    mpsc,
};
pub use realtime::{EphemeralHandler, InProcessRealtime, RealtimeBackend};

/// Locks a mutex whose data stays whole even where a holder panicked.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads an [`RwLock`] as [`lock`] locks a mutex.
pub(crate) fn read<T: ?Sized>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Writes an [`RwLock`] as [`lock`] locks a mutex.
pub(crate) fn write<T: ?Sized>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}
