//! The store traits: small ones by subject, and their sum with the one call that is atomic.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{
    ArchiveStore, CommitBatch, CommitReceipt, EventQuery, EventSearch, Expiry, IdempotentOutcome,
    OwedDelivery, Page, RoomFilter, RoomSnapshot,
};
use crate::error::Result;
use crate::model::{
    ChannelBinding, ChannelId, ChannelType, EventId, Identity, IdentityId, Observation,
    OrganizationId, Participant, ParticipantId, ReadMarker, Room, RoomEvent, RoomId, Task, TaskId,
    ThreadSummary,
};

/// Rooms (RFC §14.1).
#[async_trait]
pub trait RoomStore: Send + Sync {
    /// Stores a new room.
    ///
    /// # Errors
    /// - [`RoomAlreadyExists`](crate::ErrorKind::RoomAlreadyExists) when the id is in use.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput) when it is not empty, by its counters: a
    ///   room with a past is [restored](ArchiveStore::restore).
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot>;

    /// A room with its version and bindings, read in one piece.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>>;

    /// Rooms by creation time, the oldest first.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>>;

    /// Removes a room and all that belongs to it; `false` when there was none.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn delete_room(&self, room: &RoomId) -> Result<bool>;

    /// The open rooms of an organisation in which `sender` has spoken over a type of channel, at
    /// most `limit`, by id.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>>;

    /// The open rooms of an organisation to which a channel is attached, at most `limit`, by id.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn rooms_of_channel(
        &self,
        organization: Option<&OrganizationId>,
        channel: &ChannelId,
        limit: usize,
    ) -> Result<Vec<RoomId>>;
}

/// Events (RFC §14.1). They are written by [`ConversationStore::commit`] alone.
#[async_trait]
pub trait EventStore: Send + Sync {
    /// The newest version of one event of a room.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>>;

    /// Events of a room, in index order.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>>;

    /// Every version of one event, the oldest first; more than one where it was edited.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>>;

    /// What became of the first event with this idempotency key in this room.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>>;

    /// Events by the words in them, in their newest version; see [`EventSearch`] for the order.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>>;

    /// Removes events for good, with their versions and what is owed of them; returns how many there
    /// were. Their indexes are never used again.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64>;

    /// Removes or redacts at most `limit` events that have expired, the oldest first, and returns how
    /// many. A redacted event is left alone when it is to be redacted again; of what was edited no
    /// earlier version stays.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64>;

    /// Replies by thread, for the given roots.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>>;
}

/// Bindings (RFC §14.1). They are written by [`ConversationStore::commit`] alone.
#[async_trait]
pub trait BindingStore: Send + Sync {
    /// The channels attached to a room, in the order in which they were attached.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>>;

    /// The binding of one channel.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>>;
}

/// Participants (RFC §5.5): one record per room and id.
#[async_trait]
pub trait ParticipantStore: Send + Sync {
    /// One participant.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>>;

    /// All participants of a room, in the order in which they joined.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>>;

    /// Removes a participant's record; `false` when there was none.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool>;
}

/// Identities (RFC §5.6), each within its organisation.
#[async_trait]
pub trait IdentityStore: Send + Sync {
    /// Creates or replaces an identity.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn put_identity(&self, identity: Identity) -> Result<()>;

    /// One identity.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn identity(
        &self,
        organization: Option<&OrganizationId>,
        id: &IdentityId,
    ) -> Result<Option<Identity>>;

    /// The identities with an address, in the order of their ids; more than one is ambiguous.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn identities_by_address(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        address: &str,
    ) -> Result<Vec<Identity>>;
}

/// Tasks and observations (RFC §5.10, §5.11). New ones are written by [`ConversationStore::commit`].
#[async_trait]
pub trait WorkStore: Send + Sync {
    /// The tasks of a room, in the order in which they were stored.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>>;

    /// Replaces a task; `false` when the room has none with its id.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn update_task(&self, task: Task) -> Result<bool>;

    /// One task.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>>;

    /// The observations of a room, in the order in which they were stored.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>>;
}

/// How far each channel has read.
#[async_trait]
pub trait ReadStore: Send + Sync {
    /// Moves a channel's marker forward; one that is behind the present marker changes nothing.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn mark_read(&self, marker: ReadMarker) -> Result<()>;

    /// The markers of a room.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>>;

    /// How many events lie after a channel's marker, its own not counted.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64>;
}

/// What is still to be delivered. New entries are written by [`ConversationStore::commit`].
#[async_trait]
pub trait DeliveryStore: Send + Sync {
    /// What is owed in a room, or in all, by room, channel and index.
    ///
    /// # Errors
    /// [`StoreFailed`](crate::ErrorKind::StoreFailed): it cannot be read.
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>>;

    /// Removes what has been delivered.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn settle_owed(&self, delivery_id: &str) -> Result<bool>;

    /// Replaces an entry after a failed try.
    ///
    /// # Errors
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be done, or become so.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing is changed.
    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool>;
}

/// Everything a kit stores, and the one call by which it changes a room.
///
/// Objects that are returned belong to the caller; what was passed in belongs to the store
/// (RFC §14.4). A store is cheap to share and safe to call from many tasks.
#[async_trait]
pub trait ConversationStore:
    RoomStore
    + EventStore
    + BindingStore
    + ParticipantStore
    + IdentityStore
    + WorkStore
    + ReadStore
    + DeliveryStore
    + ArchiveStore
    + fmt::Debug
    + 'static
{
    /// Makes a batch true at once, or not at all.
    ///
    /// # Errors
    /// - [`VersionConflict`](crate::ErrorKind::VersionConflict): a room has another version than
    ///   expected, or its next index is another than the event's. The caller reads and decides anew.
    /// - [`StaleFencingToken`](crate::ErrorKind::StaleFencingToken): a newer holder of the lock was seen.
    /// - [`RoomNotFound`](crate::ErrorKind::RoomNotFound): a room is gone.
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): it may be true, or become so, as where a
    ///   connection was lost. The kit looks whether the event is there.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed): anything else; nothing of it is true.
    ///
    /// A call that panics, or does not answer in time, counts as one whose outcome is unknown.
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt>;

    /// Whether other processes may change the same data. Default: no.
    fn is_shared(&self) -> bool {
        false
    }

    /// Lets go of files and connections.
    ///
    /// # Errors
    /// Where something could not be written at the end.
    async fn close(&self) -> Result<()> {
        Ok(())
    }
}
