//! Rooms and bindings of the memory store.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;

use super::MemoryStore;
use super::record::RoomRecord;
use crate::error::Result;
use crate::model::{
    ChannelBinding, ChannelId, ChannelType, OrganizationId, ParticipantId, Room, RoomId,
};
use crate::store::{BindingStore, Page, RoomFilter, RoomSnapshot, RoomStore};
use crate::sync::lock;

fn first(rooms: Option<&BTreeSet<RoomId>>, limit: usize) -> Vec<RoomId> {
    rooms.into_iter().flatten().take(limit).cloned().collect()
}

#[async_trait]
impl RoomStore for MemoryStore {
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot> {
        room.check_empty()?;
        self.insert(RoomRecord::new(room))
    }

    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        Ok(self.with(room, |record| record.snapshot()))
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        let ids: Vec<RoomId> = lock(&self.index)
            .by_age
            .iter()
            .map(|(_, id)| id.clone())
            .collect();
        Ok(ids
            .iter()
            .filter_map(|id| self.with(id, |record| Arc::clone(&record.room)))
            .filter(|room| filter.matches(room))
            .skip(page.offset)
            .take(page.limit)
            .collect())
    }

    async fn delete_room(&self, room: &RoomId) -> Result<bool> {
        let Some(shard) = self.shards.get(self.shard_number(room)) else {
            return Ok(false);
        };
        let mut shard = lock(shard);
        let Some(record) = shard.remove(room) else {
            return Ok(false);
        };
        record.forget(&mut lock(&self.index));
        Ok(true)
    }

    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let key = (organization.cloned(), channel_type.clone(), sender.clone());
        Ok(first(lock(&self.index).by_sender.get(&key), limit))
    }

    async fn rooms_of_channel(
        &self,
        organization: Option<&OrganizationId>,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let key = (organization.cloned(), channel.clone());
        Ok(first(lock(&self.index).by_channel.get(&key), limit))
    }
}

#[async_trait]
impl BindingStore for MemoryStore {
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>> {
        Ok(self
            .with(room, |record| record.bindings.to_vec())
            .unwrap_or_default())
    }

    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>> {
        Ok(self
            .with(room, |record| record.snapshot().binding(channel).cloned())
            .flatten())
    }
}
