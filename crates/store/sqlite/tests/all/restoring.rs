//! Rooms that are being restored: nobody sees a half of one, and nothing is left of it.

use std::future::{Future, poll_fn};
use std::task::Poll;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use roomkit_core::model::Room;
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventSearch, EventStore, Expiry, Page, RetentionAction,
    RetentionScope, RoomFilter, RoomPart, RoomStore,
};
use roomkit_core::{ErrorKind, Result};
use roomkit_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Place, dump, now, room_with, say};

/// So many that they come in several transactions.
const EVENTS: u64 = 1000;

/// The parts of a room of another store, of which the first `most` come and no end.
async fn some_parts(most: usize) -> BoxStream<'static, Result<RoomPart>> {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", EVENTS).await;
    let parts = dump(&store, "r").await.into_iter().take(most);
    stream::iter(parts.map(Ok)).boxed()
}

fn hidden_rows(store: &SqliteStore) -> i64 {
    let db = Connection::open(store.path()).unwrap();
    let sql = "SELECT (SELECT count(*) FROM rooms) + (SELECT count(*) FROM events) \
         + (SELECT count(*) FROM unindexed)";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

async fn nothing_is_seen(store: &SqliteStore) {
    assert_eq!(store.room(&"r".into()).await.unwrap(), None);
    assert!(dump(store, "r").await.is_empty());
    let rooms = store
        .list_rooms(&RoomFilter::default(), Page::first(9))
        .await
        .unwrap();
    assert!(rooms.is_empty());
    let found = store
        .search_events(&EventSearch::new("hello", 9))
        .await
        .unwrap();
    assert!(found.is_empty());
    let expiry = Expiry {
        rooms: RetentionScope::AllBut([].into()),
        before: now() + chrono::TimeDelta::days(1),
        action: RetentionAction::Delete,
    };
    assert_eq!(store.expire_events(&expiry, 9).await.unwrap(), 0);
}

#[tokio::test]
async fn what_is_given_up_is_not_seen_and_goes() {
    let place = Place::new();
    let store = place.open().await;
    let unended = store.restore(some_parts(700).await).await.unwrap_err();
    assert_eq!(unended.kind(), ErrorKind::InvalidInput);
    nothing_is_seen(&store).await;
    assert_eq!(hidden_rows(&store), 0);

    // A caller that goes away while the parts are still coming.
    let parts = some_parts(700).await.chain(stream::pending()).boxed();
    let mut restoring = Box::pin(store.restore(parts));
    let begun = async {
        while hidden_rows(&store) < 500 {
            tokio::task::yield_now().await
        }
    };
    tokio::select! {
        _ = &mut restoring => panic!("it never ends"),
        () = begun => {}
    }
    nothing_is_seen(&store).await;
    drop(restoring);
    nothing_is_seen(&store).await;
    assert_eq!(hidden_rows(&store), 0);
    store.create_room(Room::new("r", now())).await.unwrap();
}

#[tokio::test]
async fn what_an_end_of_the_process_left_is_removed_when_it_opens() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 3).await;
    room_with(&store, "s", 2).await;
    store.close().await.unwrap();
    let db = Connection::open(store.path()).unwrap();
    db.execute_batch("UPDATE rooms SET id = NULL WHERE id = 'r'")
        .unwrap();
    drop(db);
    let store = place.open().await;
    assert_eq!(store.room(&"r".into()).await.unwrap(), None);
    assert_eq!(hidden_rows(&store), 1 + 2);
    assert_eq!(dump(&store, "s").await.len(), 4);
}

/// Polls a call until it has waited so often, and drops it there; whether it was answered before.
async fn give_up_after<T>(waits: usize, call: impl Future<Output = T>) -> bool {
    let mut call = Box::pin(call);
    let mut waited = 0;
    poll_fn(|cx| {
        if call.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        waited += 1;
        match waited >= waits {
            true => Poll::Ready(false),
            false => Poll::Pending,
        }
    })
    .await
}

#[tokio::test]
async fn a_caller_that_goes_away_at_any_moment_leaves_a_room_whole_or_none() {
    let parts: Vec<RoomPart> = some_parts(usize::MAX)
        .await
        .map(Result::unwrap)
        .collect()
        .await;
    let place = Place::new();
    let mut store = place.open().await;
    for waits in 1.. {
        let parts = stream::iter(parts.clone().into_iter().map(Ok)).boxed();
        let answered = give_up_after(waits, store.restore(parts)).await;
        // Whatever was left to be done is done before this.
        store.delete_room(&"nobody".into()).await.unwrap();
        let there = store.room(&"r".into()).await.unwrap().is_some();
        assert!(there || !answered, "wait {waits}");
        if there {
            let commit = say("r", EVENTS, "more");
            store.commit(commit.into()).await.unwrap();
        }
        store.close().await.unwrap();
        let rows = hidden_rows(&store);
        let events = if there { EVENTS + 1 } else { 0 };
        assert_eq!(
            rows,
            i64::try_from(events).unwrap() + i64::from(there),
            "wait {waits}"
        );
        store = place.open().await;
        assert_eq!(store.room(&"r".into()).await.unwrap().is_some(), there);
        store.delete_room(&"r".into()).await.unwrap();
        if answered {
            break;
        }
    }
}

#[tokio::test]
async fn a_room_that_was_taken_meanwhile_stays_as_it_is() {
    let place = Place::new();
    let store = place.open().await;
    let (first, second) = tokio::join!(
        store.restore(some_parts(usize::MAX).await),
        store.restore(some_parts(usize::MAX).await)
    );
    let refused = match (first, second) {
        (Ok(_), Err(refused)) | (Err(refused), Ok(_)) => refused,
        both => panic!("one of two: {both:?}"),
    };
    assert_eq!(refused.kind(), ErrorKind::RoomAlreadyExists);
    assert_eq!(store.delete_events(&"r".into(), &[]).await.unwrap(), 0);
    assert_eq!(dump(&store, "r").await.len() as u64, EVENTS + 2);
    assert!(store.delete_room(&"r".into()).await.unwrap());
    assert_eq!(hidden_rows(&store), 0);

    let (parts, resume) = (some_parts(usize::MAX).await, tokio::sync::Notify::new());
    let mut taken = 0;
    let waiting = parts.then(|part| {
        taken += 1;
        let wait = taken == 900;
        let resume = &resume;
        async move {
            if wait {
                resume.notified().await;
            }
            part
        }
    });
    let created = async {
        while hidden_rows(&store) < 500 {
            tokio::task::yield_now().await
        }
        let created = store.create_room(Room::new("r", now())).await.unwrap();
        resume.notify_one();
        created
    };
    let (restored, created) = tokio::join!(store.restore(waiting.boxed()), created);
    assert_eq!(restored.unwrap_err().kind(), ErrorKind::RoomAlreadyExists);
    assert!(store.room(&"s".into()).await.unwrap().is_none());
    assert_eq!(store.room(&"r".into()).await.unwrap(), Some(created));
    assert_eq!(store.delete_events(&"r".into(), &[]).await.unwrap(), 0);
    assert_eq!(hidden_rows(&store), 1);
}

#[tokio::test]
async fn an_index_beyond_what_a_key_holds_is_an_error() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 1).await;
    let mut parts = dump(&store, "r").await;
    for index in [u64::from(u32::MAX) + 1, u64::MAX - 1, u64::MAX] {
        for (part, name) in parts.iter_mut().zip(["room", "event"]) {
            match part {
                RoomPart::Room(head) => {
                    head.room.id = "high".into();
                    head.room.latest_index = Some(index);
                }
                RoomPart::Event(versions) => {
                    let event = std::sync::Arc::make_mut(&mut versions[0]);
                    event.room_id = "high".into();
                    event.index = index.saturating_sub(1);
                }
                _ => panic!("{name}"),
            }
        }
        let archive = stream::iter(parts.clone().into_iter().map(Ok)).boxed();
        let refused = store.restore(archive).await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        assert_eq!(hidden_rows(&store), 1 + 1 + 1);
    }
}

#[tokio::test]
async fn the_key_of_a_room_that_is_gone_is_not_given_again() {
    let place = Place::new();
    let store = place.open().await;
    let key = || -> i64 {
        let db = Connection::open(store.path()).unwrap();
        db.query_row("SELECT max(key) FROM rooms", [], |row| row.get(0))
            .unwrap()
    };
    store.create_room(Room::new("r", now())).await.unwrap();
    let first = key();
    store.delete_room(&"r".into()).await.unwrap();
    store.create_room(Room::new("s", now())).await.unwrap();
    assert!(
        key() > first,
        "who reads by the first key reads another's room"
    );
}
