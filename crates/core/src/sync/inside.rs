//! Where a call comes from: inside a hook or a channel of some kit, or from outside.
//!
//! A call made from inside must not wait for what waits for it: a delivery that the caller itself
//! holds up, or the room lock under which a hook runs.

use std::future::Future;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::model::RoomId;
use crate::pipeline::RouteKey;

tokio::task_local! {
    static INSIDE: Inside;
}

/// What is held further up and waited for by others; each of the kit with this number.
///
/// The innermost lies here, so that the usual case, which is one, is not allocated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inside {
    held: Option<Held>,
}

#[derive(Debug, Clone)]
struct Held {
    kit: u64,
    what: Turn,
    outer: Option<Arc<Held>>,
}

/// Something that one at a time has.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Turn {
    /// The lock of a room.
    Room(RoomId),
    /// The turn of a sender whose messages are routed one after the other.
    Sender(RouteKey),
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
        Self::holding(kit, Turn::Room(room.clone()))
    }

    /// A place in the turn of a sender.
    pub(crate) fn in_turn(kit: u64, sender: &RouteKey) -> Self {
        Self::holding(kit, Turn::Sender(sender.clone()))
    }

    fn holding(kit: u64, what: Turn) -> Self {
        let outer = Self::current().and_then(|inside| inside.held.map(Arc::new));
        Self {
            held: Some(Held { kit, what, outer }),
        }
    }

    /// Runs `future` at this place.
    pub(crate) fn scope<F: Future>(self, future: F) -> impl Future<Output = F::Output> {
        INSIDE.scope(self, future)
    }

    /// Refuses to lock a room that is locked further up, which would wait for itself.
    pub(crate) fn check(kit: u64, room: &RoomId) -> Result<()> {
        let is_held = Self::holds(kit, |what| matches!(what, Turn::Room(held) if held == room));
        refuse(is_held, || {
            format!("called from a hook that runs under the lock of room {room}")
        })
    }

    /// Refuses to wait for the turn of a sender whose turn it is further up.
    pub(crate) fn check_turn(kit: u64, sender: &RouteKey) -> Result<()> {
        let is_held = Self::holds(
            kit,
            |what| matches!(what, Turn::Sender(held) if held == sender),
        );
        refuse(is_held, || {
            "called while an earlier message of the same sender is taken in".to_owned()
        })
    }

    fn holds(kit: u64, is: impl Fn(&Turn) -> bool) -> bool {
        let holds = |inside: &Self| {
            let mut next = inside.held.as_ref();
            while let Some(held) = next {
                if held.kit == kit && is(&held.what) {
                    return true;
                }
                next = held.outer.as_deref();
            }
            false
        };
        INSIDE.try_with(holds).unwrap_or(false)
    }
}

fn refuse(is_held: bool, why: impl FnOnce() -> String) -> Result<()> {
    if is_held {
        return Err(Error::new(ErrorKind::InsideRoomLock, why()));
    }
    Ok(())
}
