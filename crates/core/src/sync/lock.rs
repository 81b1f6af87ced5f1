//! Room locks: what serialises deciding and committing in one room (RFC §13.5).

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::queue::{KeyedQueue, Ticket};
use crate::error::Result;
use crate::model::RoomId;

/// A number that grows with every holder of a lock, so that a store can refuse a late one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(pub u64);

/// A held room lock; dropping it lets the next one in.
pub struct RoomLock {
    token: Option<FencingToken>,
    _held: Held,
}

/// What ends with the lock.
enum Held {
    /// A place in a queue of this process, which needs no box.
    InProcess(#[expect(dead_code, reason = "held to be dropped")] Ticket<RoomId>),
    Other(#[expect(dead_code, reason = "held to be dropped")] Box<dyn Any + Send>),
}

impl RoomLock {
    /// A lock that is held for as long as `held` lives.
    pub fn new(held: impl Any + Send) -> Self {
        Self {
            token: None,
            _held: Held::Other(Box::new(held)),
        }
    }

    /// Adds the token that the store is to check at every commit made under this lock.
    #[must_use]
    pub fn with_token(mut self, token: FencingToken) -> Self {
        self.token = Some(token);
        self
    }

    /// The token that the store checks, where the lock manager gives one.
    #[must_use]
    pub fn token(&self) -> Option<FencingToken> {
        self.token
    }
}

impl fmt::Debug for RoomLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RoomLock")
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}

/// Hands out one lock per room (RFC §13.5).
///
/// An implementation is fair (first come, first served), cancel-safe (a dropped `acquire` neither
/// keeps the lock nor loses its turn for others) and keeps nothing for rooms that are idle.
#[async_trait]
pub trait RoomLockManager: Send + Sync + fmt::Debug + 'static {
    /// Waits for the lock of `room`.
    ///
    /// # Errors
    /// [`ErrorKind::LockTimeout`](crate::ErrorKind::LockTimeout) or
    /// [`ErrorKind::StoreFailed`](crate::ErrorKind::StoreFailed) where a lock service cannot grant it.
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock>;

    /// Whether other processes wait for the same locks.
    fn is_distributed(&self) -> bool {
        false
    }
}

/// Locks for one process: a fair queue per room, gone when the room is idle.
#[derive(Debug, Clone)]
pub struct InProcessLocks {
    rooms: Arc<KeyedQueue<RoomId>>,
}

impl InProcessLocks {
    /// A lock manager without any lock taken.
    #[must_use]
    pub fn new() -> Self {
        Self {
            rooms: Arc::new(KeyedQueue::new()),
        }
    }

    /// How many rooms are locked right now.
    #[must_use]
    pub fn locked_rooms(&self) -> usize {
        self.rooms.len()
    }
}

impl Default for InProcessLocks {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl RoomLockManager for InProcessLocks {
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock> {
        let Some(ticket) = self.rooms.enqueue(room.clone(), usize::MAX) else {
            return Err(crate::Error::new(
                crate::ErrorKind::LockTimeout,
                format!("no place in the queue for the lock of room {room}"),
            ));
        };
        ticket.turn().await;
        Ok(RoomLock {
            token: None,
            _held: Held::InProcess(ticket),
        })
    }
}
