//! The traits of a store, each call handed on and counted.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, EventId, Identity, IdentityId, Observation,
    OrganizationId, Participant, ParticipantId, ReadMarker, Room, RoomEvent, RoomId, Task, TaskId,
    ThreadSummary,
};
use roomkit_core::store::{
    ArchiveStore, BindingStore, CommitBatch, CommitReceipt, ConversationStore, DeliveryStore,
    EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome, IdentityStore, OwedDelivery,
    Page, ParticipantStore, ReadStore, RoomFilter, RoomPart, RoomSnapshot, RoomStore, WorkStore,
};
use roomkit_core::{Result, async_trait};

use crate::CountingStore;

/// Implements a trait by calls of the inner store.
macro_rules! counted {
    ($trait:ident { $($call:ident($($name:ident: $type:ty),*) -> $answer:ty;)+ }) => {
        #[async_trait]
        impl $trait for CountingStore {
            $(async fn $call(&self, $($name: $type),*) -> Result<$answer> {
                let result = self.inner.$call($($name),*).await;
                self.count(stringify!($call), result)
            })+
        }
    };
}

counted! { RoomStore {
    create_room(room: Room) -> RoomSnapshot;
    room(room: &RoomId) -> Option<RoomSnapshot>;
    list_rooms(filter: &RoomFilter, page: Page) -> Vec<Arc<Room>>;
    delete_room(room: &RoomId) -> bool;
    rooms_of_sender(
        organization: Option<&OrganizationId>, channel_type: &ChannelType, sender: &ParticipantId,
        limit: usize
    ) -> Vec<RoomId>;
    rooms_of_channel(
        organization: Option<&OrganizationId>, channel: &ChannelId, limit: usize
    ) -> Vec<RoomId>;
} }

counted! { EventStore {
    event(room: &RoomId, event: &EventId) -> Option<Arc<RoomEvent>>;
    events(room: &RoomId, query: &EventQuery) -> Vec<Arc<RoomEvent>>;
    event_versions(room: &RoomId, event: &EventId) -> Vec<Arc<RoomEvent>>;
    idempotent_outcome(room: &RoomId, key: &str) -> Option<IdempotentOutcome>;
    search_events(search: &EventSearch) -> Vec<Arc<RoomEvent>>;
    delete_events(room: &RoomId, events: &[EventId]) -> u64;
    expire_events(expiry: &Expiry, limit: usize) -> u64;
    thread_summaries(room: &RoomId, roots: &[EventId]) -> Vec<ThreadSummary>;
} }

counted! { BindingStore {
    bindings(room: &RoomId) -> Vec<Arc<ChannelBinding>>;
    binding(room: &RoomId, channel: &ChannelId) -> Option<Arc<ChannelBinding>>;
} }

counted! { ParticipantStore {
    participant(room: &RoomId, id: &ParticipantId) -> Option<Participant>;
    participants(room: &RoomId) -> Vec<Participant>;
    delete_participant(room: &RoomId, id: &ParticipantId) -> bool;
} }

counted! { IdentityStore {
    put_identity(identity: Identity) -> ();
    identity(organization: Option<&OrganizationId>, id: &IdentityId) -> Option<Identity>;
    identities_by_address(
        organization: Option<&OrganizationId>, channel_type: &ChannelType, address: &str
    ) -> Vec<Identity>;
} }

counted! { WorkStore {
    tasks(room: &RoomId) -> Vec<Task>;
    update_task(task: Task) -> bool;
    task(room: &RoomId, id: &TaskId) -> Option<Task>;
    observations(room: &RoomId) -> Vec<Observation>;
} }

counted! { ReadStore {
    mark_read(marker: ReadMarker) -> ();
    read_markers(room: &RoomId) -> Vec<ReadMarker>;
    unread_count(room: &RoomId, channel: &ChannelId) -> u64;
} }

counted! { DeliveryStore {
    owed(room: Option<&RoomId>, limit: usize) -> Vec<OwedDelivery>;
    settle_owed(delivery_id: &str) -> bool;
    update_owed(owed: OwedDelivery) -> bool;
} }

#[async_trait]
impl ArchiveStore for CountingStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        self.inner.dump(room)
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        let result = self.inner.restore(parts).await;
        self.count("restore", result)
    }
}

#[async_trait]
impl ConversationStore for CountingStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        let result = self.inner.commit(batch).await;
        self.count("commit", result)
    }

    fn is_shared(&self) -> bool {
        self.inner.is_shared()
    }

    async fn close(&self) -> Result<()> {
        self.inner.close().await
    }
}
