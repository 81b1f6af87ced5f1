//! Functions that are told of what happens: each in order, in the background, none waiting for another.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::tasks::Tasks;
use crate::sync::{Mutex, RwLock};
use crate::sync::{lock, read, write};

/// How much waits for one slow listener before the oldest is dropped.
const BACKLOG: usize = 10_000;

type Call<E> = Box<dyn Fn(E) -> BoxFuture<'static, ()> + Send + Sync>;

/// Listeners to things of type `E`, each for what its filter, of type `F`, lets through.
pub(crate) struct Listeners<F, E> {
    listeners: RwLock<Vec<Arc<Listener<F, E>>>>,
    heard: AtomicBool,
}

struct Listener<F, E> {
    filter: F,
    call: Call<E>,
    backlog: Mutex<Backlog<E>>,
}

struct Backlog<E> {
    waiting: VecDeque<E>,
    /// Whether a task is at work on them.
    draining: bool,
}

impl<F, E> Default for Listeners<F, E> {
    fn default() -> Self {
        Self {
            listeners: RwLock::default(),
            heard: AtomicBool::new(false),
        }
    }
}

impl<F: Send + Sync + 'static, E: Clone + Send + 'static> Listeners<F, E> {
    pub(crate) fn listen<C, Fut>(&self, filter: F, function: C)
    where
        C: Fn(E) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let call: Call<E> = Box::new(move |told| Box::pin(function(told)));
        write(&self.listeners).push(Arc::new(Listener {
            filter,
            call,
            backlog: Mutex::new(Backlog {
                waiting: VecDeque::new(),
                draining: false,
            }),
        }));
        self.heard.store(true, Ordering::Release);
    }

    /// Whether anybody listens to anything.
    pub(crate) fn is_heard(&self) -> bool {
        self.heard.load(Ordering::Acquire)
    }

    /// Tells those whose filter `wants` it; it is made only where there is one.
    pub(crate) fn tell(
        &self,
        tasks: &Arc<Tasks>,
        wants: impl Fn(&F) -> bool,
        make: impl FnOnce() -> E,
    ) {
        if !self.is_heard() {
            return;
        }
        let listeners: Vec<_> = read(&self.listeners)
            .iter()
            .filter(|listener| wants(&listener.filter))
            .cloned()
            .collect();
        if listeners.is_empty() {
            return;
        }
        let told = make();
        for listener in listeners {
            if listener.push(told.clone()) {
                let ended = false;
                tasks.spawn(Drain { listener, ended }.run());
            }
        }
    }
}

impl<F, E> Listener<F, E> {
    /// Adds one more; `true` when a task has to be started for it.
    fn push(&self, told: E) -> bool {
        let mut backlog = lock(&self.backlog);
        if backlog.waiting.len() >= BACKLOG {
            backlog.waiting.pop_front();
            tracing::warn!("slow listener: the oldest of what it is told was dropped");
        }
        backlog.waiting.push_back(told);
        !std::mem::replace(&mut backlog.draining, true)
    }

    /// The next; without one, nobody is at work on the backlog from now on.
    fn next(&self) -> Option<E> {
        let mut backlog = lock(&self.backlog);
        let next = backlog.waiting.pop_front();
        backlog.draining = next.is_some();
        next
    }
}

/// The work on a listener's backlog. Dropped before its end, or before its beginning, it leaves the
/// rest to the work that is started next.
struct Drain<F, E> {
    listener: Arc<Listener<F, E>>,
    ended: bool,
}

impl<F, E> Drain<F, E> {
    async fn run(mut self) {
        while let Some(told) = self.listener.next() {
            let call = AssertUnwindSafe(async { (self.listener.call)(told).await });
            if call.catch_unwind().await.is_err() {
                tracing::error!("listener panicked");
            }
        }
        self.ended = true;
    }
}

impl<F, E> Drop for Drain<F, E> {
    fn drop(&mut self) {
        if !self.ended {
            lock(&self.listener.backlog).draining = false;
        }
    }
}

impl<F, E> fmt::Debug for Listeners<F, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners")
            .field("listeners", &read(&self.listeners).len())
            .finish()
    }
}
