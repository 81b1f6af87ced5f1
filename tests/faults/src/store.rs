//! A memory store whose every call may go wrong, and which may be wrong by itself.
//!
//! Every method of the store traits is here, for the compiler asks for it; so a method that is added
//! to them has its cells as soon as a scene uses it.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;
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
use roomkit_core::{Error, ErrorKind, Result};

use crate::probe::{Moment, Part, Probe};
use crate::twist::Twist;

/// The key of the message that a scene is about.
pub(crate) const KEY: &str = "the message";

/// The key of the greeting that a scene is about: what an agent says by itself is a message too.
const GREETING: &str = "_greeting:greeter";

/// Whether an event with this key is the message that a scene is about.
pub(crate) fn is_the_message(key: Option<&str>) -> bool {
    matches!(key, Some(KEY | GREETING))
}

#[derive(Debug)]
pub(crate) struct FaultyStore {
    memory: MemoryStore,
    probe: Probe,
    twist: Twist,
}

impl FaultyStore {
    pub(crate) fn new(probe: Probe, twist: Twist) -> Self {
        Self {
            memory: MemoryStore::new(),
            probe,
            twist,
        }
    }

    /// What is there, whoever else is not to read it.
    pub(crate) fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    async fn before(&self, call: &str) -> Result<()> {
        let passed = self.probe.at(Part::Store, call, Moment::Before).await;
        passed.map_err(|fault| Error::new(ErrorKind::StoreFailed, fault.to_string()))
    }

    /// After the work: a sound store says that it does not know.
    async fn after(&self, call: &str) -> Result<()> {
        let kind = match self.twist {
            Twist::StoreDeniesWhatItDid => ErrorKind::StoreFailed,
            Twist::StoreAsksToTryAgain => ErrorKind::VersionConflict,
            _ => ErrorKind::OutcomeUnknown,
        };
        let passed = self.probe.at(Part::Store, call, Moment::After).await;
        passed.map_err(|fault| Error::new(kind, fault.to_string()))
    }
}

/// The methods of each trait: those that read, then those that write.
macro_rules! faulty {
    ($($trait:ident {
        $(reads $read:ident($($a:ident: $at:ty),*) -> $rr:ty;)*
        $(writes $write:ident($($b:ident: $bt:ty),*) -> $wr:ty;)*
    })+) => {
        /// Every call of these traits.
        pub(crate) const CALLS: &[&str] = &[
            $($(stringify!($read),)* $(stringify!($write),)*)+
        ];

        $(#[async_trait]
        impl $trait for FaultyStore {
            $(async fn $read(&self $(, $a: $at)*) -> Result<$rr> {
                self.before(stringify!($read)).await?;
                self.memory.$read($($a),*).await
            })*
            $(async fn $write(&self $(, $b: $bt)*) -> Result<$wr> {
                self.before(stringify!($write)).await?;
                let done = self.memory.$write($($b),*).await?;
                self.after(stringify!($write)).await?;
                Ok(done)
            })*
        })+
    };
}

faulty! {
    RoomStore {
        reads room(room: &RoomId) -> Option<RoomSnapshot>;
        reads list_rooms(filter: &RoomFilter, page: Page) -> Vec<Arc<Room>>;
        reads rooms_of_sender(
            organization: Option<&OrganizationId>,
            channel_type: &ChannelType,
            sender: &ParticipantId,
            limit: usize
        ) -> Vec<RoomId>;
        reads rooms_of_channel(
            organization: Option<&OrganizationId>,
            channel: &ChannelId,
            limit: usize
        ) -> Vec<RoomId>;
        writes create_room(room: Room) -> RoomSnapshot;
        writes delete_room(room: &RoomId) -> bool;
    }

    EventStore {
        reads event(room: &RoomId, event: &EventId) -> Option<Arc<RoomEvent>>;
        reads events(room: &RoomId, query: &EventQuery) -> Vec<Arc<RoomEvent>>;
        reads event_versions(room: &RoomId, event: &EventId) -> Vec<Arc<RoomEvent>>;
        reads idempotent_outcome(room: &RoomId, key: &str) -> Option<IdempotentOutcome>;
        reads search_events(search: &EventSearch) -> Vec<Arc<RoomEvent>>;
        reads thread_summaries(room: &RoomId, roots: &[EventId]) -> Vec<ThreadSummary>;
        writes delete_events(room: &RoomId, events: &[EventId]) -> u64;
        writes expire_events(expiry: &Expiry, limit: usize) -> u64;
    }

    BindingStore {
        reads bindings(room: &RoomId) -> Vec<Arc<ChannelBinding>>;
        reads binding(room: &RoomId, channel: &ChannelId) -> Option<Arc<ChannelBinding>>;
    }

    ParticipantStore {
        reads participant(room: &RoomId, id: &ParticipantId) -> Option<Participant>;
        reads participants(room: &RoomId) -> Vec<Participant>;
        writes delete_participant(room: &RoomId, id: &ParticipantId) -> bool;
    }

    IdentityStore {
        reads identity(organization: Option<&OrganizationId>, id: &IdentityId) -> Option<Identity>;
        reads identities_by_address(
            organization: Option<&OrganizationId>,
            channel_type: &ChannelType,
            address: &str
        ) -> Vec<Identity>;
        writes put_identity(identity: Identity) -> ();
    }

    WorkStore {
        reads tasks(room: &RoomId) -> Vec<Task>;
        reads task(room: &RoomId, id: &TaskId) -> Option<Task>;
        reads observations(room: &RoomId) -> Vec<Observation>;
        writes update_task(task: Task) -> bool;
    }

    ReadStore {
        reads read_markers(room: &RoomId) -> Vec<ReadMarker>;
        reads unread_count(room: &RoomId, channel: &ChannelId) -> u64;
        writes mark_read(marker: ReadMarker) -> ();
    }

    DeliveryStore {
        reads owed(room: Option<&RoomId>, limit: usize) -> Vec<OwedDelivery>;
        writes settle_owed(delivery_id: &str) -> bool;
        writes update_owed(owed: OwedDelivery) -> bool;
    }
}

#[async_trait]
impl ArchiveStore for FaultyStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        self.memory.dump(room)
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        self.before("restore").await?;
        let restored = self.memory.restore(parts).await?;
        self.after("restore").await?;
        Ok(restored)
    }
}

/// A commit by what it is of, so that the table can tell the message's own from others.
fn name_of(batch: &CommitBatch) -> String {
    let event = batch.iter().next().and_then(|commit| commit.event.as_ref());
    match event {
        Some(event) if is_the_message(event.idempotency_key.as_deref()) => MESSAGE.to_owned(),
        Some(event) => format!("commit {}", event.event_type),
        None => "commit without event".to_owned(),
    }
}

/// The commit of the message that a scene is about.
pub(crate) const MESSAGE: &str = "commit the message";

#[async_trait]
impl ConversationStore for FaultyStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        let call = name_of(&batch);
        self.before(&call).await?;
        let receipt = self.twist.commit(&self.memory, batch).await?;
        self.after(&call).await?;
        Ok(receipt)
    }

    async fn close(&self) -> Result<()> {
        self.before("close").await?;
        self.memory.close().await
    }
}
