//! Locks that outlive a panic: a test that panicked must not hide what the mocks recorded.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Takes a lock, poisoned or not.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A list that many parts add to and one reads.
#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone> Log<T> {
    pub(crate) fn push(&self, entry: T) {
        lock(&self.0).push(entry);
    }

    pub(crate) fn entries(&self) -> Vec<T> {
        lock(&self.0).clone()
    }

    pub(crate) fn clear(&self) {
        lock(&self.0).clear();
    }
}

impl<T> Default for Log<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}
