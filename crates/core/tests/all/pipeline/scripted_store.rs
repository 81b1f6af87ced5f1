//! A memory store that first does what a test says: waits, fails or panics, by the name of the call.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use roomkit_core::Result;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, EventId, Identity, IdentityId, Observation,
    OrganizationId, Participant, ParticipantId, ReadMarker, Room, RoomEvent, RoomId, Task, TaskId,
    ThreadSummary,
};
use roomkit_core::store::{
    ArchiveStore, BindingStore, CommitBatch, CommitReceipt, ConversationStore, DeliveryStore,
    EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome, IdentityStore, MemoryStore,
    OwedDelivery, Page, ParticipantStore, ReadStore, RoomFilter, RoomPart, RoomSnapshot, RoomStore,
    WorkStore,
};

type Script = dyn Fn(&'static str) -> BoxFuture<'static, Result<()>> + Send + Sync;

/// Asks its script before every call that a kit makes, and again, with `done` before the name,
/// after a commit and after a room was deleted.
pub(crate) struct ScriptedStore {
    memory: MemoryStore,
    script: Box<Script>,
    shared: bool,
}

impl ScriptedStore {
    pub(crate) fn new<F, Fut>(script: F) -> Arc<Self>
    where
        F: Fn(&'static str) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<()>> + Send + 'static,
    {
        Arc::new(Self {
            memory: MemoryStore::new(),
            script: Box::new(move |call| Box::pin(script(call))),
            shared: false,
        })
    }

    /// A store that says that other processes share it.
    pub(crate) fn shared() -> Arc<Self> {
        Arc::new(Self {
            memory: MemoryStore::new(),
            script: Box::new(|_| Box::pin(async { Ok(()) })),
            shared: true,
        })
    }

    async fn at(&self, call: &'static str) -> Result<()> {
        (self.script)(call).await
    }
}

impl fmt::Debug for ScriptedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedStore").finish_non_exhaustive()
    }
}

#[async_trait]
impl RoomStore for ScriptedStore {
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot> {
        self.at("create_room").await?;
        self.memory.create_room(room).await
    }

    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        self.at("room").await?;
        self.memory.room(room).await
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        self.at("list_rooms").await?;
        self.memory.list_rooms(filter, page).await
    }

    async fn delete_room(&self, room: &RoomId) -> Result<bool> {
        self.at("delete_room").await?;
        let deleted = self.memory.delete_room(room).await?;
        self.at("done delete_room").await?;
        Ok(deleted)
    }

    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        self.at("rooms_of_sender").await?;
        self.memory
            .rooms_of_sender(organization, channel_type, sender, limit)
            .await
    }

    async fn rooms_of_channel(
        &self,
        organization: Option<&OrganizationId>,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        self.at("rooms_of_channel").await?;
        self.memory
            .rooms_of_channel(organization, channel, limit)
            .await
    }
}

#[async_trait]
impl EventStore for ScriptedStore {
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>> {
        self.at("event").await?;
        self.memory.event(room, event).await
    }

    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        self.at("events").await?;
        self.memory.events(room, query).await
    }

    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>> {
        self.memory.event_versions(room, event).await
    }

    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>> {
        self.at("idempotent_outcome").await?;
        self.memory.idempotent_outcome(room, key).await
    }

    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        self.memory.search_events(search).await
    }

    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        self.memory.expire_events(expiry, limit).await
    }

    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64> {
        self.memory.delete_events(room, events).await
    }

    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        self.memory.thread_summaries(room, roots).await
    }
}

#[async_trait]
impl BindingStore for ScriptedStore {
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>> {
        self.memory.bindings(room).await
    }

    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>> {
        self.memory.binding(room, channel).await
    }
}

#[async_trait]
impl ParticipantStore for ScriptedStore {
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>> {
        self.at("participant").await?;
        self.memory.participant(room, id).await
    }

    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>> {
        self.memory.participants(room).await
    }

    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool> {
        self.memory.delete_participant(room, id).await
    }
}

#[async_trait]
impl IdentityStore for ScriptedStore {
    async fn put_identity(&self, identity: Identity) -> Result<()> {
        self.at("put_identity").await?;
        self.memory.put_identity(identity).await
    }

    async fn identity(
        &self,
        organization: Option<&OrganizationId>,
        id: &IdentityId,
    ) -> Result<Option<Identity>> {
        self.memory.identity(organization, id).await
    }

    async fn identities_by_address(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>> {
        self.memory
            .identities_by_address(organization, channel_type, address)
            .await
    }
}

#[async_trait]
impl WorkStore for ScriptedStore {
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>> {
        self.memory.tasks(room).await
    }

    async fn update_task(&self, task: Task) -> Result<bool> {
        self.memory.update_task(task).await
    }

    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>> {
        self.memory.task(room, id).await
    }

    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>> {
        self.memory.observations(room).await
    }
}

#[async_trait]
impl ReadStore for ScriptedStore {
    async fn mark_read(&self, marker: ReadMarker) -> Result<()> {
        self.memory.mark_read(marker).await
    }

    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>> {
        self.memory.read_markers(room).await
    }

    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64> {
        self.memory.unread_count(room, channel).await
    }
}

#[async_trait]
impl DeliveryStore for ScriptedStore {
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>> {
        self.memory.owed(room, limit).await
    }

    async fn settle_owed(&self, delivery_id: &str) -> Result<bool> {
        self.memory.settle_owed(delivery_id).await
    }

    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool> {
        self.memory.update_owed(owed).await
    }
}

#[async_trait]
impl ArchiveStore for ScriptedStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        self.memory.dump(room)
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        self.memory.restore(parts).await
    }
}

#[async_trait]
impl ConversationStore for ScriptedStore {
    fn is_shared(&self) -> bool {
        self.shared
    }

    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        self.at("commit").await?;
        let receipt = self.memory.commit(batch).await?;
        self.at("done commit").await?;
        Ok(receipt)
    }

    async fn close(&self) -> Result<()> {
        self.at("close").await?;
        self.memory.close().await
    }
}
