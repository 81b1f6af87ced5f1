//! Framework events: global notices of what the kit does, stored in no timeline (RFC §8.2).

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::model::{FrameworkEvent, FrameworkEventType};
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::tasks::Tasks;
use crate::sync::{Mutex, RwLock};
use crate::sync::{lock, read, write};

/// How many events wait for one slow listener before the oldest are dropped.
const BACKLOG: usize = 10_000;

type Call = Box<dyn Fn(FrameworkEvent) -> BoxFuture<'static, ()> + Send + Sync>;

/// The listeners of `kit.on(...)`; each gets its events in order, and none waits for another.
#[derive(Default)]
pub(crate) struct FrameworkEvents {
    listeners: RwLock<Vec<Arc<Listener>>>,
    heard: AtomicBool,
}

struct Listener {
    /// `None` hears everything.
    event_type: Option<FrameworkEventType>,
    call: Call,
    backlog: Mutex<Backlog>,
}

#[derive(Default)]
struct Backlog {
    events: VecDeque<FrameworkEvent>,
    /// Whether a task is at work on them.
    draining: bool,
}

impl FrameworkEvents {
    pub(crate) fn listen<F, Fut>(&self, event_type: Option<FrameworkEventType>, function: F)
    where
        F: Fn(FrameworkEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let call: Call = Box::new(move |event| Box::pin(function(event)));
        write(&self.listeners).push(Arc::new(Listener {
            event_type,
            call,
            backlog: Mutex::default(),
        }));
        self.heard.store(true, Ordering::Release);
    }

    /// Tells the listeners; `event` is made only where there is one.
    pub(crate) fn emit(
        &self,
        tasks: &Arc<Tasks>,
        event_type: &FrameworkEventType,
        event: impl FnOnce() -> FrameworkEvent,
    ) {
        if !self.heard.load(Ordering::Acquire) {
            return;
        }
        let listeners: Vec<_> = read(&self.listeners)
            .iter()
            .filter(|listener| {
                listener
                    .event_type
                    .as_ref()
                    .is_none_or(|of| of == event_type)
            })
            .cloned()
            .collect();
        if listeners.is_empty() {
            return;
        }
        let event = event();
        for listener in listeners {
            if listener.push(event.clone()) {
                let ended = false;
                tasks.spawn(Drain { listener, ended }.run());
            }
        }
    }
}

impl Listener {
    /// Adds an event; `true` when a task has to be started for it.
    fn push(&self, event: FrameworkEvent) -> bool {
        let mut backlog = lock(&self.backlog);
        if backlog.events.len() >= BACKLOG {
            backlog.events.pop_front();
            tracing::warn!("slow listener: oldest framework event dropped");
        }
        backlog.events.push_back(event);
        !std::mem::replace(&mut backlog.draining, true)
    }

    /// The next event; without one, nobody is at work on the backlog from now on.
    fn next(&self) -> Option<FrameworkEvent> {
        let mut backlog = lock(&self.backlog);
        let event = backlog.events.pop_front();
        backlog.draining = event.is_some();
        event
    }
}

/// The work on a listener's backlog. Dropped before its end, or before its beginning, it leaves the
/// rest to the work that the next event starts.
struct Drain {
    listener: Arc<Listener>,
    ended: bool,
}

impl Drain {
    async fn run(mut self) {
        while let Some(event) = self.listener.next() {
            let call = AssertUnwindSafe(async { (self.listener.call)(event).await });
            if call.catch_unwind().await.is_err() {
                tracing::error!("listener panicked on a framework event");
            }
        }
        self.ended = true;
    }
}

impl Drop for Drain {
    fn drop(&mut self) {
        if !self.ended {
            lock(&self.listener.backlog).draining = false;
        }
    }
}

impl fmt::Debug for FrameworkEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FrameworkEvents")
            .field("listeners", &read(&self.listeners).len())
            .finish()
    }
}
