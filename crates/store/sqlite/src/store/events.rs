//! Events: reading, searching, and what removes them.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{EventId, RoomEvent, RoomId, ThreadSummary};
use roomkit_core::store::{EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome};
use rusqlite::{Row, params};

use super::SqliteStore;
use crate::sql::Sql;
use crate::{event, retention, search};

/// The longest answer that one statement gives.
const ONE_PAGE: usize = 256;

#[async_trait]
impl EventStore for SqliteStore {
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>> {
        let (room, id, keys) = (room.clone(), event.clone(), self.keys.clone());
        self.readers
            .read(move |db| event::by_id(db, keys.as_deref(), room.as_str(), &id))
            .await
    }

    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        let one_page = query.filter.is_none() && query.limit <= ONE_PAGE;
        let (id, query, keys) = (room.clone(), query.clone(), self.keys.clone());
        let read = move |db: &rusqlite::Connection| match crate::room::key_of(db, &id)? {
            Some(room) => event::query(db, keys.as_deref(), room, &query),
            None => Ok(Vec::new()),
        };
        if one_page {
            self.readers.read(read).await
        } else {
            self.readers.read_at_once(read).await
        }
    }

    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>> {
        let (room, id, keys) = (room.clone(), event.clone(), self.keys.clone());
        self.readers
            .read_at_once(move |db| event::versions(db, keys.as_deref(), room.as_str(), &id))
            .await
    }

    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>> {
        let (room, key) = (room.clone(), key.to_owned());
        self.readers
            .read(move |db| {
                db.one(
                    format_args!("looking for an idempotency key in room {room}"),
                    "SELECT key, event_id, blocked, reason FROM outcomes \
                     WHERE room = (SELECT key FROM rooms WHERE id = ?1) AND key = ?2",
                    params![room.as_str(), key],
                    outcome,
                )
            })
            .await
    }

    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        let (search, keys) = (search.clone(), self.keys.clone());
        self.readers
            .read_at_once(move |db| search::search(db, keys.as_deref(), &search))
            .await
    }

    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64> {
        let (room, events) = (room.clone(), events.to_vec());
        self.write(move |txn| match txn.find(&room)? {
            Some(entry) => retention::delete(txn.db, entry.key, &events),
            None => Ok(0),
        })
        .await
    }

    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        let expiry = expiry.clone();
        self.write(move |txn| retention::expire(txn, &expiry, limit))
            .await
    }

    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        let (id, roots) = (room.clone(), roots.to_vec());
        self.readers
            .read_at_once(move |db| {
                let room = crate::room::key_of(db, &id)?;
                roots
                    .iter()
                    .map(|root| event::thread_summary(db, room, root))
                    .collect()
            })
            .await
    }
}

/// From `key, event_id, blocked, reason`.
pub(crate) fn outcome(row: &Row<'_>) -> rusqlite::Result<IdempotentOutcome> {
    Ok(IdempotentOutcome {
        key: row.get(0)?,
        event_id: row.get::<_, String>(1)?.into(),
        blocked: row.get(2)?,
        reason: row.get(3)?,
    })
}
