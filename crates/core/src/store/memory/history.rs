//! Search and retention of the memory store: what reads or thins out many rooms at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::MemoryStore;
use super::record::RoomRecord;
use crate::model::{EventId, RoomEvent, RoomId};
use crate::store::{EventSearch, Expiry, RetentionAction, words_of};
use crate::sync::lock;

impl MemoryStore {
    /// Reads every event of every room asked for, a shard at a time.
    pub(super) fn search(&self, search: &EventSearch) -> Vec<Arc<RoomEvent>> {
        let words = search.words();
        if words.is_empty() {
            return Vec::new();
        }
        let mut found: Vec<Arc<RoomEvent>> = Vec::new();
        let mut read = |record: &mut RoomRecord| {
            let of_another = |id| record.room.organization_id.as_ref() != Some(id);
            if search.organization_id.as_ref().is_some_and(of_another) {
                return;
            }
            let events = record.events.iter().flatten();
            found.extend(
                events
                    .filter(|event| words_of(event).is_superset(&words))
                    .cloned(),
            );
        };
        match &search.room_id {
            Some(room) => {
                self.with(room, &mut read);
            }
            None => self.shards.iter().for_each(|shard| {
                lock(shard).values_mut().for_each(&mut read);
            }),
        }
        found.sort_by(|a, b| {
            let newest = Reverse(a.created_at).cmp(&Reverse(b.created_at));
            newest.then_with(|| (&a.room_id, a.index).cmp(&(&b.room_id, b.index)))
        });
        found
            .into_iter()
            .skip(search.offset)
            .take(search.limit)
            .collect()
    }

    pub(super) fn expire(&self, expiry: &Expiry, limit: usize) -> u64 {
        let mut expired: Vec<(DateTime<Utc>, RoomId, u64, EventId)> = Vec::new();
        for shard in &self.shards {
            for record in lock(shard).values() {
                if !expiry.rooms.admits(record.room.organization_id.as_ref()) {
                    continue;
                }
                let events = record.events.iter().flatten();
                let old = events
                    .filter(|event| has_expired(event, expiry))
                    .map(|event| {
                        (
                            event.created_at,
                            event.room_id.clone(),
                            event.index,
                            event.id.clone(),
                        )
                    });
                expired.extend(old);
            }
        }
        expired.sort();
        expired.truncate(limit);
        let mut by_room: BTreeMap<RoomId, Vec<EventId>> = BTreeMap::new();
        for (_, room, _, event) in expired {
            by_room.entry(room).or_default().push(event);
        }
        let expire = |(room, events): (RoomId, Vec<EventId>)| {
            self.with(&room, |record| match expiry.action {
                RetentionAction::Delete => record.delete(&events),
                RetentionAction::Redact => redact(record, &events),
            })
        };
        by_room.into_iter().filter_map(expire).sum()
    }
}

fn has_expired(event: &RoomEvent, expiry: &Expiry) -> bool {
    event.created_at < expiry.before
        && (expiry.action == RetentionAction::Delete || !event.is_redacted())
}

fn redact(record: &mut RoomRecord, events: &[EventId]) -> u64 {
    let mut redacted = 0;
    for id in events {
        record.versions.remove(id);
        let place = record.places.get(id).copied();
        let slot = place.and_then(|place| record.events.get_mut(place));
        if let Some(event) = slot.and_then(Option::as_mut) {
            Arc::make_mut(event).redact();
            redacted += 1;
        }
    }
    redacted
}
