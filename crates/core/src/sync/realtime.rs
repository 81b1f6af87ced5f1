//! The realtime backend: events that are heard now or never, and are stored nowhere (RFC §8.4).

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::task::AbortHandle;

use super::{Mutex, lock};
use crate::error::Result;
use crate::model::{EphemeralEvent, RoomId, SubscriptionId};

/// What a subscriber does with each ephemeral event.
pub type EphemeralHandler = Arc<dyn Fn(EphemeralEvent) -> BoxFuture<'static, ()> + Send + Sync>;

/// Carries ephemeral events to whoever listens to a room, in this process or in others.
#[async_trait]
pub trait RealtimeBackend: Send + Sync + fmt::Debug + 'static {
    /// Publishes an event to the subscribers of its room; it never waits for a subscriber.
    ///
    /// # Errors
    /// Where the service behind the backend cannot be reached.
    async fn publish(&self, event: EphemeralEvent) -> Result<()>;

    /// Calls `handler` with each event of `room` from now on, one after the other.
    ///
    /// # Errors
    /// Where the service behind the backend cannot be reached.
    async fn subscribe(&self, room: &RoomId, handler: EphemeralHandler) -> Result<SubscriptionId>;

    /// Ends a subscription; `false` when there is none with this id.
    ///
    /// # Errors
    /// Where the service behind the backend cannot be reached.
    async fn unsubscribe(&self, subscription: &SubscriptionId) -> Result<bool>;

    /// Ends every subscription and lets go of connections.
    async fn close(&self) {}
}

/// How many events wait for one slow subscriber before the oldest are dropped.
const BACKLOG: usize = 256;

/// The backend for one process. A subscriber that lags by more than 256 events loses the oldest.
#[derive(Default)]
pub struct InProcessRealtime {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    rooms: HashMap<RoomId, Vec<Arc<Subscriber>>>,
    by_id: HashMap<SubscriptionId, RoomId>,
}

struct Subscriber {
    id: SubscriptionId,
    backlog: Mutex<VecDeque<EphemeralEvent>>,
    news: Notify,
    task: Mutex<Option<AbortHandle>>,
}

impl InProcessRealtime {
    /// A backend without subscribers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl Subscriber {
    fn push(&self, event: EphemeralEvent) {
        let mut backlog = lock(&self.backlog);
        if backlog.len() >= BACKLOG {
            backlog.pop_front();
            tracing::warn!(subscription = %self.id, "slow subscriber: oldest ephemeral event dropped");
        }
        backlog.push_back(event);
        drop(backlog);
        self.news.notify_one();
    }

    async fn run(self: Arc<Self>, handler: EphemeralHandler) {
        loop {
            let next = lock(&self.backlog).pop_front();
            let Some(event) = next else {
                self.news.notified().await;
                continue;
            };
            let call = std::panic::AssertUnwindSafe(async { handler(event).await });
            if call.catch_unwind().await.is_err() {
                tracing::error!(subscription = %self.id, "subscriber panicked on an ephemeral event");
            }
        }
    }

    fn stop(&self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

#[async_trait]
impl RealtimeBackend for InProcessRealtime {
    async fn publish(&self, event: EphemeralEvent) -> Result<()> {
        let subscribers = lock(&self.state)
            .rooms
            .get(&event.room_id)
            .cloned()
            .unwrap_or_default();
        for subscriber in subscribers {
            subscriber.push(event.clone());
        }
        Ok(())
    }

    async fn subscribe(&self, room: &RoomId, handler: EphemeralHandler) -> Result<SubscriptionId> {
        let subscriber = Arc::new(Subscriber {
            id: SubscriptionId::generate(),
            backlog: Mutex::default(),
            news: Notify::new(),
            task: Mutex::default(),
        });
        let task = tokio::spawn(Arc::clone(&subscriber).run(handler));
        *lock(&subscriber.task) = Some(task.abort_handle());
        let id = subscriber.id.clone();
        let mut state = lock(&self.state);
        state.by_id.insert(id.clone(), room.clone());
        state
            .rooms
            .entry(room.clone())
            .or_default()
            .push(subscriber);
        Ok(id)
    }

    async fn unsubscribe(&self, subscription: &SubscriptionId) -> Result<bool> {
        let mut state = lock(&self.state);
        let Some(room) = state.by_id.remove(subscription) else {
            return Ok(false);
        };
        if let Some(subscribers) = state.rooms.get_mut(&room) {
            for gone in subscribers.extract_if(.., |subscriber| subscriber.id == *subscription) {
                gone.stop();
            }
            if subscribers.is_empty() {
                state.rooms.remove(&room);
            }
        }
        Ok(true)
    }

    async fn close(&self) {
        let state = std::mem::take(&mut *lock(&self.state));
        for subscriber in state.rooms.into_values().flatten() {
            subscriber.stop();
        }
    }
}

impl Drop for InProcessRealtime {
    fn drop(&mut self) {
        for subscriber in lock(&self.state).rooms.values().flatten() {
            subscriber.stop();
        }
    }
}

impl fmt::Debug for InProcessRealtime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = lock(&self.state);
        f.debug_struct("InProcessRealtime")
            .field("subscriptions", &state.by_id.len())
            .finish()
    }
}
