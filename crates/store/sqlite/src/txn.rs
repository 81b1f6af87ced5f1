//! The transaction in hand: the database, and the rooms as it will leave them.

use std::collections::HashMap;

use roomkit_core::model::RoomId;
use roomkit_core::{Error, Result};
use roomkit_store::PayloadKeys;
use rusqlite::Connection;

use crate::cache::{Cache, Entry};
use crate::room;

/// What a write works on. What it stages is seen by others only once all of it is committed.
pub(crate) struct Txn<'a> {
    pub(crate) db: &'a Connection,
    pub(crate) keys: Option<&'a PayloadKeys>,
    cache: &'a Cache,
    /// `None` where the room is gone.
    staged: HashMap<RoomId, Option<Entry>>,
    /// What the write at hand replaced in `staged`, the last replaced last.
    replaced: Vec<(RoomId, Option<Option<Entry>>)>,
    /// How many events wait for their words to be indexed, more than before.
    pub(crate) unindexed: usize,
}

impl<'a> Txn<'a> {
    pub(crate) fn new(db: &'a Connection, cache: &'a Cache, keys: Option<&'a PayloadKeys>) -> Self {
        Self {
            db,
            keys,
            cache,
            staged: HashMap::new(),
            replaced: Vec::new(),
            unindexed: 0,
        }
    }

    /// A room as it is within this transaction.
    pub(crate) fn find(&self, id: &RoomId) -> Result<Option<Entry>> {
        if let Some(staged) = self.staged.get(id) {
            return Ok(staged.clone());
        }
        match self.cache.get(id) {
            Ok(entry) => Ok(Some(entry)),
            Err(_) => room::load(self.db, id),
        }
    }

    /// A key for a new room.
    pub(crate) fn new_key(&self) -> Result<i64> {
        room::highest_key(self.db).map(|highest| self.cache.new_key(highest))
    }

    /// A room that has to be there.
    pub(crate) fn room(&self, id: &RoomId) -> Result<Entry> {
        self.find(id)?.ok_or_else(|| Error::room_not_found(id))
    }

    pub(crate) fn stage(&mut self, id: &RoomId, entry: Option<Entry>) {
        let before = self.staged.insert(id.clone(), entry);
        self.replaced.push((id.clone(), before));
    }

    /// Keeps what the write at hand has staged.
    pub(crate) fn keep(&mut self) {
        self.replaced.clear();
    }

    /// Drops what the write at hand has staged.
    pub(crate) fn undo(&mut self) {
        while let Some((id, before)) = self.replaced.pop() {
            match before {
                Some(entry) => self.staged.insert(id, entry),
                None => self.staged.remove(&id),
            };
        }
    }

    /// To be called once the transaction is committed.
    pub(crate) fn publish(self) -> usize {
        for (id, entry) in self.staged {
            self.cache.put(&id, entry);
        }
        self.unindexed
    }
}
