//! As much of tokio as the core uses: tasks are shuttle's, which decides at every lock and atomic
//! who goes on, and what tasks wait on is tokio's own, which needs no runtime.
//!
//! A call to one of tokio's own primitives is one step to the checker. That loses nothing that is
//! the core's: they are checked where they are made, and every interleaving of the calls is tried.

pub mod runtime;
pub mod task;
pub mod waker;

pub use ::tokio::{io, sync, time};
pub use task::spawn;

#[doc(hidden)]
pub use shuttle;

/// Declares a value that a task has for as long as a scope lasts, as tokio's macro does.
#[macro_export]
macro_rules! task_local {
    (static $name:ident: $type:ty;) => {
        static $name: $crate::task::LocalKey<$type> = {
            $crate::shuttle::thread_local! {
                static SLOT: ::std::cell::RefCell<Option<$type>> = ::std::cell::RefCell::new(None);
            }
            $crate::task::LocalKey::new(&SLOT)
        };
    };
}
