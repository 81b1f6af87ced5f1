//! Any history: the same calls on a store and in memory leave the same rooms.

use std::sync::Arc;

use roomkit_core::model::{
    EventId, EventStatus, EventType, Identity, Metadata, Observation, Participant, ReadMarker,
    Room, RoomEvent, RoomStatus, Task, TaskStatus, TextContent,
};
use roomkit_core::store::{
    BindingChange, CommitBatch, ConversationStore, EventQuery, EventSearch, Expiry, MemoryStore,
    OwedDelivery, OwedKind, Page, RetentionAction, RetentionScope, RoomCommit, RoomFilter,
};
use roomkit_core::sync::FencingToken;
use roomkit_core::{Error, Result};

use super::TestStore;
use super::archive::parts;
use super::sample::{after, attach, event_of, outcome, speaker};

const ROOMS: [&str; 3] = ["r", "s", "t"];
const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const HISTORIES: u64 = 6;
const STEPS: usize = 150;

/// A small generator: the same numbers for the same seed, everywhere (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }

    fn one_of<'a>(&mut self, names: &[&'a str]) -> &'a str {
        names[usize::try_from(self.roll(names.len() as u64)).unwrap()]
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.roll(100) < percent
    }
}

/// A call of a history, the same for both stores.
enum Call {
    Create(Room),
    DeleteRoom(&'static str),
    Commit(Box<CommitBatch>),
    DeleteEvents(&'static str, Vec<EventId>),
    DeleteParticipant(&'static str, &'static str),
    UpdateTask(Task),
    Mark(ReadMarker),
    UpdateOwed(OwedDelivery),
    Settle(String),
    PutIdentity(Identity),
    Expire(Expiry, usize),
    Reopen,
}

async fn make(call: &Call, store: &dyn ConversationStore) -> Result<String, Error> {
    Ok(match call {
        Call::Create(room) => format!("{:?}", store.create_room(room.clone()).await?),
        Call::DeleteRoom(room) => store.delete_room(&(*room).into()).await?.to_string(),
        Call::Commit(batch) => format!("{:?}", store.commit((**batch).clone()).await?),
        Call::DeleteEvents(room, ids) => {
            store.delete_events(&(*room).into(), ids).await?.to_string()
        }
        Call::DeleteParticipant(room, id) => {
            let (room, id) = ((*room).into(), (*id).into());
            store.delete_participant(&room, &id).await?.to_string()
        }
        Call::UpdateTask(task) => store.update_task(task.clone()).await?.to_string(),
        Call::Mark(marker) => format!("{:?}", store.mark_read(marker.clone()).await?),
        Call::UpdateOwed(owed) => store.update_owed(owed.clone()).await?.to_string(),
        Call::Settle(id) => store.settle_owed(id).await?.to_string(),
        Call::PutIdentity(identity) => {
            format!("{:?}", store.put_identity(identity.clone()).await?)
        }
        Call::Expire(expiry, limit) => store.expire_events(expiry, *limit).await?.to_string(),
        Call::Reopen => String::new(),
    })
}

/// The next call, from what the model holds now; now and then one that must be refused.
async fn next(dice: &mut Dice, model: &dyn ConversationStore) -> Call {
    let room = dice.one_of(&ROOMS);
    let events = model
        .events(&room.into(), &EventQuery::first(99))
        .await
        .unwrap();
    let some_event = |dice: &mut Dice| {
        let at = usize::try_from(dice.roll(events.len().max(1) as u64)).unwrap();
        events.get(at).cloned()
    };
    match dice.roll(40) {
        0..3 => {
            let mut made = Room::new(room, after(i64::try_from(dice.roll(5)).unwrap()));
            made.organization_id = dice.chance(50).then(|| "acme".into());
            Call::Create(made)
        }
        3 if dice.chance(30) => Call::DeleteRoom(room),
        4 => {
            let ids = (0..dice.roll(3))
                .filter_map(|_| some_event(dice))
                .map(|one| one.id.clone());
            Call::DeleteEvents(room, ids.collect())
        }
        5 => Call::DeleteParticipant(room, dice.one_of(&NAMES)),
        6 => {
            let tasks = model.tasks(&room.into()).await.unwrap();
            let mut task = tasks
                .last()
                .cloned()
                .unwrap_or_else(|| Task::new(room, "none", after(0)));
            task.status = TaskStatus::Completed;
            Call::UpdateTask(task)
        }
        7 | 8 => Call::Mark(ReadMarker {
            room_id: room.into(),
            channel_id: dice.one_of(&NAMES).into(),
            index: dice.roll(20),
            read_at: after(0),
        }),
        9 | 10 => {
            let owed = model.owed(None, 9).await.unwrap().into_iter().next();
            match owed {
                Some(mut owed) if dice.chance(50) => {
                    owed.attempts += 1;
                    owed.failed = dice.chance(50);
                    Call::UpdateOwed(owed)
                }
                owed => Call::Settle(owed.map_or_else(|| "none".into(), |owed| owed.delivery_id)),
            }
        }
        11 => {
            let mut identity = Identity::new(dice.one_of(&NAMES));
            identity.organization_id = dice.chance(50).then(|| "acme".into());
            let address = dice.one_of(&NAMES).to_owned();
            identity
                .channel_addresses
                .insert("sms".into(), vec![address]);
            Call::PutIdentity(identity)
        }
        12 if dice.chance(30) => {
            let acme = RetentionScope::Organization("acme".into());
            let expiry = Expiry {
                rooms: if dice.chance(50) {
                    acme
                } else {
                    RetentionScope::AllBut([].into())
                },
                before: after(i64::try_from(dice.roll(40)).unwrap()),
                action: match dice.roll(3) {
                    0 => RetentionAction::Delete,
                    _ => RetentionAction::Redact,
                },
            };
            Call::Expire(expiry, usize::try_from(dice.roll(4)).unwrap())
        }
        13 => Call::Reopen,
        14 => {
            let other = dice.one_of(&ROOMS);
            let batch = CommitBatch::from(part(dice, model, room, None).await);
            Call::Commit(Box::new(batch.and(part(dice, model, other, None).await)))
        }
        _ => {
            let edited = some_event(dice);
            Call::Commit(Box::new(part(dice, model, room, edited).await.into()))
        }
    }
}

/// A commit to a room, right nine times in ten.
async fn part(
    dice: &mut Dice,
    model: &dyn ConversationStore,
    room: &'static str,
    target: Option<Arc<RoomEvent>>,
) -> RoomCommit {
    let there = model.room(&room.into()).await.unwrap();
    let (version, next) = there.map_or((0, 0), |at| (at.version, at.room.next_index()));
    let mut commit = RoomCommit::new(
        room.into(),
        None,
        after(i64::try_from(dice.roll(90)).unwrap()),
    );
    if dice.chance(80) {
        let index = next + u64::from(dice.chance(5));
        let mut event = event_of(
            room,
            index,
            dice.one_of(&["apple pie", "pear", "apple pear"]),
        );
        event.created_at = commit.at;
        event.source.channel_id = dice.one_of(&NAMES).into();
        event.source.raw_payload = Metadata::new().with("raw", index);
        if dice.chance(10) {
            event.status = EventStatus::Blocked;
        }
        if dice.chance(20) {
            event.event_type = EventType::System;
            event.parent_event_id = target.as_ref().map(|event| event.id.clone());
        }
        if dice.chance(30) {
            let owed = OwedDelivery::new(&event, dice.one_of(&NAMES).into(), OwedKind::Delivery);
            commit.owed.push(owed);
        }
        if dice.chance(40) {
            let key = format!("k{}", dice.roll(30));
            commit.idempotency = Some(outcome(&key, &event.id));
        }
        commit.event = Some(Arc::new(event));
    }
    if let Some(target) = target.filter(|_| dice.chance(20)) {
        let mut edited = (*target).clone();
        edited.content = TextContent::new(dice.one_of(&["plum", "apple"])).into();
        edited.metadata = match dice.roll(3) {
            0 => Metadata::new().with("deleted", true),
            _ => Metadata::new().with("edited", true),
        };
        commit.edited = Some(Arc::new(edited));
    }
    if dice.chance(90) {
        commit.expected_version = Some(version + u64::from(dice.chance(5)));
    }
    if dice.chance(20) {
        commit.fencing = Some(FencingToken(version / 3 + dice.roll(3)));
    }
    if dice.chance(50) {
        commit.speaker = Some(speaker(
            dice.one_of(&NAMES),
            dice.one_of(&NAMES),
            dice.one_of(&NAMES),
        ));
    }
    for _ in 0..dice.roll(3).saturating_sub(1) {
        let channel = dice.one_of(&NAMES);
        commit.bindings.push(match dice.chance(60) {
            true => attach(room, channel),
            false => BindingChange::Detach(channel.into()),
        });
    }
    if dice.chance(10) {
        let update = commit.room.get_or_insert_default();
        update.status = match dice.roll(4) {
            0 => Some(RoomStatus::Closed),
            1 => Some(RoomStatus::Paused),
            2 => Some(RoomStatus::Active),
            _ => None,
        };
        update.merge_metadata = Metadata::new().with(dice.one_of(&NAMES), dice.roll(9));
    }
    if dice.chance(10) {
        let at = commit.at;
        commit.tasks.push(Task::new(room, "task", at));
        commit
            .observations
            .push(Observation::new(room, "a", "mood", "good", at));
        commit
            .participants
            .push(Participant::new(dice.one_of(&NAMES), room, "a", at));
    }
    commit
}

pub async fn any_history_is_the_same_as_in_memory(mut test: TestStore) {
    for seed in 0..HISTORIES {
        let mut dice = Dice(seed);
        let model = MemoryStore::new();
        for room in ROOMS {
            test.store().delete_room(&room.into()).await.unwrap();
        }
        let mut history = 0;
        for step in 0..STEPS {
            let call = next(&mut dice, &model).await;
            if matches!(call, Call::Reopen) {
                test.reopen().await;
            }
            let expected = make(&call, &model).await.map_err(|error| error.kind());
            let found = make(&call, &**test.store())
                .await
                .map_err(|error| error.kind());
            assert_eq!(found, expected, "seed {seed}, step {step}");
            history += usize::from(found.is_ok());
            if step % 10 == 9 {
                compare(
                    &**test.store(),
                    &model,
                    &format!("seed {seed}, step {step}"),
                )
                .await;
            }
        }
        assert!(history > STEPS / 2, "most calls do something");
    }
}

/// Every way to read them gives the same.
async fn compare(store: &dyn ConversationStore, model: &dyn ConversationStore, at: &str) {
    for room in ROOMS {
        assert_eq!(
            parts(store, room).await,
            parts(model, room).await,
            "{at}, room {room}"
        );
        let id = room.into();
        let snapshots = (
            store.room(&id).await.unwrap(),
            model.room(&id).await.unwrap(),
        );
        assert_eq!(snapshots.0, snapshots.1, "{at}, room {room}");
        for channel in NAMES.map(Into::into) {
            let unread = store.unread_count(&id, &channel).await.unwrap();
            assert_eq!(
                unread,
                model.unread_count(&id, &channel).await.unwrap(),
                "{at}"
            );
        }
    }
    for organization in [None, Some("acme".into())] {
        let organization = organization.as_ref();
        for name in NAMES {
            let sms = roomkit_core::model::ChannelType::Sms;
            let found = store
                .rooms_of_channel(organization, &name.into(), 9)
                .await
                .unwrap();
            let expected = model.rooms_of_channel(organization, &name.into(), 9).await;
            assert_eq!(found, expected.unwrap(), "{at}, channel {name}");
            let found = store
                .rooms_of_sender(organization, &sms, &name.into(), 9)
                .await;
            let expected = model
                .rooms_of_sender(organization, &sms, &name.into(), 9)
                .await;
            assert_eq!(found.unwrap(), expected.unwrap(), "{at}, sender {name}");
        }
    }
    for text in ["apple", "pear apple", "plum"] {
        let search = EventSearch::new(text, 50);
        let found = store.search_events(&search).await.unwrap();
        assert_eq!(
            found,
            model.search_events(&search).await.unwrap(),
            "{at}, {text}"
        );
    }
    let rooms = store
        .list_rooms(&RoomFilter::default(), Page::first(99))
        .await
        .unwrap();
    let expected = model
        .list_rooms(&RoomFilter::default(), Page::first(99))
        .await
        .unwrap();
    assert_eq!(rooms, expected, "{at}");
    assert_eq!(
        store.owed(None, 99).await.unwrap(),
        model.owed(None, 99).await.unwrap(),
        "{at}"
    );
}
