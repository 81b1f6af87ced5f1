//! Participants, identities and read markers of the memory store.

use async_trait::async_trait;

use super::MemoryStore;
use crate::error::Result;
use crate::model::{
    ChannelId, ChannelType, Identity, IdentityId, OrganizationId, Participant, ParticipantId,
    ReadMarker, RoomId,
};
use crate::store::{IdentityStore, ParticipantStore, ReadStore};
use crate::sync::lock;

#[async_trait]
impl ParticipantStore for MemoryStore {
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>> {
        let found = self.with(room, |record| {
            record
                .participants
                .iter()
                .find(|participant| participant.id == *id)
                .cloned()
        });
        Ok(found.flatten())
    }

    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>> {
        Ok(self
            .with(room, |record| record.participants.clone())
            .unwrap_or_default())
    }

    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool> {
        let deleted = self.with(room, |record| {
            let before = record.participants.len();
            record
                .participants
                .retain(|participant| participant.id != *id);
            record.participants.len() < before
        });
        Ok(deleted.unwrap_or_default())
    }
}

#[async_trait]
impl IdentityStore for MemoryStore {
    async fn put_identity(&self, identity: Identity) -> Result<()> {
        let key = (identity.organization_id.clone(), identity.id.clone());
        lock(&self.identities).insert(key, identity);
        Ok(())
    }

    async fn identity(
        &self,
        organization: Option<&OrganizationId>,
        id: &IdentityId,
    ) -> Result<Option<Identity>> {
        Ok(lock(&self.identities)
            .get(&(organization.cloned(), id.clone()))
            .cloned())
    }

    async fn identities_by_address(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>> {
        let channel_type = channel_type.to_string();
        let has_address = |identity: &&Identity| {
            identity.organization_id.as_ref() == organization
                && identity
                    .channel_addresses
                    .get(&channel_type)
                    .is_some_and(|addresses| addresses.iter().any(|other| other == address))
        };
        Ok(lock(&self.identities)
            .values()
            .filter(has_address)
            .cloned()
            .collect())
    }
}

#[async_trait]
impl ReadStore for MemoryStore {
    async fn mark_read(&self, marker: ReadMarker) -> Result<()> {
        let room = marker.room_id.clone();
        self.with(&room, |record| {
            let channel = marker.channel_id.clone();
            if record
                .markers
                .get(&channel)
                .is_none_or(|present| present.index < marker.index)
            {
                record.markers.insert(channel, marker);
            }
        });
        Ok(())
    }

    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>> {
        let markers = self.with(room, |record| record.markers.values().cloned().collect());
        Ok(markers.unwrap_or_default())
    }

    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64> {
        let unread = self.with(room, |record| {
            let after = record.markers.get(channel).map(|marker| marker.index);
            let is_unread = |event: &&std::sync::Arc<crate::model::RoomEvent>| {
                event.source.channel_id != *channel && after.is_none_or(|after| event.index > after)
            };
            record
                .events
                .iter()
                .rev()
                .flatten()
                .filter(is_unread)
                .count()
        });
        Ok(unread.unwrap_or_default() as u64)
    }
}
