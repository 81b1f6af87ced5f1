//! Opening and closing: what is refused, with which reason, and what is left as it was.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use roomkit_core::ErrorKind;
use roomkit_core::model::{EventId, Metadata, Room};
use roomkit_core::store::{
    ArchiveStore, ConversationStore, DeliveryStore, EventQuery, EventStore, RoomStore,
};
use roomkit_store::{PayloadKey, PayloadKeys};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore, Synchronous};
use rusqlite::Connection;

use crate::support::{Place, dump, event, now, room_with, sample, say};

async fn refusal(config: SqliteConfig) -> String {
    let error = SqliteStore::open(config).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed, "{error}");
    error.message().to_owned()
}

#[tokio::test]
async fn a_second_opening_is_refused_with_the_reason_until_the_first_closes() {
    let place = Place::new();
    let store = place.open().await;
    let says = refusal(place.config()).await;
    assert!(
        says.contains("rooms.db is open") && says.contains("read-only"),
        "{says}"
    );
    #[cfg(unix)]
    {
        let link = place.file("link.db");
        std::os::unix::fs::symlink(store.path(), &link).unwrap();
        assert!(refusal(SqliteConfig::new(link)).await.contains("is open"));
    }
    store.close().await.unwrap();
    let again = place.open().await;
    drop(again);
    place.open().await.close().await.unwrap();
}

#[cfg(unix)]
#[tokio::test]
async fn a_file_with_two_names_is_not_opened_twice() {
    let place = Place::new();
    // A link to what is made only by opening it.
    let link = place.file("link.db");
    std::os::unix::fs::symlink("rooms.db", &link).unwrap();
    let store = SqliteStore::open(SqliteConfig::new(&link)).await.unwrap();
    assert!(refusal(place.config()).await.contains("is open"));
    assert!(refusal(SqliteConfig::new(&link)).await.contains("is open"));
    assert!(store.path().ends_with("rooms.db"));
    store.close().await.unwrap();
    let turning = place.file("turning.db");
    std::os::unix::fs::symlink("turning.db", &turning).unwrap();
    refusal(SqliteConfig::new(turning)).await;

    let second = place.file("second.db");
    std::fs::hard_link(place.config().path, &second).unwrap();
    for path in [place.config().path, second] {
        let says = refusal(SqliteConfig::new(path)).await;
        assert!(says.contains("second name"), "{says}");
    }
}

#[tokio::test]
async fn whoever_closes_at_the_same_time_finds_it_done() {
    let place = Place::new();
    for _ in 0..20 {
        let store = place.open().await;
        let second = async {
            store.close().await.unwrap();
            place.open().await.close().await.unwrap();
        };
        let (first, ()) = tokio::join!(store.close(), second);
        first.unwrap();
    }
    // Who gives up waiting leaves the closing to itself.
    let store = place.open().await;
    let mut closing = Box::pin(store.close());
    std::future::poll_fn(|cx| Poll::Ready(closing.as_mut().poll(cx).is_ready())).await;
    drop(closing);
    store.close().await.unwrap();
    place.open().await;
}

#[tokio::test]
async fn what_is_not_ours_is_refused_and_left_as_it_was() {
    let place = Place::new();
    let sql = |name: &str, sql: &str| {
        let path = place.file(name);
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        path
    };
    let text = place.file("text.db");
    std::fs::write(
        &text,
        "a letter to somebody, which is longer than a header of SQLite, by far",
    )
    .unwrap();
    let python = place.file("python.db");
    std::fs::copy(sample("python-0.66.db"), &python).unwrap();
    let newer = place.file("newer.db");
    SqliteStore::open(SqliteConfig::new(&newer)).await.unwrap();
    Connection::open(&newer)
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    for (path, says) in [
        (text, "no SQLite database"),
        (
            sql("other.db", "CREATE TABLE t (x)"),
            "no database of this store",
        ),
        (
            sql("marked.db", "PRAGMA application_id = 7"),
            "application_id is another",
        ),
        (
            sql("versioned.db", "PRAGMA user_version = 1"),
            "no database of this store",
        ),
        (python, "`python::import`"),
        (newer, "schema version 99, this program knows up to 2"),
    ] {
        let before = std::fs::read(&path).unwrap();
        for config in [
            SqliteConfig::new(&path),
            SqliteConfig::new(&path).read_only(),
        ] {
            let found = refusal(config).await;
            assert!(found.contains(says), "{found}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before, "{}", path.display());
    }
    for path in [place.file("no/such/folder.db"), place.file("")] {
        refusal(SqliteConfig::new(path)).await;
    }
}

#[tokio::test]
async fn who_only_reads_sees_every_commit_and_writes_nothing() {
    let place = Place::new();
    let read_only = place.config().read_only();
    assert!(
        refusal(read_only.clone())
            .await
            .contains("cannot be opened")
    );
    let writer = place.open().await;
    room_with(&writer, "r", 3).await;
    let reader = SqliteStore::open(read_only).await.unwrap();
    assert!(reader.is_shared() && !writer.is_shared());
    for index in 3..6 {
        let id = "r".into();
        assert_eq!(
            reader.room(&id).await.unwrap(),
            writer.room(&id).await.unwrap()
        );
        assert_eq!(dump(&reader, "r").await, dump(&writer, "r").await);
        writer.commit(say("r", index, "more").into()).await.unwrap();
    }
    let error = reader.commit(say("r", 6, "no").into()).await.unwrap_err();
    assert!(
        error.message().contains("read-only") && !error.is_retryable(),
        "{error}"
    );
    assert!(reader.create_room(Room::new("s", now())).await.is_err());
    assert!(reader.delete_room(&"r".into()).await.is_err());
    writer.close().await.unwrap();
    assert_eq!(dump(&reader, "r").await.len(), 8);
    reader.close().await.unwrap();
    assert!(reader.room(&"r".into()).await.is_err());
}

#[tokio::test]
async fn after_it_is_closed_every_call_fails_clearly() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 1).await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let id = "r".into();
    let errors = [
        store.room(&id).await.unwrap_err(),
        store.commit(say("r", 1, "x").into()).await.unwrap_err(),
        store.events(&id, &EventQuery::first(1)).await.unwrap_err(),
        store.settle_owed("x").await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!(
            (error.kind(), error.message()),
            (ErrorKind::StoreFailed, "the store is closed")
        );
    }
    let mut parts = store.dump(&id);
    assert!(
        futures_util::StreamExt::next(&mut parts)
            .await
            .unwrap()
            .is_err()
    );
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_a_commit_whole_or_none() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 0).await;
    let mut index = 0;
    for _ in 0..100 {
        let commit = say("r", index, "x");
        let mut call = Box::pin(store.commit(commit.into()));
        // Polled once and dropped, at its first await.
        std::future::poll_fn(|cx| Poll::Ready(call.as_mut().poll(cx).is_ready())).await;
        drop(call);
        let other = Room::new("s", now());
        store.create_room(other).await.unwrap();
        store.delete_room(&"s".into()).await.unwrap();
        let room = store.room(&"r".into()).await.unwrap().unwrap();
        let events = store
            .events(&"r".into(), &EventQuery::first(999))
            .await
            .unwrap();
        assert_eq!(events.len() as u64, room.room.event_count);
        index = room.room.event_count;
    }
    store.commit(say("r", index, "x").into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commits_that_are_joined_fail_and_succeed_each_for_itself() {
    let place = Place::new();
    let store = Arc::new(place.open().await);
    for room in 0..16 {
        room_with(&*store, &format!("r{room}"), 1).await;
    }
    let calls: Vec<_> = (0..16)
        .map(|room| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let name = format!("r{room}");
                for index in 1..50 {
                    // An id that is there fails after the first statements of its commit.
                    let mut twice = say(&name, index, "twice");
                    let first = store
                        .events(&name.as_str().into(), &EventQuery::first(1))
                        .await;
                    let mut doubled = event(&name, index, "twice");
                    doubled.id = first.unwrap()[0].id.clone();
                    twice.event = Some(Arc::new(doubled));
                    let (failed, done) = tokio::join!(
                        store.commit(twice.into()),
                        store.commit(say(&name, index, "once").into())
                    );
                    assert_eq!(failed.unwrap_err().kind(), ErrorKind::VersionConflict);
                    done.unwrap();
                }
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let kept: Vec<_> = futures_util::future::join_all((0..16).map(|room| {
        let store = Arc::clone(&store);
        async move { store.room(&format!("r{room}").into()).await.unwrap() }
    }))
    .await;
    store.close().await.unwrap();
    let again = place.open().await;
    for room in kept.into_iter().flatten() {
        assert_eq!(room.room.event_count, 50);
        assert_eq!(again.room(&room.room.id).await.unwrap(), Some(room));
    }
}

#[tokio::test]
async fn what_providers_sent_is_sealed_in_the_file() {
    let place = Place::new();
    let keys = || PayloadKeys::new(PayloadKey::new(1, [7; 32]));
    let config = place.config().payload_keys(keys());
    assert!(!format!("{config:?}").contains("7, 7"), "{config:?}");
    let store = SqliteStore::open(config.clone()).await.unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    let mut sealed = event("r", 0, "hello");
    sealed.source.raw_payload = Metadata::new().with("token", "very-secret-payload");
    let mut commit = say("r", 0, "");
    commit.event = Some(Arc::new(sealed.clone()));
    store.commit(commit.into()).await.unwrap();
    let id: EventId = sealed.id.clone();
    assert_eq!(
        store.event(&"r".into(), &id).await.unwrap().as_deref(),
        Some(&sealed)
    );
    store.close().await.unwrap();
    for file in std::fs::read_dir(store.path().parent().unwrap()).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let needle = b"very-secret-payload";
        assert!(!bytes.windows(needle.len()).any(|window| window == needle));
    }
    let without = place.open().await;
    let error = without.event(&"r".into(), &id).await.unwrap_err();
    assert!(error.message().contains("key 1"), "{error}");
    // What is known without the payload is.
    assert!(without.room(&"r".into()).await.unwrap().is_some());
    drop(without);
    let newer =
        PayloadKeys::new(PayloadKey::new(2, [9; 32])).with_previous(PayloadKey::new(1, [7; 32]));
    let store = SqliteStore::open(place.config().payload_keys(newer))
        .await
        .unwrap();
    assert_eq!(
        store.event(&"r".into(), &id).await.unwrap().as_deref(),
        Some(&sealed)
    );
}

#[tokio::test]
async fn options_are_read_from_configuration_and_checked() {
    let json = r#"{"path": "x.db", "synchronous": "full", "busy_timeout_ms": 250}"#;
    let config: SqliteConfig = serde_json::from_str(json).unwrap();
    assert_eq!(config.synchronous, Synchronous::Full);
    assert_eq!(config.busy_timeout, Duration::from_millis(250));
    assert_eq!(
        (config.readers, config.max_group, config.read_only),
        (4, 64, false)
    );
    assert!(serde_json::from_str::<SqliteConfig>(r#"{"path": "x.db", "reader": 1}"#).is_err());
    let place = Place::new();
    for config in [
        place.config().readers(0),
        place.config().max_group(0),
        place.config().max_pages(Some(0)),
    ] {
        let error = SqliteStore::open(config).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

#[tokio::test]
async fn options_at_their_limits_work() {
    let place = Place::new();
    let greatest = place
        .config()
        .readers(usize::MAX)
        .busy_timeout(Duration::MAX)
        .cached_rooms(usize::MAX)
        .cache_kib(u32::MAX)
        .max_group(usize::MAX)
        .max_pages(Some(u32::MAX));
    let least = place
        .config()
        .readers(1)
        .busy_timeout(Duration::ZERO)
        .cached_rooms(0)
        .cache_kib(0)
        .max_group(1);
    for (round, config) in [greatest, least].into_iter().enumerate() {
        let store = SqliteStore::open(config.clone()).await.unwrap();
        let room = format!("r{round}");
        room_with(&store, &room, 5).await;
        let read_only = SqliteStore::open(config.read_only()).await.unwrap();
        for store in [&store, &read_only] {
            let found = store.room(&room.as_str().into()).await.unwrap().unwrap();
            assert_eq!(found.room.event_count, 5);
            assert_eq!(dump(store, &room).await.len(), 7);
        }
        read_only.close().await.unwrap();
        store.close().await.unwrap();
    }
}
