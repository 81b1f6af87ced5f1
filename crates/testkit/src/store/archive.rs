//! Whole rooms, out of a store and into another.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use roomkit_core::model::{EventStatus, Observation, Participant, ReadMarker, RoomStatus, Task};
use roomkit_core::store::{
    BindingChange, ConversationStore, EventQuery, MemoryStore, OwedDelivery, OwedKind, RoomPart,
    export_room, import_room,
};
use roomkit_core::{Error, ErrorKind};

use super::TestStore;
use super::sample::{
    after, attach, commit, commit_of, create, effects, event_of, indexes, now, outcome, snapshot,
    speaker, with_rooms,
};

/// Everything that a store holds of a room.
pub(super) async fn parts(store: &dyn ConversationStore, room: &str) -> Vec<RoomPart> {
    store.dump(&room.into()).try_collect().await.unwrap()
}

/// A room with everything in it, a hole among its events.
async fn rich(store: &dyn ConversationStore) {
    create(store, "r").await;
    for index in 0..5 {
        let mut event = event_of("r", index, "words of a message");
        if index == 3 {
            event.status = EventStatus::Blocked;
        }
        event.source.raw_payload.insert("raw", index);
        let mut part = commit_of(index, event);
        let event = Arc::clone(part.event.as_ref().unwrap());
        part.idempotency = Some(outcome(&format!("key-{index}"), &event.id));
        part.speaker = Some(speaker("p", &format!("s{}", index % 2), "a"));
        part.tasks
            .push(Task::new("r", format!("task {index}"), now()));
        part.observations
            .push(Observation::new("r", "a", "mood", "good", now()));
        part.owed
            .push(OwedDelivery::new(&event, "a".into(), OwedKind::Delivery));
        store.commit(part.into()).await.unwrap();
    }
    let mut last = effects("r");
    last.at = after(9);
    last.bindings = vec![
        attach("r", "z"),
        attach("r", "a"),
        attach("r", "gone"),
        BindingChange::Detach("gone".into()),
    ];
    last.participants = vec![Participant::new("q", "r", "a", now())];
    last.room.get_or_insert_default().status = Some(RoomStatus::Closed);
    store.commit(last.into()).await.unwrap();
    let events = store
        .events(&"r".into(), &EventQuery::first(9))
        .await
        .unwrap();
    let mut edit = effects("r");
    edit.edited = Some(Arc::clone(&events[1]));
    store.commit(edit.into()).await.unwrap();
    let gone = [events[2].id.clone(), events[4].id.clone()];
    store.delete_events(&"r".into(), &gone).await.unwrap();
    let marker = ReadMarker {
        room_id: "r".into(),
        channel_id: "a".into(),
        index: 1,
        read_at: now(),
    };
    store.mark_read(marker).await.unwrap();
}

pub async fn a_dumped_room_is_restored_whole(mut test: TestStore) {
    let memory: &dyn ConversationStore = &MemoryStore::new();
    rich(memory).await;
    let archive = parts(memory, "r").await;
    let kinds = archive
        .iter()
        .map(std::mem::discriminant)
        .collect::<std::collections::HashSet<_>>();
    assert_eq!(kinds.len(), 11, "every kind of part is there");

    let there = memory.room(&"r".into()).await.unwrap().unwrap();
    let restored = test
        .store()
        .restore(stream::iter(archive.clone()).map(Ok).boxed())
        .await
        .unwrap();
    assert_eq!(restored, there);
    test.reopen().await;
    let store = &**test.store();
    assert_eq!(parts(store, "r").await, archive);
    assert!(parts(store, "gone").await.is_empty());
    let again = stream::iter(archive).map(Ok).boxed();
    let taken = store.restore(again).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::RoomAlreadyExists);

    // It goes on where it was.
    let mut open = effects("r");
    open.room.get_or_insert_default().status = Some(RoomStatus::Active);
    let open = store.commit(open.into()).await.unwrap().into_first();
    let (version, next) = (open.version, open.room.next_index());
    assert_eq!(next, 5);
    store
        .commit(commit("r", version, next).into())
        .await
        .unwrap();
    assert_eq!(
        indexes(store, "r", &EventQuery::first(9)).await,
        [0, 1, 3, 5]
    );
    let rooms = store.rooms_of_channel(None, &"z".into(), 9).await.unwrap();
    assert_eq!(rooms, ["r"]);
}

pub async fn an_archive_that_makes_no_room_leaves_nothing(test: TestStore) {
    let memory = MemoryStore::new();
    rich(&memory).await;
    let archive = parts(&memory, "r").await;
    let store = &**test.store();
    let refused = async |parts: Vec<RoomPart>, what: &str| {
        let parts = stream::iter(parts).map(Ok).boxed();
        let error = store.restore(parts).await.expect_err(what);
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{what}: {error}");
        assert!(store.room(&"r".into()).await.unwrap().is_none(), "{what}");
    };
    refused(Vec::new(), "nothing").await;
    for cut in 1..archive.len() {
        refused(archive[..cut].to_vec(), &format!("cut after {cut} parts")).await;
    }
    refused(archive[1..].to_vec(), "no room").await;
    // Each part twice, but the observations, which have no key of their own.
    for (at, part) in archive.iter().enumerate() {
        if matches!(part, RoomPart::Observation(_)) {
            continue;
        }
        let mut twice = archive.clone();
        twice.insert(at, part.clone());
        if let Some(RoomPart::End { parts }) = twice.last_mut() {
            *parts += 1;
        }
        refused(twice, &format!("twice: {part:?}")).await;
    }
    let mut foreign = archive.clone();
    for part in &mut foreign {
        if let RoomPart::Task(task) = part {
            task.room_id = "other".into();
        }
    }
    refused(foreign, "a task of another room").await;

    let failing = stream::iter(
        archive
            .iter()
            .take(9)
            .cloned()
            .map(Ok)
            .chain([Err(Error::new(
                ErrorKind::ProviderFailed,
                "the other side is gone",
            ))]),
    );
    let error = store.restore(failing.boxed()).await.unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::ProviderFailed,
        "the error comes as it was"
    );
    assert!(store.room(&"r".into()).await.unwrap().is_none());
    let whole = stream::iter(archive).map(Ok).boxed();
    store.restore(whole).await.unwrap();
}

pub async fn rooms_travel_as_json_lines(test: TestStore) {
    let test = with_rooms(test, &["empty"]).await;
    let store = &**test.store();
    rich(store).await;
    for room in ["r", "empty"] {
        let mut lines = Vec::new();
        let count = export_room(store, &room.into(), &mut lines).await.unwrap();
        assert_eq!(count, parts(store, room).await.len() as u64);
        let memory: &dyn ConversationStore = &MemoryStore::new();
        import_room(memory, &lines[..]).await.unwrap();
        assert_eq!(parts(memory, room).await, parts(store, room).await);

        // And back into the store that it came from.
        assert!(store.delete_room(&room.into()).await.unwrap());
        import_room(store, &lines[..]).await.unwrap();
        assert_eq!(parts(memory, room).await, parts(store, room).await);
        assert_eq!(
            snapshot(store, room).await,
            memory.room(&room.into()).await.unwrap().unwrap()
        );
    }
    let error = export_room(store, &"gone".into(), &mut Vec::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RoomNotFound);
    let broken = import_room(store, &b"{\"part\":\"room\"}\nsecret \"words\"\n"[..])
        .await
        .unwrap_err();
    assert!(broken.message().contains("line 1"), "{broken}");
}
