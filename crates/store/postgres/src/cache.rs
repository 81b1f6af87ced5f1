//! The parts of a room that seldom change, as they were last read, by the stamps that tell whether they
//! still hold. The server compares the stamps, so a room that another process changed is never taken
//! for what it was.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit_core::model::{ChannelBinding, ChannelId, Room, RoomId};

/// How many rooms are kept, about.
const ROOMS: usize = 16 * 1024;

/// What is kept of a room.
#[derive(Clone)]
pub(crate) struct Cached {
    pub(crate) data_stamp: i64,
    /// The room with counters and times that are not of today.
    pub(crate) room: Arc<Room>,
    pub(crate) bindings_stamp: i64,
    pub(crate) bindings: Arc<[Arc<ChannelBinding>]>,
    pub(crate) detached: Arc<BTreeSet<ChannelId>>,
}

/// Rooms by id, in two generations: when the younger is full it becomes the older, and what was not
/// asked for since is forgotten.
#[derive(Default)]
pub(crate) struct Cache(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<RoomId, Cached>,
    old: HashMap<RoomId, Cached>,
}

impl Cache {
    pub(crate) fn get(&self, room: &RoomId) -> Option<Cached> {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = rooms.young.get(room) {
            return Some(cached.clone());
        }
        let cached = rooms.old.remove(room)?;
        rooms.put(room, cached.clone());
        Some(cached)
    }

    pub(crate) fn put(&self, room: &RoomId, cached: Cached) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.put(room, cached);
    }

    pub(crate) fn forget(&self, room: &RoomId) {
        let mut rooms = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        rooms.young.remove(room);
        rooms.old.remove(room);
    }
}

impl Generations {
    fn put(&mut self, room: &RoomId, cached: Cached) {
        if self.young.len() >= ROOMS / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(room.clone(), cached);
    }
}

impl fmt::Debug for Cache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}
