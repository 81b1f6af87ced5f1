//! The waker of one task, as `futures_util::task::AtomicWaker` keeps it, with steps that the checker
//! sees: what happens between a look and a registration is what goes wrong.

use std::sync::PoisonError;
use std::task::Waker;

use shuttle::sync::{Mutex, MutexGuard};

/// The waker of whoever waits.
#[derive(Debug, Default)]
pub struct AtomicWaker(Mutex<Option<Waker>>);

impl AtomicWaker {
    /// Of nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on this one is woken.
    pub fn register(&self, waker: &Waker) {
        *self.lock() = Some(waker.clone());
    }

    /// Wakes whoever is registered.
    pub fn wake(&self) {
        let waker = self.lock().take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waker>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
