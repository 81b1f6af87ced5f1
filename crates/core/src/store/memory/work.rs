//! Tasks, observations and owed deliveries of the memory store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::error::Result;
use crate::model::{Observation, RoomId, Task, TaskId};
use crate::store::{DeliveryStore, OwedDelivery, WorkStore};
use crate::sync::lock;

#[async_trait]
impl WorkStore for MemoryStore {
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>> {
        Ok(self
            .with(room, |record| record.tasks.clone())
            .unwrap_or_default())
    }

    async fn update_task(&self, task: Task) -> Result<bool> {
        let room = task.room_id.clone();
        let updated = self.with(&room, |record| {
            let found = record.tasks.iter_mut().find(|other| other.id == task.id);
            found.map(|other| *other = task).is_some()
        });
        Ok(updated.unwrap_or_default())
    }

    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>> {
        let found = self.with(room, |record| {
            record.tasks.iter().find(|task| task.id == *id).cloned()
        });
        Ok(found.flatten())
    }

    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>> {
        Ok(self
            .with(room, |record| record.observations.clone())
            .unwrap_or_default())
    }
}

#[async_trait]
impl DeliveryStore for MemoryStore {
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>> {
        let mut owed: Vec<OwedDelivery> = match room {
            Some(room) => self
                .with(room, |record| record.owed.values().cloned().collect())
                .unwrap_or_default(),
            None => self
                .shards
                .iter()
                .flat_map(|shard| {
                    let shard = lock(shard);
                    let owed: Vec<_> = shard
                        .values()
                        .flat_map(|record| record.owed.values().cloned())
                        .collect();
                    owed
                })
                .collect(),
        };
        owed.sort_by(|a, b| {
            (&a.room_id, &a.channel_id, a.index).cmp(&(&b.room_id, &b.channel_id, b.index))
        });
        owed.truncate(limit);
        Ok(owed)
    }

    async fn settle_owed(&self, delivery_id: &str) -> Result<bool> {
        Ok(self.shards.iter().any(|shard| {
            lock(shard)
                .values_mut()
                .any(|record| record.owed.remove(delivery_id).is_some())
        }))
    }

    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool> {
        let room = owed.room_id.clone();
        let updated = self.with(&room, |record| {
            record
                .owed
                .get_mut(&owed.delivery_id)
                .map(|other| *other = owed)
                .is_some()
        });
        Ok(updated.unwrap_or_default())
    }
}
