//! Rooms and bindings.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, OrganizationId, ParticipantId, Room, RoomId,
};
use roomkit_core::store::{BindingStore, Page, RoomFilter, RoomSnapshot, RoomStore};
use rusqlite::{Connection, params};

use super::SqliteStore;
use crate::cache::Entry;
use crate::room::{self, HeadRow, stored_room};
use crate::sql::{Sql, count};

/// How many rooms are read at once where a filter may drop some of them.
const PAGE: usize = 256;

#[async_trait]
impl RoomStore for SqliteStore {
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot> {
        room.check_empty()?;
        room.validate()?;
        self.write_few(move |txn| {
            let id = room.id.clone();
            let snapshot = RoomSnapshot {
                room: Arc::new(stored_room(room)),
                version: 0,
                bindings: Arc::default(),
                detached: Arc::default(),
            };
            let key = room::insert(txn, &snapshot, false)?;
            txn.stage(&id, Some(Entry::new(key, snapshot.clone(), None)));
            Ok(snapshot)
        })
        .await
    }

    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        let writable = self.writer.is_some();
        let moment = match self.cache.get(room) {
            Ok(entry) if !self.readers.is_closed() => return Ok(Some(entry.snapshot)),
            Ok(_) => None,
            Err(moment) => Some(moment),
        };
        let (id, cache) = (room.clone(), Arc::clone(&self.cache));
        let found = self.readers.read_at_once(move |db| room::load(db, &id));
        let Some(entry) = found.await? else {
            return Ok(None);
        };
        if writable && let Some(moment) = moment {
            cache.fill(room, entry.clone(), moment);
        }
        Ok(Some(entry.snapshot))
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        let filter = filter.clone();
        self.readers
            .read_at_once(move |db| list(db, &filter, page))
            .await
    }

    async fn delete_room(&self, room: &RoomId) -> Result<bool> {
        let id = room.clone();
        self.write(move |txn| {
            let Some(entry) = txn.find(&id)? else {
                return Ok(false);
            };
            room::delete(txn.db, entry.key)?;
            txn.stage(&id, None);
            Ok(true)
        })
        .await
    }

    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let organization = organization.map(ToString::to_string);
        let (channel_type, sender) = (channel_type.to_string(), sender.clone());
        self.readers
            .look_up(move |db| {
                db.all(
                    format_args!("looking for the rooms of a sender"),
                    "SELECT room_id FROM senders WHERE open = 1 AND organization_id IS ?1 \
                     AND channel_type = ?2 AND sender_id = ?3 ORDER BY room_id LIMIT ?4",
                    params![organization, channel_type, sender.as_str(), count(limit)],
                    |row| row.get(0).map(|id: String| RoomId::from(id)),
                )
            })
            .await
    }

    async fn rooms_of_channel(
        &self,
        organization: Option<&OrganizationId>,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let organization = organization.map(ToString::to_string);
        let channel = channel.clone();
        self.readers
            .look_up(move |db| {
                db.all(
                    format_args!("looking for the rooms of channel {channel}"),
                    "SELECT room_id FROM bindings WHERE open = 1 AND organization_id IS ?1 \
                     AND channel_id = ?2 ORDER BY room_id LIMIT ?3",
                    params![organization, channel.as_str(), count(limit)],
                    |row| row.get(0).map(|id: String| RoomId::from(id)),
                )
            })
            .await
    }
}

#[async_trait]
impl BindingStore for SqliteStore {
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>> {
        let found = self.room(room).await?;
        Ok(found.map_or_else(Vec::new, |room| room.bindings.to_vec()))
    }

    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>> {
        let found = self.room(room).await?;
        Ok(found.and_then(|room| room.binding(channel).cloned()))
    }
}

/// Rooms by age, as many at once as a page; conditions that no column tells are checked here.
fn list(db: &Connection, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
    const HEAD: &str = "SELECT key, id, data, detached, version, fencing, event_count, latest_index, \
         updated_us, activity_us, created_us FROM rooms WHERE id IS NOT NULL";
    const AFTER: &str = "(created_us, id) > (?1, ?2) ORDER BY created_us, id LIMIT ?3";
    let organization = filter.organization_id.as_ref().map(|id| id.as_str());
    let sql = match organization {
        Some(_) => format!("{HEAD} AND organization_id = ?4 AND {AFTER}"),
        None => format!("{HEAD} AND ?4 IS NULL AND {AFTER}"),
    };
    let (mut after, mut skipped, mut rooms) = ((i64::MIN, String::new()), 0, Vec::new());
    while rooms.len() < page.limit {
        let rows: Vec<(HeadRow, String, i64)> = db.all(
            format_args!("listing rooms"),
            &sql,
            params![after.0, after.1, count(PAGE), organization],
            |row| Ok((HeadRow::read(row)?, row.get(1)?, row.get(10)?)),
        )?;
        let whole = rows.len() == PAGE;
        for (head, id, created) in rows {
            after = (created, id);
            let room = head.room()?;
            if !filter.matches(&room) {
                continue;
            }
            if skipped < page.offset {
                skipped += 1;
            } else if rooms.len() < page.limit {
                rooms.push(Arc::new(room));
            }
        }
        if !whole {
            break;
        }
    }
    Ok(rooms)
}
