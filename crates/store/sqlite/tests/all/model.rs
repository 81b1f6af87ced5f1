//! The same operations on the memory store and on SQLite: the same answers, the same rooms.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::StreamExt;
use proptest::prelude::*;
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelType, EventFilter, EventId, EventSource, EventType,
    Identity, Metadata, Observation, Participant, ReadMarker, Room, RoomEvent, RoomStatus, Task,
    TextContent,
};
use roomkit_core::store::{
    BindingChange, CommitBatch, ConversationStore, EventQuery, EventSearch, Expiry,
    IdempotentOutcome, MemoryStore, OwedDelivery, OwedKind, Page, RetentionAction, RetentionScope,
    RoomCommit, RoomFilter, RoomUpdate, Speaker,
};
use roomkit_core::sync::FencingToken;
use roomkit_store_sqlite::{SqliteOptions, SqliteStore};

use crate::support::{Place, dump, now};

const ROOMS: [&str; 3] = ["r", "s", "t/ü"];
const CHANNELS: [&str; 3] = ["a", "b", "c"];
const WORDS: [&str; 6] = ["hello", "can't", "3.14", "Grüße", "snake_case", "привет"];

/// A commit, in numbers from which its parts are made.
#[derive(Debug, Clone)]
struct Plan {
    room: usize,
    version: i8,
    index: i8,
    has_event: bool,
    word: usize,
    edits: Option<u8>,
    fencing: Option<u64>,
    key: Option<u8>,
    speaker: Option<usize>,
    binding: Option<(usize, bool)>,
    status: Option<u8>,
    participant: bool,
    work: bool,
    owed: bool,
    payload: bool,
    parent: Option<u8>,
}

#[derive(Debug, Clone)]
enum Step {
    Create(usize),
    Commit(Plan),
    Two(Plan, Plan),
    DeleteRoom(usize),
    DeleteEvents(usize, Vec<u8>),
    Expire(u8, bool, u8, usize),
    Mark(usize, usize, u64),
    Settle(u8, usize),
    UpdateOwed(usize, u8),
    UpdateTask(usize),
    DeleteParticipant(usize, usize),
    Move(usize),
    Reopen,
}

fn plan() -> impl Strategy<Value = Plan> {
    let common = (
        0..ROOMS.len(),
        prop_oneof![9 => Just(0_i8), 1 => -1_i8..2],
        prop_oneof![9 => Just(0_i8), 1 => -1_i8..2],
        prop::bool::weighted(0.8),
        0..WORDS.len(),
        prop::option::weighted(0.2, 0_u8..6),
        prop::option::weighted(0.3, 0_u64..4),
        prop::option::weighted(0.4, 0_u8..12),
    );
    let rest = (
        prop::option::weighted(0.5, 0..CHANNELS.len()),
        prop::option::weighted(0.3, (0..CHANNELS.len(), any::<bool>())),
        prop::option::weighted(0.15, 0_u8..4),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.3),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.2, 0_u8..6),
    );
    (common, rest).prop_map(|(a, b)| Plan {
        room: a.0,
        version: a.1,
        index: a.2,
        has_event: a.3,
        word: a.4,
        edits: a.5,
        fencing: a.6,
        key: a.7,
        speaker: b.0,
        binding: b.1,
        status: b.2,
        participant: b.3,
        work: b.4,
        owed: b.5,
        payload: b.6,
        parent: b.7,
    })
}

fn step() -> impl Strategy<Value = Step> {
    let room = 0..ROOMS.len();
    prop_oneof![
        3 => room.clone().prop_map(Step::Create),
        20 => plan().prop_map(Step::Commit),
        2 => (plan(), plan()).prop_map(|(a, b)| Step::Two(a, b)),
        1 => room.clone().prop_map(Step::DeleteRoom),
        2 => (room.clone(), prop::collection::vec(0_u8..12, 0..3))
            .prop_map(|(room, events)| Step::DeleteEvents(room, events)),
        2 => (0_u8..12, any::<bool>(), 0_u8..3, 0_usize..5)
            .prop_map(|(age, redact, scope, limit)| Step::Expire(age, redact, scope, limit)),
        2 => (room.clone(), 0..CHANNELS.len(), 0_u64..12).prop_map(|(r, c, i)| Step::Mark(r, c, i)),
        1 => (0_u8..12, 0..CHANNELS.len()).prop_map(|(event, channel)| Step::Settle(event, channel)),
        1 => (room.clone(), 0_u8..12).prop_map(|(room, event)| Step::UpdateOwed(room, event)),
        1 => room.clone().prop_map(Step::UpdateTask),
        1 => (room.clone(), 0..CHANNELS.len()).prop_map(|(r, c)| Step::DeleteParticipant(r, c)),
        1 => room.prop_map(Step::Move),
        1 => Just(Step::Reopen),
    ]
}

fn id_of(room: usize, index: u64) -> EventId {
    format!("{}-{index}", ROOMS[room]).into()
}

fn at(seconds: u64) -> DateTime<Utc> {
    now() + TimeDelta::seconds(i64::try_from(seconds).unwrap())
}

/// The two stores, and what numbers are given next.
struct Pair {
    memory: MemoryStore,
    sqlite: SqliteStore,
    options: SqliteOptions,
    clock: u64,
}

fn code<T>(result: &roomkit_core::Result<T>) -> Option<(&'static str, bool)> {
    result
        .as_ref()
        .err()
        .map(|error| (error.code(), error.is_retryable()))
}

/// Asks both the same and wants the same answer.
macro_rules! both {
    ($pair:expr, $store:ident => $call:expr) => {{
        let $store: &dyn ConversationStore = &$pair.memory;
        let expected = $call;
        let $store: &dyn ConversationStore = &$pair.sqlite;
        let found = $call;
        assert_eq!(code(&found), code(&expected), "{found:?} for {expected:?}");
        if let (Ok(found), Ok(expected)) = (&found, &expected) {
            assert_eq!(found, expected);
        }
    }};
}

impl Pair {
    async fn commit_of(&mut self, plan: &Plan) -> RoomCommit {
        self.clock += 1;
        let room = ROOMS[plan.room];
        let known = self.memory_room(room).await;
        let (version, next) = known.map_or((0, 0), |room| (room.version, room.room.next_index()));
        let off = |number: u64, by: i8| number.saturating_add_signed(by.into());
        let mut commit = RoomCommit::new(
            room.into(),
            Some(off(version, plan.version)),
            at(self.clock),
        );
        commit.fencing = plan.fencing.map(FencingToken);
        let index = off(next, plan.index);
        if plan.has_event {
            commit.event = Some(Arc::new(self.event(plan, index, 0)));
        }
        if let Some(index) = plan.edits {
            commit.edited = Some(Arc::new(self.event(plan, index.into(), self.clock)));
        }
        commit.idempotency = plan.key.map(|key| IdempotentOutcome {
            key: format!("key-{key}"),
            event_id: id_of(plan.room, index),
            blocked: key % 2 == 0,
            reason: (key % 3 == 0).then(|| "why".into()),
        });
        commit.speaker = plan.speaker.map(|channel| Speaker {
            participant_id: format!("p{}", channel / 2).into(),
            sender_id: format!("+{channel}").into(),
            channel_id: CHANNELS[channel].into(),
            channel_type: if channel == 0 {
                ChannelType::custom("x").unwrap()
            } else {
                ChannelType::Sms
            },
        });
        if let Some((channel, attach)) = plan.binding {
            let channel = CHANNELS[channel];
            let mut binding = ChannelBinding::new(
                channel,
                room,
                ChannelType::Sms,
                ChannelCategory::Transport,
                at(self.clock),
            );
            binding.muted = plan.word == 0;
            commit.bindings.push(match attach {
                true => BindingChange::Put(Arc::new(binding)),
                false => BindingChange::Detach(channel.into()),
            });
        }
        if let Some(status) = plan.status {
            let statuses = [
                RoomStatus::Active,
                RoomStatus::Paused,
                RoomStatus::Closed,
                RoomStatus::Archived,
            ];
            let mut update = RoomUpdate::default();
            update.status = Some(statuses[usize::from(status)]);
            update.merge_metadata = Metadata::new().with("word", plan.word);
            commit.room = Some(Box::new(update));
        }
        if plan.participant {
            commit
                .participants
                .push(Participant::new("p0", room, "b", at(self.clock)));
        }
        if plan.work {
            let mut task = Task::new(room, "todo", at(self.clock));
            task.id = format!("task-{}", self.clock).into();
            commit.tasks.push(task);
            let observation = Observation::new(room, "a", "mood", "fine", at(self.clock));
            commit.observations.push(observation);
        }
        if plan.owed {
            let channels = CHANNELS.map(|channel| {
                let event = self.event(plan, index, 0);
                OwedDelivery::new(&event, channel.into(), OwedKind::Delivery)
            });
            commit.owed.extend(channels);
        }
        commit
    }

    fn event(&self, plan: &Plan, index: u64, version: u64) -> RoomEvent {
        let channel = CHANNELS[plan.word % CHANNELS.len()];
        let mut source = EventSource::new(channel, ChannelType::Sms);
        source.participant_id = plan.speaker.map(|speaker| format!("p{speaker}").into());
        if plan.payload {
            source.raw_payload = Metadata::new().with("n", 1.1).with("version", version);
        }
        let text = format!(
            "{} {} {index}",
            WORDS[plan.word],
            WORDS[(plan.word + 1) % WORDS.len()]
        );
        let mut event = RoomEvent::new(ROOMS[plan.room], source, TextContent::new(text), at(index));
        event.id = id_of(plan.room, index);
        event.index = index;
        event.parent_event_id = plan.parent.map(|parent| id_of(plan.room, parent.into()));
        if plan.work {
            event.event_type = EventType::System;
            event.correlation_id = Some("c".into());
        }
        if version > 0 {
            event.metadata = Metadata::new()
                .with("edited", true)
                .with("version", version);
        }
        event
    }

    async fn memory_room(&self, room: &str) -> Option<roomkit_core::store::RoomSnapshot> {
        let store: &dyn ConversationStore = &self.memory;
        store.room(&room.into()).await.unwrap()
    }

    async fn run(&mut self, step: &Step) {
        match step {
            Step::Create(room) => {
                let mut new = Room::new(ROOMS[*room], at(u64::from(*room == 0)));
                new.organization_id = (*room > 0).then(|| "acme".into());
                both!(self, store => store.create_room(new.clone()).await);
            }
            Step::Commit(plan) => {
                let commit = self.commit_of(plan).await;
                both!(self, store => store.commit(commit.clone().into()).await);
            }
            Step::Two(first, second) => {
                let first = self.commit_of(first).await;
                let batch = CommitBatch::from(first).and(self.commit_of(second).await);
                both!(self, store => store.commit(batch.clone()).await);
            }
            Step::DeleteRoom(room) => {
                both!(self, store => store.delete_room(&ROOMS[*room].into()).await);
            }
            Step::DeleteEvents(room, events) => {
                let events: Vec<_> = events
                    .iter()
                    .map(|index| id_of(*room, (*index).into()))
                    .collect();
                both!(self, store => store.delete_events(&ROOMS[*room].into(), &events).await);
            }
            Step::Expire(age, redact, scope, limit) => {
                let expiry = Expiry {
                    rooms: match scope {
                        0 => RetentionScope::Organization("acme".into()),
                        1 => RetentionScope::AllBut(["acme".into()].into()),
                        _ => RetentionScope::AllBut([].into()),
                    },
                    before: at((*age).into()),
                    action: if *redact {
                        RetentionAction::Redact
                    } else {
                        RetentionAction::Delete
                    },
                };
                both!(self, store => store.expire_events(&expiry, *limit).await);
            }
            Step::Mark(room, channel, index) => {
                let marker = ReadMarker {
                    room_id: ROOMS[*room].into(),
                    channel_id: CHANNELS[*channel].into(),
                    index: *index,
                    read_at: at(*index),
                };
                both!(self, store => store.mark_read(marker.clone()).await);
            }
            Step::Settle(event, channel) => {
                let id = format!("{}:{}", id_of(0, (*event).into()), CHANNELS[*channel]);
                both!(self, store => store.settle_owed(&id).await);
            }
            Step::UpdateOwed(room, event) => {
                let mut of = RoomEvent::new(
                    ROOMS[*room],
                    EventSource::system(),
                    TextContent::new(""),
                    now(),
                );
                of.index = (*event).into();
                of.id = id_of(*room, of.index);
                let mut owed = OwedDelivery::new(&of, "a".into(), OwedKind::Delivery);
                owed.attempts = 1;
                both!(self, store => store.update_owed(owed.clone()).await);
            }
            Step::UpdateTask(room) => {
                let tasks = self.memory_tasks(ROOMS[*room]).await;
                let mut task = Task::new(ROOMS[*room], "done", now());
                task.id = tasks.first().map_or("none".into(), |task| task.id.clone());
                both!(self, store => store.update_task(task.clone()).await);
            }
            Step::DeleteParticipant(room, number) => {
                let id = format!("p{}", number / 2).into();
                both!(self, store => store.delete_participant(&ROOMS[*room].into(), &id).await);
            }
            Step::Move(room) => self.move_room(ROOMS[*room]).await,
            Step::Reopen => {
                let store: &dyn ConversationStore = &self.sqlite;
                store.close().await.unwrap();
                self.sqlite = SqliteStore::open(self.options.clone()).await.unwrap();
            }
        }
    }

    async fn memory_tasks(&self, room: &str) -> Vec<Task> {
        let store: &dyn ConversationStore = &self.memory;
        store.tasks(&room.into()).await.unwrap()
    }

    /// Takes a room out of SQLite and puts it back; the memory store's does the same.
    async fn move_room(&mut self, room: &str) {
        let parts = dump(&self.sqlite, room).await;
        let again = || futures_util::stream::iter(parts.clone().into_iter().map(Ok)).boxed();
        both!(self, store => store.restore(again()).await);
        both!(self, store => store.delete_room(&room.into()).await);
        both!(self, store => store.restore(again()).await);
    }

    async fn compare(&self) {
        for room in ROOMS {
            assert_eq!(
                dump(&self.sqlite, room).await,
                dump(&self.memory, room).await
            );
            let id = room.into();
            both!(self, store => store.room(&id).await);
            for channel in CHANNELS {
                both!(self, store => store.unread_count(&id, &channel.into()).await);
            }
            let roots: Vec<EventId> = (0..6)
                .map(|index| format!("{room}-{index}").into())
                .collect();
            both!(self, store => store.thread_summaries(&id, &roots).await);
            for root in &roots {
                both!(self, store => store.event_versions(&id, root).await);
            }
            for query in queries() {
                both!(self, store => store.events(&id, &query).await);
            }
            both!(self, store => store.owed(Some(&id), 5).await);
        }
        both!(self, store => store.owed(None, 100).await);
        for text in [
            "hello",
            "CAN'T 3.14",
            "grüße snake_case",
            "snake",
            "привет 3",
            "t",
            "",
            "14",
        ] {
            both!(self, store => store.search_events(&EventSearch::new(text, 9)).await);
            let search = EventSearch::new(text, 3).room("r").offset(1);
            both!(self, store => store.search_events(&search).await);
            let search = EventSearch::new(text, 3).organization("acme");
            both!(self, store => store.search_events(&search).await);
        }
        for organization in [None, Some("acme".into())] {
            for number in 0..CHANNELS.len() {
                let channel = CHANNELS[number].into();
                both!(self, store => store.rooms_of_channel(organization.as_ref(), &channel, 2).await);
                let sender = format!("+{number}").into();
                let kind = ChannelType::Sms;
                both!(self, store => store.rooms_of_sender(organization.as_ref(), &kind, &sender, 2).await);
            }
        }
        for filter in room_filters() {
            both!(self, store => store.list_rooms(&filter, Page::first(9)).await);
            both!(self, store => store.list_rooms(&filter, Page { offset: 1, limit: 1 }).await);
        }
    }
}

fn room_filters() -> Vec<RoomFilter> {
    let mut acme = RoomFilter::default();
    acme.organization_id = Some("acme".into());
    let mut closed = RoomFilter::default();
    closed.statuses = vec![RoomStatus::Closed, RoomStatus::Archived];
    let mut word = acme.clone();
    word.metadata = Metadata::new().with("word", 1);
    vec![RoomFilter::default(), acme, closed, word]
}

fn queries() -> Vec<EventQuery> {
    let filtered = |filter: EventFilter| {
        [
            EventQuery::first(3).filter(filter.clone()),
            EventQuery::last(2).offset(1).filter(filter),
        ]
    };
    let filters = [
        EventFilter {
            source_channel_id: Some("a".into()),
            ..EventFilter::default()
        },
        EventFilter {
            participant_id: Some("p1".into()),
            ..EventFilter::default()
        },
        EventFilter {
            parent_event_id: Some("r-1".into()),
            ..EventFilter::default()
        },
        EventFilter {
            top_level_only: true,
            ..EventFilter::default()
        },
        EventFilter {
            correlation_id: Some("c".into()),
            ..EventFilter::default()
        },
        EventFilter {
            after_time: Some(at(2)),
            before_time: Some(at(5)),
            ..EventFilter::default()
        },
        EventFilter::of_types([EventType::System]),
        EventFilter::of_types([EventType::System, EventType::Message]),
        EventFilter {
            exclude_types: Some(vec![EventType::System]),
            ..EventFilter::default()
        },
    ];
    let mut all = vec![
        EventQuery::first(100),
        EventQuery::last(3),
        EventQuery::last(3).offset(2).before(6),
        EventQuery::first(3).after(1).offset(1),
        EventQuery::first(3).after(u64::MAX),
        EventQuery::last(3).before(u64::MAX),
    ];
    all.extend(filters.into_iter().flat_map(filtered));
    all
}

fn check(steps: &[Step], cached_rooms: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let place = Place::new();
        let options = place.options().cached_rooms(cached_rooms);
        let sqlite = SqliteStore::open(options.clone()).await.unwrap();
        let memory = MemoryStore::new();
        let mut pair = Pair {
            memory,
            sqlite,
            options,
            clock: 0,
        };
        for step in steps {
            pair.run(step).await;
        }
        pair.compare().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48 * scale(), ..ProptestConfig::default() })]

    #[test]
    fn any_operations_leave_what_they_leave_in_memory(
        steps in prop::collection::vec(step(), 1..60),
        cached_rooms in prop_oneof![Just(0_usize), Just(64)],
    ) {
        check(&steps, cached_rooms);
    }
}

fn scale() -> u32 {
    std::env::var("ROOMKIT_SCALE")
        .ok()
        .and_then(|scale| scale.parse().ok())
        .unwrap_or(1)
}

#[tokio::test]
async fn identities_are_found_as_in_memory() {
    let place = Place::new();
    let pair = Pair {
        memory: MemoryStore::new(),
        sqlite: place.open().await,
        options: place.options(),
        clock: 0,
    };
    let identity = |id: &str, organization: Option<&str>, addresses: &[&str]| {
        let mut identity = Identity::new(id);
        identity.organization_id = organization.map(Into::into);
        let addresses = addresses.iter().map(|one| (*one).to_owned()).collect();
        identity.channel_addresses = BTreeMap::from([("sms".to_owned(), addresses)]);
        identity
    };
    for put in [
        identity("y", Some("acme"), &["+1", "+1", "+2"]),
        identity("x", Some("acme"), &["+1"]),
        identity("x", None, &["+1"]),
        identity("x", Some(""), &["+3"]),
        identity("x", None, &["+2"]),
        identity("y", Some("acme"), &["+2"]),
    ] {
        both!(pair, store => store.put_identity(put.clone()).await);
    }
    for organization in [None, Some("acme".into()), Some("".into())] {
        let organization = organization.as_ref();
        for address in ["+1", "+2", "+3"] {
            let kind = ChannelType::Sms;
            both!(pair, store => store.identities_by_address(organization, &kind, address).await);
        }
        for id in ["x", "y", "z"] {
            both!(pair, store => store.identity(organization, &id.into()).await);
        }
    }
}
