//! The store that keeps everything in memory, spread over shards by room.

mod archive;
mod events;
mod history;
mod people;
mod record;
mod rooms;
mod work;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::hash::BuildHasher;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use foldhash::fast::RandomState;

use self::record::RoomRecord;
use super::{CommitBatch, CommitReceipt, ConversationStore, RoomCommit, RoomSnapshot};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelId, ChannelType, Identity, IdentityId, OrganizationId, ParticipantId, RoomId,
};
use crate::sync::lock;
use crate::sync::{Mutex, MutexGuard};

/// How many independent maps the rooms are spread over.
const SHARDS: usize = 64;

type Shard = HashMap<RoomId, RoomRecord, RandomState>;

/// A store in memory: for tests, prototypes and whatever need not outlive the process.
///
/// Events are shared, not copied, with whoever reads them. Nothing is ever evicted: it holds what
/// was put into it until the room is deleted or the store is dropped.
pub struct MemoryStore {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    index: Mutex<Index>,
    identities: Mutex<BTreeMap<(Option<OrganizationId>, IdentityId), Identity>>,
}

/// What is looked up across rooms. Locked after a shard, never before one.
#[derive(Default)]
struct Index {
    by_age: BTreeSet<(DateTime<Utc>, RoomId)>,
    /// Open rooms alone, so that an answer is as far away as it is long.
    by_sender: HashMap<SenderKey, BTreeSet<RoomId>>,
    by_channel: HashMap<ChannelKey, BTreeSet<RoomId>>,
}

/// A sender of an organisation over a type of channel.
type SenderKey = (Option<OrganizationId>, ChannelType, ParticipantId);

/// A channel in an organisation.
type ChannelKey = (Option<OrganizationId>, ChannelId);

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            index: Mutex::default(),
            identities: Mutex::default(),
        }
    }

    fn shard_number(&self, room: &RoomId) -> usize {
        usize::try_from(self.hasher.hash_one(room) % SHARDS as u64).unwrap_or_default()
    }

    /// Runs `read` on a room's record, if there is one.
    fn with<T>(&self, room: &RoomId, read: impl FnOnce(&mut RoomRecord) -> T) -> Option<T> {
        let mut shard = lock(self.shards.get(self.shard_number(room))?);
        shard.get_mut(room).map(read)
    }

    /// Takes in a room, if its id is free.
    fn insert(&self, record: RoomRecord) -> Result<RoomSnapshot> {
        let id = record.room.id.clone();
        let Some(shard) = self.shards.get(self.shard_number(&id)) else {
            return Err(Error::new(ErrorKind::StoreFailed, "no shard for the room"));
        };
        let mut shard = lock(shard);
        if shard.contains_key(&id) {
            return Err(Error::room_already_exists(&id));
        }
        let snapshot = record.snapshot();
        record.remember(&mut lock(&self.index));
        shard.insert(id, record);
        Ok(snapshot)
    }

    /// A commit to one room, which most are.
    fn commit_one(&self, commit: RoomCommit) -> Result<CommitReceipt> {
        let not_found = || Error::room_not_found(&commit.room_id);
        let shard = self
            .shards
            .get(self.shard_number(&commit.room_id))
            .ok_or_else(not_found)?;
        let mut shard = lock(shard);
        let record = shard.get_mut(&commit.room_id).ok_or_else(not_found)?;
        record.check(&commit)?;
        record.apply(commit, &self.index);
        Ok(record.snapshot().into())
    }

    /// Locks the shards of all these rooms, each once and in one order.
    fn lock_all<'a>(
        &self,
        rooms: impl Iterator<Item = &'a RoomId>,
    ) -> BTreeMap<usize, MutexGuard<'_, Shard>> {
        let numbers: BTreeSet<usize> = rooms.map(|room| self.shard_number(room)).collect();
        numbers
            .into_iter()
            .filter_map(|number| self.shards.get(number).map(|shard| (number, lock(shard))))
            .collect()
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rooms: usize = self.shards.iter().map(|shard| lock(shard).len()).sum();
        f.debug_struct("MemoryStore")
            .field("rooms", &rooms)
            .finish_non_exhaustive()
    }
}

#[async_trait]
impl ConversationStore for MemoryStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        let batch = match batch.into_single() {
            Ok(commit) => return self.commit_one(commit),
            Err(batch) => batch,
        };
        let mut rooms = BTreeSet::new();
        if let Some(twice) = batch.iter().find(|commit| !rooms.insert(&commit.room_id)) {
            let problem = format!("room {} is twice in one batch", twice.room_id);
            return Err(Error::new(ErrorKind::StoreFailed, problem));
        }
        let mut shards = self.lock_all(batch.iter().map(|commit| &commit.room_id));
        for commit in batch.iter() {
            let shard = shards.get(&self.shard_number(&commit.room_id));
            let record = shard
                .and_then(|shard| shard.get(&commit.room_id))
                .ok_or_else(|| Error::room_not_found(&commit.room_id))?;
            record.check(commit)?;
        }
        let mut rooms = Vec::new();
        for commit in batch {
            let number = self.shard_number(&commit.room_id);
            let record = shards
                .get_mut(&number)
                .and_then(|shard| shard.get_mut(&commit.room_id));
            let Some(record) = record else { continue };
            record.apply(commit, &self.index);
            rooms.push(record.snapshot());
        }
        CommitReceipt::of(rooms)
    }
}
