#![doc = include_str!("../README.md")]

mod delegate;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit_core::Result;
use roomkit_core::store::ConversationStore;

/// How often something was called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Calls {
    /// All calls that came to an end.
    pub all: u64,
    /// Those that failed.
    pub failed: u64,
}

/// A store that counts the calls of another one.
#[derive(Debug)]
pub struct CountingStore {
    inner: Arc<dyn ConversationStore>,
    calls: Mutex<BTreeMap<&'static str, Calls>>,
}

impl CountingStore {
    /// Counts the calls of `inner` from now on.
    #[must_use]
    pub fn new(inner: Arc<dyn ConversationStore>) -> Self {
        Self {
            inner,
            calls: Mutex::default(),
        }
    }

    /// The calls so far, by name.
    #[must_use]
    pub fn calls(&self) -> BTreeMap<&'static str, Calls> {
        self.calls
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Counts a call that has ended.
    fn count<T>(&self, name: &'static str, result: Result<T>) -> Result<T> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let calls = calls.entry(name).or_default();
        calls.all += 1;
        calls.failed += u64::from(result.is_err());
        result
    }
}
