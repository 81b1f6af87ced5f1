//! Events of the memory store.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::MemoryStore;
use crate::error::Result;
use crate::model::{EventId, RoomEvent, RoomId, ThreadSummary};
use crate::store::{EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome};

/// The place of an index in the list of events; beyond the end where it does not fit.
fn place(index: u64) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn select(events: &[Option<Arc<RoomEvent>>], query: &EventQuery) -> Vec<Arc<RoomEvent>> {
    let start = query
        .after
        .map_or(0, |after| place(after).saturating_add(1))
        .min(events.len());
    let end = query
        .before
        .map_or(events.len(), place)
        .clamp(start, events.len());
    let range = events.get(start..end).unwrap_or_default();
    let wanted = |event: &&Arc<RoomEvent>| {
        query
            .filter
            .as_ref()
            .is_none_or(|filter| filter.matches(event))
    };
    let found = range.iter().flatten();
    if query.from_end {
        let mut found: Vec<_> = found
            .rev()
            .filter(wanted)
            .skip(query.offset)
            .take(query.limit)
            .cloned()
            .collect();
        found.reverse();
        found
    } else {
        found
            .filter(wanted)
            .skip(query.offset)
            .take(query.limit)
            .cloned()
            .collect()
    }
}

#[async_trait]
impl EventStore for MemoryStore {
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>> {
        Ok(self
            .with(room, |record| record.event(event).cloned())
            .flatten())
    }

    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        Ok(self
            .with(room, |record| select(&record.events, query))
            .unwrap_or_default())
    }

    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>> {
        let versions = self.with(room, |record| {
            let older = record.versions.get(event).into_iter().flatten();
            older.chain(record.event(event)).cloned().collect()
        });
        Ok(versions.unwrap_or_default())
    }

    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>> {
        Ok(self
            .with(room, |record| record.outcomes.get(key).cloned())
            .flatten())
    }

    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        Ok(self.search(search))
    }

    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64> {
        let deleted = self.with(room, |record| record.delete(events));
        Ok(deleted.unwrap_or_default())
    }

    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        Ok(self.expire(expiry, limit))
    }

    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        let wanted: HashSet<&EventId> = roots.iter().collect();
        let replies: Vec<Arc<RoomEvent>> = self
            .with(room, |record| {
                let is_reply = |event: &&Arc<RoomEvent>| {
                    event
                        .parent_event_id
                        .as_ref()
                        .is_some_and(|root| wanted.contains(root))
                };
                record
                    .events
                    .iter()
                    .flatten()
                    .filter(is_reply)
                    .cloned()
                    .collect()
            })
            .unwrap_or_default();
        Ok(roots
            .iter()
            .map(|root| {
                let mut summary = ThreadSummary::new(root.clone());
                for reply in replies
                    .iter()
                    .filter(|reply| reply.parent_event_id.as_ref() == Some(root))
                {
                    summary.reply_count += 1;
                    summary.last_reply_at = summary.last_reply_at.max(Some(reply.created_at));
                }
                summary
            })
            .collect())
    }
}
