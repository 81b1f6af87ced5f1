//! Rooms kept in memory: the last used ones, as the newest commit left them.

use std::hash::BuildHasher;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState as Fold;
use hashlink::LruCache;
use roomkit_core::model::RoomId;
use roomkit_core::store::{RoomSnapshot, Speaker};

const SHARDS: usize = 16;
/// Speakers of a room that are known to be in the database.
const SPEAKERS: usize = 16;

/// A room as it is in the database.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: i64,
    pub(crate) snapshot: RoomSnapshot,
    pub(crate) fencing: Option<u64>,
    /// The latest speakers whose rows are there already.
    speakers: Arc<Vec<Speaker>>,
}

impl Entry {
    pub(crate) fn new(key: i64, snapshot: RoomSnapshot, fencing: Option<u64>) -> Self {
        Self {
            key,
            snapshot,
            fencing,
            speakers: Arc::default(),
        }
    }

    pub(crate) fn knows(&self, speaker: &Speaker) -> bool {
        self.speakers.contains(speaker)
    }

    pub(crate) fn note(&mut self, speaker: Speaker) {
        let speakers = Arc::make_mut(&mut self.speakers);
        if speakers.len() >= SPEAKERS {
            speakers.remove(0);
        }
        speakers.push(speaker);
    }

    /// To be called where a participant was changed or removed.
    pub(crate) fn forget_speakers(&mut self) {
        self.speakers = Arc::default();
    }
}

#[derive(Debug)]
struct Shard {
    rooms: LruCache<RoomId, Entry, Fold>,
    /// Grows with every change, so that who read the database before one does not undo it here.
    changes: u64,
}

/// Only what is committed gets in. Who commits is one; who reads is many.
#[derive(Debug)]
pub(crate) struct Cache {
    shards: Vec<Mutex<Shard>>,
    hasher: Fold,
}

/// When a reader began to read the database.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment(u64);

impl Cache {
    pub(crate) fn new(rooms: usize) -> Self {
        let each = rooms.div_ceil(SHARDS);
        let shard = |_| {
            Mutex::new(Shard {
                rooms: LruCache::with_hasher(each, Fold::default()),
                changes: 0,
            })
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            hasher: Fold::default(),
        }
    }

    fn shard(&self, room: &RoomId) -> Option<MutexGuard<'_, Shard>> {
        let number = self.hasher.hash_one(room) % SHARDS as u64;
        let shard = self
            .shards
            .get(usize::try_from(number).unwrap_or_default())?;
        Some(shard.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The room, or when it was looked for in vain.
    pub(crate) fn get(&self, room: &RoomId) -> Result<Entry, Moment> {
        let Some(mut shard) = self.shard(room) else {
            return Err(Moment(0));
        };
        match shard.rooms.get(room) {
            Some(entry) => Ok(entry.clone()),
            None => Err(Moment(shard.changes)),
        }
    }

    /// Takes in what was read since `moment`, unless a room near it has changed in between.
    pub(crate) fn fill(&self, room: &RoomId, entry: Entry, moment: Moment) {
        if let Some(mut shard) = self.shard(room)
            && shard.changes == moment.0
        {
            shard.rooms.insert(room.clone(), entry);
        }
    }

    /// What was just committed; nothing where the room is gone.
    pub(crate) fn put(&self, room: &RoomId, entry: Option<Entry>) {
        let Some(mut shard) = self.shard(room) else {
            return;
        };
        shard.changes += 1;
        match entry {
            Some(entry) => {
                shard.rooms.insert(room.clone(), entry);
            }
            None => {
                shard.rooms.remove(room);
            }
        }
    }
}
