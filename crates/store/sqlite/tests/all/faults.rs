//! What goes wrong outside: another program in the way, a disk that is full.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use roomkit_core::model::{EventId, Room};
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventQuery, EventSearch, EventStore, Expiry, RetentionAction,
    RetentionScope, RoomStore,
};
use roomkit_core::{Error, ErrorKind};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use rusqlite::Connection;

use crate::support::{Place, dump, now, room_with, say};

fn passes(error: &Error, says: &str) {
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    assert!(
        error.is_retryable() && error.message().contains(says),
        "{error:?}"
    );
}

async fn count(store: &SqliteStore) -> u64 {
    let found = store
        .events(&"r".into(), &EventQuery::first(usize::MAX))
        .await
        .unwrap();
    found.len() as u64
}

#[tokio::test]
async fn another_program_in_the_way_is_said_and_passes() {
    let place = Place::new();
    let config = place.config().busy_timeout(Duration::from_millis(30));
    let store = SqliteStore::open(config).await.unwrap();
    room_with(&store, "r", 5).await;
    let before = store.room(&"r".into()).await.unwrap();
    let other = Connection::open(store.path()).unwrap();
    for round in 0..3 {
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        let calls = (0..3).map(|room| store.create_room(Room::new(format!("x{room}"), now())));
        for refused in futures_util::future::join_all(calls).await {
            passes(&refused.unwrap_err(), "another program holds the database");
        }
        let refused = store
            .commit(say("r", 5 + round, "x").into())
            .await
            .unwrap_err();
        passes(&refused, "another program holds the database");
        if round == 0 {
            assert_eq!(store.room(&"r".into()).await.unwrap(), before);
        }
        assert_eq!(count(&store).await, 5 + round, "reading goes on");
        other.execute_batch("ROLLBACK").unwrap();
        store.commit(say("r", 5 + round, "x").into()).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(count(&place.open().await).await, 8);
}

/// What another program does for as long as `step` lasts, at any moment of the store's own work.
const IN_THE_WAY: [&[&str]; 6] = [
    // The writer's place, so that no transaction begins.
    &["BEGIN IMMEDIATE", "ROLLBACK"],
    // A snapshot, so that the log cannot be written back whole or begun anew.
    &["BEGIN; SELECT count(*) FROM events", "COMMIT"],
    // One that grows old beside another that waits for all readers.
    &["PRAGMA wal_checkpoint(RESTART)"],
    &["PRAGMA wal_checkpoint(TRUNCATE)"],
    &["PRAGMA wal_checkpoint(PASSIVE)"],
    &["BEGIN EXCLUSIVE", "SELECT count(*) FROM rooms", "ROLLBACK"],
];

fn be_in_the_way(path: &Path, ended: &std::sync::atomic::AtomicBool) {
    let db = Connection::open(path).unwrap();
    db.busy_timeout(Duration::from_millis(2)).unwrap();
    let mut round = 0_usize;
    while !ended.load(std::sync::atomic::Ordering::Relaxed) {
        for sql in IN_THE_WAY[round % IN_THE_WAY.len()] {
            // Busy itself where the store is faster.
            let _ = db.execute_batch(sql);
            // Held for up to some of the store's commits.
            for _ in 0..round % 7 * 40 {
                std::thread::yield_now();
            }
        }
        if !db.is_autocommit() {
            db.execute_batch("ROLLBACK").unwrap();
        }
        round += 1;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_another_program_holds_at_any_moment_each_write_is_whole_or_not_made() {
    let place = Place::new();
    let config = place.config().busy_timeout(Duration::ZERO);
    let store = SqliteStore::open(config.clone()).await.unwrap();
    room_with(&store, "r", 3).await;
    let archive = dump(&store, "r").await;
    let ended = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let others: Vec<_> = (0..2)
        .map(|_| {
            let (path, ended) = (store.path().to_owned(), std::sync::Arc::clone(&ended));
            std::thread::spawn(move || be_in_the_way(&path, &ended))
        })
        .collect();
    let passes = |error: Error| {
        assert!(
            error.kind() == ErrorKind::StoreFailed && error.is_retryable(),
            "{error:?}"
        );
    };
    let (mut made, mut refused, mut deleted, mut restored_events) = (3, 0, 0, 0);
    for round in 0..1500_u64 {
        // The one that goes first is the one that there is a place for.
        let commit = async || store.commit(say("r", made, "hello").into()).await.map(drop);
        let (first, second) = match round % 3 {
            0 => tokio::join!(commit(), commit()),
            _ => (
                commit().await,
                Err(Error::new(ErrorKind::VersionConflict, "not made")),
            ),
        };
        for outcome in [first, second] {
            match outcome {
                Ok(()) => made += 1,
                Err(error) if error.kind() == ErrorKind::VersionConflict => {}
                Err(error) => {
                    refused += 1;
                    passes(error);
                }
            }
        }
        let seen = store.room(&"r".into()).await.unwrap().unwrap();
        assert_eq!(seen.room.event_count, made, "round {round}");
        if round % 50 == 0 {
            let expiry = Expiry {
                rooms: RetentionScope::AllBut([].into()),
                before: now() + chrono::TimeDelta::days(1),
                action: RetentionAction::Delete,
            };
            match store.expire_events(&expiry, 5).await {
                Ok(events) => deleted += events,
                Err(error) => passes(error),
            }
            let parts = archive.clone().into_iter().map(|part| {
                Ok(serde_json::from_value(
                    serde_json::from_str(
                        &serde_json::to_string(&part)
                            .unwrap()
                            .replace("\"r\"", &format!("\"r{round}\"")),
                    )
                    .unwrap(),
                )
                .unwrap())
            });
            let parts = futures_util::stream::iter(parts.collect::<Vec<_>>());
            let restored = store.restore(futures_util::StreamExt::boxed(parts)).await;
            let room = format!("r{round}");
            let there = store.room(&room.as_str().into()).await.unwrap();
            assert_eq!(there.is_some(), restored.is_ok(), "round {round}");
            match restored {
                Ok(_) => restored_events += 3,
                Err(error) => passes(error),
            }
        }
    }
    ended.store(true, std::sync::atomic::Ordering::Relaxed);
    for other in others {
        other.join().unwrap();
    }
    assert!(refused > 0, "nothing was ever in the way");
    let search = EventSearch::new("hello", usize::MAX);
    let found = store.search_events(&search).await.unwrap();
    assert_eq!(found.len() as u64, made + restored_events - deleted);
    let before = dump(&store, "r").await;
    store.close().await.unwrap();
    let again = SqliteStore::open(config).await.unwrap();
    assert_eq!(dump(&again, "r").await, before);
    let left = Connection::open(again.path()).unwrap();
    let nameless: i64 = left
        .query_row("SELECT count(*) FROM rooms WHERE id IS NULL", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(nameless, 0);
}

#[tokio::test]
async fn a_reader_in_the_way_of_the_last_checkpoint_loses_nothing() {
    let place = Place::new();
    let config = place.config().busy_timeout(Duration::from_millis(20));
    let store = SqliteStore::open(config.clone()).await.unwrap();
    room_with(&store, "r", 3).await;
    let other = Connection::open(store.path()).unwrap();
    let seen = || -> i64 {
        let sql = "SELECT count(*) FROM events";
        other.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    other.execute_batch("BEGIN").unwrap();
    assert_eq!(seen(), 3);
    for index in 3..400 {
        store.commit(say("r", index, "x").into()).await.unwrap();
    }
    store.close().await.unwrap();
    assert_eq!(seen(), 3, "it sees its moment to the end");
    let store = SqliteStore::open(config).await.unwrap();
    assert_eq!(count(&store).await, 400);
    store.commit(say("r", 400, "x").into()).await.unwrap();
    other.execute_batch("COMMIT").unwrap();
    assert_eq!(seen(), 401);
    store.close().await.unwrap();
}

#[tokio::test]
async fn another_program_in_the_way_of_opening_is_said_and_passes() {
    let place = Place::new();
    let config = place.config().busy_timeout(Duration::from_millis(20));
    // Of a file that is still to be made, one that is there, and one of an earlier version.
    for start in ["", "opened", "schema-1.db"] {
        match start {
            "" => {}
            "opened" => drop(SqliteStore::open(config.clone()).await.unwrap()),
            sample => drop(std::fs::copy(crate::support::sample(sample), &config.path).unwrap()),
        }
        let other = Connection::open(&config.path).unwrap();
        other
            .execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE")
            .unwrap();
        let error = SqliteStore::open(config.clone()).await.unwrap_err();
        passes(&error, "another program holds the database");
        other.execute_batch("ROLLBACK").unwrap();
        drop(other);
        SqliteStore::open(config.clone()).await.unwrap();
    }
}

/// Commits until the disk is full; how many there were and the error.
async fn fill(store: &SqliteStore, mut next: u64) -> (u64, Error) {
    let text = "a long story ".repeat(100);
    loop {
        match store.commit(say("r", next, &text).into()).await {
            Ok(_) => next += 1,
            Err(error) => return (next, error),
        }
        assert!(next < 100_000, "it never gets full");
    }
}

#[tokio::test]
async fn a_file_at_its_limit_refuses_and_goes_on_once_there_is_room() {
    let place = Place::new();
    let config = place.config().max_pages(Some(200));
    let store = SqliteStore::open(config.clone()).await.unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    let (events, error) = fill(&store, 0).await;
    passes(&error, "the disk is full");
    assert_eq!(count(&store).await, events);
    let room = store.room(&"r".into()).await.unwrap().unwrap();
    assert_eq!(room.room.event_count, events);
    store.close().await.unwrap();

    let store = SqliteStore::open(config).await.unwrap();
    assert_eq!(count(&store).await, events, "what was answered is there");
    assert_eq!(store.room(&"r".into()).await.unwrap().as_ref(), Some(&room));
    let (still, error) = fill(&store, events).await;
    passes(&error, "the disk is full");
    let old = store
        .events(&"r".into(), &EventQuery::first(20))
        .await
        .unwrap();
    let old: Vec<EventId> = old.iter().map(|event| event.id.clone()).collect();
    assert_eq!(store.delete_events(&"r".into(), &old).await.unwrap(), 20);
    let (more, _) = fill(&store, still).await;
    assert!(more > still, "work goes on");
    assert_eq!(count(&store).await, more - 20);
}

/// A file system of a few megabytes in memory, where the tests may mount one.
struct Tmpfs(PathBuf);

impl Tmpfs {
    fn mount(at: &Path) -> Option<Self> {
        std::fs::create_dir(at).unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"])
            .arg(at)
            .output();
        mount
            .is_ok_and(|done| done.status.success())
            .then(|| Self(at.to_owned()))
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Where nothing may be mounted, the test above goes the same way through SQLite.
#[tokio::test]
async fn a_full_disk_refuses_and_goes_on_once_there_is_room() {
    let place = Place::new();
    let Some(disk) = Tmpfs::mount(&place.file("disk")) else {
        eprintln!("left out: no tmpfs may be mounted here");
        return;
    };
    let ballast = disk.0.join("ballast");
    std::fs::write(&ballast, vec![0; 1024 * 1024]).unwrap();
    let config = SqliteConfig::new(disk.0.join("rooms.db"));
    let store = SqliteStore::open(config.clone()).await.unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    let (events, error) = fill(&store, 0).await;
    passes(&error, "the disk is full");
    assert_eq!(count(&store).await, events);
    std::fs::remove_file(&ballast).unwrap();
    store
        .commit(say("r", events, "there is room").into())
        .await
        .unwrap();
    let (full, error) = fill(&store, events + 1).await;
    passes(&error, "the disk is full");
    // A disk that is full when the store closes loses nothing either.
    let _ = store.close().await;
    drop(store);
    let again = SqliteStore::open(config).await;
    let again = again.unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(count(&again).await, full);
}
