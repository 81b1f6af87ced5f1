//! What goes wrong outside: another program in the way, a disk that is full.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use roomkit_core::model::{EventId, Room};
use roomkit_core::store::{ConversationStore, EventQuery, EventStore, RoomStore};
use roomkit_core::{Error, ErrorKind};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use rusqlite::Connection;

use crate::support::{Place, now, room_with, say};

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
