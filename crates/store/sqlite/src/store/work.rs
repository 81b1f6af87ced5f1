//! Tasks, observations and owed deliveries.

use async_trait::async_trait;
use roomkit_core::Result;
use roomkit_core::model::{Observation, RoomId, Task, TaskId};
use roomkit_core::store::{DeliveryStore, OwedDelivery, WorkStore};
use roomkit_store::{from_json, to_json};
use rusqlite::{Row, params};

use super::SqliteStore;
use crate::sql::{Sql, capped, count};

#[async_trait]
impl WorkStore for SqliteStore {
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>> {
        let found = self.read_room(room, |db, room| {
            let rows: Vec<(String, String)> = db.all(
                format_args!("reading tasks"),
                "SELECT id, data FROM tasks WHERE room = ?1 ORDER BY position",
                [room],
                pair,
            )?;
            rows.iter()
                .map(|(id, data)| from_json("task", id, data))
                .collect()
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn update_task(&self, task: Task) -> Result<bool> {
        self.write_few(move |txn| {
            let Some(entry) = txn.find(&task.room_id)? else {
                return Ok(false);
            };
            let updated = txn.db.run(
                format_args!("storing task {}", task.id),
                "UPDATE tasks SET data = ?3 WHERE position = \
                 (SELECT min(position) FROM tasks WHERE room = ?1 AND id = ?2)",
                params![
                    entry.key,
                    task.id.as_str(),
                    to_json("task", task.id.as_str(), &task)?
                ],
            )?;
            Ok(updated > 0)
        })
        .await
    }

    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>> {
        let id = id.clone();
        let found = self.read_room(room, move |db, room| {
            let data: Option<String> = db.one(
                format_args!("reading task {id}"),
                "SELECT data FROM tasks WHERE room = ?1 AND id = ?2 ORDER BY position LIMIT 1",
                params![room, id.as_str()],
                |row| row.get(0),
            )?;
            data.map(|data| from_json("task", id.as_str(), &data))
                .transpose()
        });
        Ok(found.await?.flatten())
    }

    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>> {
        let found = self.read_room(room, |db, room| {
            let rows: Vec<String> = db.all(
                format_args!("reading observations"),
                "SELECT data FROM observations WHERE room = ?1 ORDER BY position",
                [room],
                |row| row.get(0),
            )?;
            rows.iter()
                .map(|data| from_json("observation", "of the room", data))
                .collect()
        });
        Ok(found.await?.unwrap_or_default())
    }
}

#[async_trait]
impl DeliveryStore for SqliteStore {
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>> {
        let room = room.cloned();
        let rows = self.readers.read(move |db| {
            let what = format_args!("reading what is owed");
            match room {
                Some(room) => db.all(
                    what,
                    "SELECT delivery_id, data FROM owed \
                     WHERE room = (SELECT key FROM rooms WHERE id = ?1) \
                     ORDER BY room_id, channel_id, idx, delivery_id LIMIT ?2",
                    params![room.as_str(), count(limit)],
                    pair,
                ),
                None => db.all(
                    what,
                    "SELECT o.delivery_id, o.data FROM owed o JOIN rooms r ON r.key = o.room \
                     WHERE r.id IS NOT NULL \
                     ORDER BY o.room_id, o.channel_id, o.idx, o.delivery_id LIMIT ?1",
                    [count(limit)],
                    pair,
                ),
            }
        });
        let rows = rows.await?;
        rows.iter()
            .map(|(id, data)| from_json("delivery", id, data))
            .collect()
    }

    async fn settle_owed(&self, delivery_id: &str) -> Result<bool> {
        let id = delivery_id.to_owned();
        self.write_few(move |txn| {
            let what = format_args!("settling delivery {id}");
            let room: Option<i64> = txn.db.one(
                what,
                "SELECT o.room FROM owed o JOIN rooms r ON r.key = o.room \
                 WHERE o.delivery_id = ?1 AND r.id IS NOT NULL LIMIT 1",
                [&id],
                |row| row.get(0),
            )?;
            let settled = txn.db.run(
                what,
                "DELETE FROM owed WHERE room = ?1 AND delivery_id = ?2",
                params![room, id],
            )?;
            Ok(settled > 0)
        })
        .await
    }

    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool> {
        self.write_few(move |txn| {
            let Some(entry) = txn.find(&owed.room_id)? else {
                return Ok(false);
            };
            let updated = txn.db.run(
                format_args!("storing delivery {}", owed.delivery_id),
                "UPDATE owed SET channel_id = ?3, idx = ?4, event_id = ?5, data = ?6 \
                 WHERE room = ?1 AND delivery_id = ?2",
                params![
                    entry.key,
                    owed.delivery_id,
                    owed.channel_id.as_str(),
                    capped(owed.index),
                    owed.event_id.as_str(),
                    to_json("delivery", &owed.delivery_id, &owed)?,
                ],
            )?;
            Ok(updated > 0)
        })
        .await
    }
}

fn pair(row: &Row<'_>) -> rusqlite::Result<(String, String)> {
    Ok((row.get(0)?, row.get(1)?))
}
