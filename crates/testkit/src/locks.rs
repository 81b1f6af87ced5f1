//! The suite that every [`RoomLockManager`] passes.
//!
//! ```
//! use std::sync::Arc;
//!
//! use roomkit_core::sync::InProcessLocks;
//! use roomkit_testkit::locks::TestLocks;
//!
//! async fn make_locks() -> TestLocks {
//!     TestLocks::new(Arc::new(InProcessLocks::new()))
//! }
//!
//! roomkit_testkit::lock_conformance!(make_locks);
//! # fn main() {}
//! ```

#![allow(missing_docs, reason = "the name of a test says what it tests")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a suite is tests, which fail by panicking"
)]

#[doc(hidden)]
pub mod suite;

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use roomkit_core::sync::RoomLockManager;

type Another = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn RoomLockManager>> + Send + Sync>;

/// A lock manager for one test, without any lock taken.
pub struct TestLocks {
    locks: Arc<dyn RoomLockManager>,
    another: Option<Another>,
    kept: Vec<Box<dyn Any + Send + Sync>>,
}

impl TestLocks {
    /// A lock manager of one process.
    pub fn new(locks: Arc<dyn RoomLockManager>) -> Self {
        Self {
            locks,
            another: None,
            kept: Vec::new(),
        }
    }

    /// Keeps what the locks live on until the test is over.
    #[must_use]
    pub fn kept(mut self, resource: impl Any + Send + Sync) -> Self {
        self.kept.push(Box::new(resource));
        self
    }

    /// How another process would get at the same locks. Needed where they are
    /// [distributed](RoomLockManager::is_distributed).
    #[must_use]
    pub fn another_by<F, Fut>(mut self, open: F) -> Self
    where
        F: Fn() -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Arc<dyn RoomLockManager>> + Send + 'static,
    {
        self.another = Some(Box::new(move || Box::pin(open())));
        self
    }

    /// Two managers of the same locks; the same one twice where it is of one process.
    async fn two(&self) -> [Arc<dyn RoomLockManager>; 2] {
        let another = match &self.another {
            Some(another) => another().await,
            None => {
                assert!(
                    !self.locks.is_distributed(),
                    "say how another process gets at them"
                );
                Arc::clone(&self.locks)
            }
        };
        [Arc::clone(&self.locks), another]
    }
}

impl fmt::Debug for TestLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TestLocks")
            .field("locks", &self.locks)
            .field("distributed", &self.another.is_some())
            .finish_non_exhaustive()
    }
}

/// Makes a test of each promise that a [`RoomLockManager`] gives; see the [module](crate::locks).
///
/// `make_locks` is an `async fn() -> TestLocks`; each test calls it once.
#[macro_export]
macro_rules! lock_conformance {
    ($make_locks:expr) => {
        $crate::__suite! { lock_conformance, $crate::locks::suite, $make_locks;
            one_holder_at_a_time_in_a_room
            rooms_do_not_wait_for_one_another
            a_lock_is_had_in_the_order_of_asking
            a_wait_that_is_given_up_holds_up_nobody
            tokens_grow_with_every_holder
            a_holder_that_panics_lets_the_next_in
        }
    };
}
