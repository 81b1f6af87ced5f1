//! Where a call comes from: inside a hook or a channel of some kit, or from outside.
//!
//! A call made from inside must not wait for what waits for it: a delivery that the caller itself
//! holds up, or the room lock under which a hook runs.

use std::future::Future;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::RoomId;

tokio::task_local! {
    static INSIDE: Inside;
}

/// The rooms whose locks are held further up; each of the kit with this number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inside {
    locked: Option<Arc<Locked>>,
}

#[derive(Debug)]
struct Locked {
    kit: u64,
    room: RoomId,
    outer: Option<Arc<Locked>>,
}

impl Inside {
    /// The place that the running task is at; `None` outside of every hook and channel.
    pub(crate) fn current() -> Option<Self> {
        INSIDE.try_with(Self::clone).ok()
    }

    /// A place inside a channel's call, where no further lock is held.
    pub(crate) fn channel() -> Self {
        Self::current().unwrap_or_default()
    }

    /// A place under the lock of a room.
    pub(crate) fn under_lock(kit: u64, room: &RoomId) -> Self {
        let outer = Self::current().and_then(|inside| inside.locked);
        Self {
            locked: Some(Arc::new(Locked {
                kit,
                room: room.clone(),
                outer,
            })),
        }
    }

    /// Runs `future` at this place.
    pub(crate) fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        INSIDE.scope(self, future)
    }

    /// Refuses to lock a room that is locked further up, which would wait for itself.
    pub(crate) fn check(kit: u64, room: &RoomId) -> Result<()> {
        let inside = Self::current();
        let mut next = inside.as_ref().and_then(|inside| inside.locked.as_ref());
        while let Some(locked) = next {
            if locked.kit == kit && locked.room == *room {
                return Err(Error::new(
                    ErrorKind::InsideRoomLock,
                    format!("called from a hook that runs under the lock of room {room}"),
                ));
            }
            next = locked.outer.as_ref();
        }
        Ok(())
    }
}
