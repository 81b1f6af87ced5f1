//! The suite of stores notices: a store that breaks one promise fails one of its tests.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt};
use roomkit_core::Result;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, EventId, Identity, IdentityId, Observation,
    OrganizationId, Participant, ParticipantId, ReadMarker, Room, RoomEvent, RoomId, Task, TaskId,
    ThreadSummary,
};
use roomkit_core::store::{
    ArchiveStore, BindingStore, CommitBatch, CommitReceipt, ConversationStore, DeliveryStore,
    EventQuery, EventSearch, EventStore, Expiry, IdempotentOutcome, IdentityStore, MemoryStore,
    OwedDelivery, Page, ParticipantStore, ReadStore, RoomCommit, RoomFilter, RoomPart,
    RoomSnapshot, RoomStore, WorkStore,
};
use roomkit_testkit::store::{TestStore, suite};

/// What a store may get wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    TakesAnIdAgain,
    ListsRoomsByNothing,
    IgnoresTheRoomFilter,
    KeepsADeletedRoomsKeys,
    FindsRoomsOfAllOrganizations,
    ForgetsTheLimitOfRooms,
    IgnoresTheVersion,
    IgnoresTheFence,
    IgnoresTheKey,
    IgnoresTheKeyOfNoEvent,
    CommitsPartByPart,
    LosesTheSpeaker,
    LosesTasks,
    LosesWhatIsOwed,
    LosesTheEdit,
    LosesBindings,
    LosesTheRawPayload,
    CutsNanoseconds,
    AnswersBackwards,
    IgnoresTheEventFilter,
    IgnoresTheCursor,
    ShowsOneVersion,
    SwapsKeysOfRooms,
    DeletesNothing,
    CountsNoReplies,
    FindsNoBinding,
    ReordersParticipants,
    MixesIdentities,
    MovesMarkersBack,
    CountsOwnAsUnread,
    UpdatesNoTask,
    OwesInNoOrder,
    SettlesNothing,
    FindsPartsOfWords,
    FindsOldestFirst,
    ExpiresAll,
    ExpiresNothing,
    DumpsNoSenders,
    RestoresOverARoom,
}

impl Fault {
    const ALL: [Self; 39] = [
        Self::TakesAnIdAgain,
        Self::ListsRoomsByNothing,
        Self::IgnoresTheRoomFilter,
        Self::KeepsADeletedRoomsKeys,
        Self::FindsRoomsOfAllOrganizations,
        Self::ForgetsTheLimitOfRooms,
        Self::IgnoresTheVersion,
        Self::IgnoresTheFence,
        Self::IgnoresTheKey,
        Self::IgnoresTheKeyOfNoEvent,
        Self::CommitsPartByPart,
        Self::LosesTheSpeaker,
        Self::LosesTasks,
        Self::LosesWhatIsOwed,
        Self::LosesTheEdit,
        Self::LosesBindings,
        Self::LosesTheRawPayload,
        Self::CutsNanoseconds,
        Self::AnswersBackwards,
        Self::IgnoresTheEventFilter,
        Self::IgnoresTheCursor,
        Self::ShowsOneVersion,
        Self::SwapsKeysOfRooms,
        Self::DeletesNothing,
        Self::CountsNoReplies,
        Self::FindsNoBinding,
        Self::ReordersParticipants,
        Self::MixesIdentities,
        Self::MovesMarkersBack,
        Self::CountsOwnAsUnread,
        Self::UpdatesNoTask,
        Self::OwesInNoOrder,
        Self::SettlesNothing,
        Self::FindsPartsOfWords,
        Self::FindsOldestFirst,
        Self::ExpiresAll,
        Self::ExpiresNothing,
        Self::DumpsNoSenders,
        Self::RestoresOverARoom,
    ];
}

/// A memory store with one fault.
#[derive(Debug)]
struct BrokenStore {
    memory: MemoryStore,
    fault: Fault,
    /// Makes a marker move back: what `MovesMarkersBack` takes off.
    back: AtomicU64,
}

impl BrokenStore {
    fn new(fault: Fault) -> Self {
        Self {
            memory: MemoryStore::new(),
            fault,
            back: AtomicU64::new(0),
        }
    }

    fn is(&self, fault: Fault) -> bool {
        self.fault == fault
    }

    /// The part as the faulty store takes it.
    async fn spoil(&self, part: &mut RoomCommit) {
        if self.is(Fault::IgnoresTheVersion)
            && let Ok(Some(room)) = self.memory.room(&part.room_id).await
            && part
                .expected_version
                .is_some_and(|expected| expected < room.version)
        {
            part.expected_version = Some(room.version);
            if let Some(event) = &mut part.event {
                Arc::make_mut(event).index = room.room.next_index();
            }
        }
        match self.fault {
            Fault::IgnoresTheFence => part.fencing = None,
            Fault::LosesTheSpeaker => part.speaker = None,
            Fault::LosesTasks => part.tasks.clear(),
            Fault::LosesWhatIsOwed => part.owed.clear(),
            Fault::LosesTheEdit => part.edited = None,
            Fault::LosesBindings => part.bindings.truncate(1),
            Fault::IgnoresTheKey => part.idempotency = None,
            Fault::IgnoresTheKeyOfNoEvent if part.event.is_none() => part.idempotency = None,
            Fault::LosesTheRawPayload => {
                if let Some(event) = &mut part.event {
                    Arc::make_mut(event).source.raw_payload = Default::default();
                }
            }
            Fault::CutsNanoseconds => {
                if let Some(event) = &mut part.event {
                    let seconds = event.created_at.timestamp();
                    let cut = chrono::DateTime::from_timestamp(seconds, 0);
                    Arc::make_mut(event).created_at = cut.unwrap();
                }
            }
            _ => {}
        }
    }
}

#[async_trait]
impl RoomStore for BrokenStore {
    async fn create_room(&self, room: Room) -> Result<RoomSnapshot> {
        if self.is(Fault::TakesAnIdAgain) {
            self.memory.delete_room(&room.id).await?;
        }
        self.memory.create_room(room).await
    }

    async fn room(&self, room: &RoomId) -> Result<Option<RoomSnapshot>> {
        self.memory.room(room).await
    }

    async fn list_rooms(&self, filter: &RoomFilter, page: Page) -> Result<Vec<Arc<Room>>> {
        let mut filter = filter.clone();
        if self.is(Fault::IgnoresTheRoomFilter) {
            filter.metadata = Default::default();
        }
        let mut rooms = self.memory.list_rooms(&filter, page).await?;
        if self.is(Fault::ListsRoomsByNothing) {
            rooms.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(rooms)
    }

    async fn delete_room(&self, room: &RoomId) -> Result<bool> {
        if self.is(Fault::KeepsADeletedRoomsKeys) {
            let there = self.memory.room(room).await?;
            let deleted = self.memory.delete_room(room).await?;
            if let Some(there) = there {
                let mut kept = Room::clone(&there.room);
                (kept.event_count, kept.latest_index, kept.delivered_index) = (0, None, -1);
                self.memory.create_room(kept).await?;
            }
            return Ok(deleted);
        }
        self.memory.delete_room(room).await
    }

    async fn rooms_of_sender(
        &self,
        organization: Option<&OrganizationId>,
        channel_type: &ChannelType,
        sender: &ParticipantId,
        limit: usize,
    ) -> Result<Vec<RoomId>> {
        let limit = if self.is(Fault::ForgetsTheLimitOfRooms) {
            99
        } else {
            limit
        };
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
        let all = self.is(Fault::FindsRoomsOfAllOrganizations);
        let organization = organization.filter(|_| !all);
        self.memory
            .rooms_of_channel(organization, channel, limit)
            .await
    }
}

#[async_trait]
impl EventStore for BrokenStore {
    async fn event(&self, room: &RoomId, event: &EventId) -> Result<Option<Arc<RoomEvent>>> {
        self.memory.event(room, event).await
    }

    async fn events(&self, room: &RoomId, query: &EventQuery) -> Result<Vec<Arc<RoomEvent>>> {
        let mut query = query.clone();
        match self.fault {
            Fault::IgnoresTheEventFilter => query.filter = None,
            Fault::IgnoresTheCursor => query.before = None,
            _ => {}
        }
        let mut events = self.memory.events(room, &query).await?;
        if self.is(Fault::AnswersBackwards) && query.from_end {
            events.reverse();
        }
        Ok(events)
    }

    async fn event_versions(&self, room: &RoomId, event: &EventId) -> Result<Vec<Arc<RoomEvent>>> {
        let mut versions = self.memory.event_versions(room, event).await?;
        if self.is(Fault::ShowsOneVersion) {
            versions.drain(..versions.len().saturating_sub(1));
        }
        Ok(versions)
    }

    async fn idempotent_outcome(
        &self,
        room: &RoomId,
        key: &str,
    ) -> Result<Option<IdempotentOutcome>> {
        if self.is(Fault::SwapsKeysOfRooms) {
            let r = self.memory.idempotent_outcome(&"r".into(), key).await?;
            return Ok(r.or(self.memory.idempotent_outcome(&"s".into(), key).await?));
        }
        self.memory.idempotent_outcome(room, key).await
    }

    async fn search_events(&self, search: &EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        let mut search = search.clone();
        if self.is(Fault::FindsPartsOfWords) {
            search.text = search.text.replace("invoices", "invoice");
        }
        let mut events = self.memory.search_events(&search).await?;
        if self.is(Fault::FindsOldestFirst) {
            events.reverse();
        }
        Ok(events)
    }

    async fn delete_events(&self, room: &RoomId, events: &[EventId]) -> Result<u64> {
        match self.is(Fault::DeletesNothing) {
            true => Ok(events.len() as u64),
            false => self.memory.delete_events(room, events).await,
        }
    }

    async fn expire_events(&self, expiry: &Expiry, limit: usize) -> Result<u64> {
        match self.fault {
            Fault::ExpiresNothing => Ok(0),
            Fault::ExpiresAll => self.memory.expire_events(expiry, usize::MAX).await,
            _ => self.memory.expire_events(expiry, limit).await,
        }
    }

    async fn thread_summaries(
        &self,
        room: &RoomId,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        let mut summaries = self.memory.thread_summaries(room, roots).await?;
        if self.is(Fault::CountsNoReplies) {
            summaries.retain(|summary| summary.reply_count > 0);
        }
        Ok(summaries)
    }
}

#[async_trait]
impl BindingStore for BrokenStore {
    async fn bindings(&self, room: &RoomId) -> Result<Vec<Arc<ChannelBinding>>> {
        self.memory.bindings(room).await
    }

    async fn binding(
        &self,
        room: &RoomId,
        channel: &ChannelId,
    ) -> Result<Option<Arc<ChannelBinding>>> {
        let found = self.memory.binding(room, channel).await?;
        Ok(found.filter(|_| !self.is(Fault::FindsNoBinding)))
    }
}

#[async_trait]
impl ParticipantStore for BrokenStore {
    async fn participant(&self, room: &RoomId, id: &ParticipantId) -> Result<Option<Participant>> {
        self.memory.participant(room, id).await
    }

    async fn participants(&self, room: &RoomId) -> Result<Vec<Participant>> {
        let mut participants = self.memory.participants(room).await?;
        if self.is(Fault::ReordersParticipants) {
            participants.sort_by(|a, b| a.id.cmp(&b.id));
        }
        Ok(participants)
    }

    async fn delete_participant(&self, room: &RoomId, id: &ParticipantId) -> Result<bool> {
        self.memory.delete_participant(room, id).await
    }
}

#[async_trait]
impl IdentityStore for BrokenStore {
    async fn put_identity(&self, mut identity: Identity) -> Result<()> {
        if self.is(Fault::MixesIdentities) {
            identity.organization_id = None;
        }
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
impl WorkStore for BrokenStore {
    async fn tasks(&self, room: &RoomId) -> Result<Vec<Task>> {
        self.memory.tasks(room).await
    }

    async fn update_task(&self, task: Task) -> Result<bool> {
        match self.is(Fault::UpdatesNoTask) {
            true => Ok(self.memory.task(&task.room_id, &task.id).await?.is_some()),
            false => self.memory.update_task(task).await,
        }
    }

    async fn task(&self, room: &RoomId, id: &TaskId) -> Result<Option<Task>> {
        self.memory.task(room, id).await
    }

    async fn observations(&self, room: &RoomId) -> Result<Vec<Observation>> {
        self.memory.observations(room).await
    }
}

#[async_trait]
impl ReadStore for BrokenStore {
    async fn mark_read(&self, mut marker: ReadMarker) -> Result<()> {
        if self.is(Fault::MovesMarkersBack) {
            // The memory store cannot be made to: the index is shown lower from the second call on.
            let calls = self.back.fetch_add(1, Ordering::SeqCst);
            marker.index = marker.index.saturating_sub(calls.min(1));
        }
        self.memory.mark_read(marker).await
    }

    async fn read_markers(&self, room: &RoomId) -> Result<Vec<ReadMarker>> {
        self.memory.read_markers(room).await
    }

    async fn unread_count(&self, room: &RoomId, channel: &ChannelId) -> Result<u64> {
        if self.is(Fault::CountsOwnAsUnread) {
            return self.memory.unread_count(room, &"nobody".into()).await;
        }
        self.memory.unread_count(room, channel).await
    }
}

#[async_trait]
impl DeliveryStore for BrokenStore {
    async fn owed(&self, room: Option<&RoomId>, limit: usize) -> Result<Vec<OwedDelivery>> {
        let mut owed = self.memory.owed(room, limit).await?;
        if self.is(Fault::OwesInNoOrder) {
            owed.sort_by_key(|owed| owed.index);
        }
        Ok(owed)
    }

    async fn settle_owed(&self, delivery_id: &str) -> Result<bool> {
        match self.is(Fault::SettlesNothing) {
            true => Ok(true),
            false => self.memory.settle_owed(delivery_id).await,
        }
    }

    async fn update_owed(&self, owed: OwedDelivery) -> Result<bool> {
        self.memory.update_owed(owed).await
    }
}

#[async_trait]
impl ArchiveStore for BrokenStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        let keep = !self.is(Fault::DumpsNoSenders);
        let parts = self.memory.dump(room).filter(move |part| {
            let sender = matches!(part, Ok(RoomPart::Sender { .. }));
            std::future::ready(keep || !sender)
        });
        parts.boxed()
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        if self.is(Fault::RestoresOverARoom) {
            self.memory.delete_room(&"r".into()).await?;
        }
        self.memory.restore(parts).await
    }
}

#[async_trait]
impl ConversationStore for BrokenStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        let mut parts: Vec<RoomCommit> = batch.into_iter().collect();
        for part in &mut parts {
            self.spoil(part).await;
        }
        if self.is(Fault::CommitsPartByPart) {
            let mut rooms = Vec::new();
            for part in parts {
                rooms.push(self.memory.commit(part.into()).await?.into_first());
            }
            return CommitReceipt::of(rooms);
        }
        let mut parts = parts.into_iter();
        let first = CommitBatch::from(parts.next().unwrap());
        self.memory
            .commit(parts.fold(first, CommitBatch::and))
            .await
    }
}

type Test = fn(TestStore) -> BoxFuture<'static, ()>;

macro_rules! list {
    ($suite:ident; $($test:ident)+) => {
        [$((stringify!($test), (|store| Box::pin($suite::$test(store))) as Test)),+]
    };
}

/// The names of the tests that fail with a fault.
async fn failing(fault: Fault, most: usize) -> Vec<&'static str> {
    let mut failing = Vec::new();
    for (name, test) in roomkit_testkit::__store_tests!([list] suite) {
        let run = async move { test(TestStore::new(Arc::new(BrokenStore::new(fault)))).await };
        // A test that waits for a commit which never comes has noticed too.
        let run = tokio::time::timeout(std::time::Duration::from_secs(20), run);
        let noticed = !matches!(AssertUnwindSafe(run).catch_unwind().await, Ok(Ok(())));
        if noticed {
            failing.push(name);
        }
        if failing.len() == most {
            break;
        }
    }
    failing
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .thread_name("broken_store")
        .enable_all()
        .build();
    runtime.unwrap().block_on(test)
}

#[test]
fn a_store_with_any_one_fault_fails_a_test() {
    // Hundreds of panics are wanted here; those of other tests are shown as ever.
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let name = std::thread::current().name().map(str::to_owned);
        if name.is_none_or(|name| !name.starts_with("broken_store")) {
            others(panic);
        }
    }));
    let noticed = |fault: &Fault| !run(failing(*fault, 1)).is_empty();
    let unnoticed: Vec<Fault> = Fault::ALL
        .into_iter()
        .filter(|fault| !noticed(fault))
        .collect();
    let sound = run(failing(Fault::None, usize::MAX));
    // Printed, since the hook is silent about this thread too.
    println!("{} faults, unnoticed: {unnoticed:?}", Fault::ALL.len());
    println!("tests that a sound store fails: {sound:?}");
    assert!(unnoticed.is_empty() && sound.is_empty());
}
