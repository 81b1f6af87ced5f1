//! Several processes: the tests run themselves again as the other one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use futures_util::StreamExt;
use roomkit_core::ErrorKind;
use roomkit_core::model::Metadata;
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventQuery, EventStore, Page, RoomCommit, RoomFilter,
    RoomStore, RoomUpdate,
};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};

use crate::support::{Place, dump, now, room_with, say};

const ROLE: &str = "ROOMKIT_SQLITE_ROLE";
const FILE: &str = "ROOMKIT_SQLITE_FILE";
const WRITERS: u64 = 8;
const EVENTS: u64 = 1250;

fn spawn(role: &str, file: &Path) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "processes::the_other_process",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ROLE, role)
        .env(FILE, file)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // The harness writes in front of the first line.
    let said = lines.map_while(Result::ok).filter_map(|line| {
        let at = line.find("says ")?;
        Some(line[at + 5..].to_owned())
    });
    (child, said)
}

fn tell(what: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "says {what}").unwrap();
    out.flush().unwrap();
}

/// Does nothing unless another test runs it as another process.
#[tokio::test]
async fn the_other_process() {
    let (Ok(role), Ok(file)) = (std::env::var(ROLE), std::env::var(FILE)) else {
        return;
    };
    let config = SqliteConfig::new(file);
    match role.as_str() {
        "writer" => match SqliteStore::open(config).await {
            Ok(_) => tell("opened"),
            Err(error) => tell(error),
        },
        "reader" => read_until_all_is_there(config.read_only()).await,
        _ => {
            let store = SqliteStore::open(config).await.unwrap();
            room_with(&store, "r", 0).await;
            for index in 0.. {
                store.commit(say("r", index, "x").into()).await.unwrap();
                tell(index);
            }
        }
    }
}

/// Reads rooms, pages and whole dumps, again and again, while the other process writes.
async fn read_until_all_is_there(config: SqliteConfig) {
    let store = SqliteStore::open(config).await.unwrap();
    tell("ready");
    loop {
        let rooms = store
            .list_rooms(&RoomFilter::default(), Page::first(99))
            .await
            .unwrap();
        let mut events = 0;
        for room in &rooms {
            let parts: Vec<_> = store.dump(&room.id).collect().await;
            assert!(parts.iter().all(Result::is_ok));
            let seen = store.room(&room.id).await.unwrap().unwrap();
            let last = store.events(&room.id, &EventQuery::last(1)).await.unwrap();
            assert!(last.last().map_or(0, |event| event.index + 1) >= seen.room.event_count);
            events += seen.room.event_count;
        }
        if events == WRITERS * EVENTS {
            return tell("done");
        }
    }
}

#[tokio::test]
async fn another_process_that_would_write_is_refused() {
    let place = Place::new();
    let store = place.open().await;
    let (mut child, mut said) = spawn("writer", store.path());
    let refused = said.next().unwrap();
    assert!(
        refused.contains("rooms.db is open in another process"),
        "{refused}"
    );
    assert!(child.wait().unwrap().success());
    store.close().await.unwrap();
    let (mut child, mut said) = spawn("writer", store.path());
    assert_eq!(said.next().as_deref(), Some("opened"));
    assert!(child.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_writers_beside_a_long_reader_meet_no_error() {
    let place = Place::new();
    let store = Arc::new(place.open().await);
    for writer in 0..WRITERS {
        room_with(&*store, &format!("r{writer}"), 0).await;
    }
    let (mut child, mut said) = spawn("reader", store.path());
    assert_eq!(said.next().as_deref(), Some("ready"));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                let room = format!("r{writer}");
                for index in 0..EVENTS {
                    store
                        .commit(say(&room, index, "hello").into())
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    assert_eq!(said.next().as_deref(), Some("done"));
    assert!(child.wait().unwrap().success());
    let mut held = Vec::new();
    for writer in 0..WRITERS {
        let room = format!("r{writer}");
        let snapshot = store.room(&room.as_str().into()).await.unwrap();
        held.push((snapshot, dump(&*store, &room).await, room));
    }
    store.close().await.unwrap();
    let again = place.open().await;
    for (snapshot, parts, room) in held {
        assert_eq!(again.room(&room.as_str().into()).await.unwrap(), snapshot);
        assert_eq!(dump(&again, &room).await, parts);
    }
}

#[tokio::test]
async fn what_was_answered_survives_a_kill() {
    let place = Place::new();
    let path = place.config().path;
    let (mut child, mut said) = spawn("victim", &path);
    let answered = said.nth(300).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let last = said.last().unwrap_or(answered);
    let store = place.open().await;
    let room = store.room(&"r".into()).await.unwrap().unwrap();
    assert!(room.room.event_count > last.parse().unwrap());
    let events = store
        .events(&"r".into(), &EventQuery::first(usize::MAX))
        .await
        .unwrap();
    assert_eq!(events.len() as u64, room.room.event_count);
    store
        .commit(say("r", room.room.next_index(), "on").into())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_another_wrote_whose_lock_was_taken_away_is_not_undone() {
    let place = Place::new();
    let first = place.open().await;
    room_with(&first, "r", 1).await;
    let lock = first.path().with_extension("db.lock");
    std::fs::remove_file(lock).unwrap();
    let second = place.open().await;
    let room = "r".into();
    let note = |key: &str| {
        let mut update = RoomUpdate::default();
        update.merge_metadata = Metadata::new().with(key, 1);
        let mut commit = RoomCommit::new("r".into(), None, now());
        commit.room = Some(Box::new(update));
        commit
    };
    for round in 0..3 {
        first
            .commit(note(&format!("first{round}")).into())
            .await
            .unwrap();
        second
            .commit(note(&format!("second{round}")).into())
            .await
            .unwrap();
    }
    let stale = first.commit(say("r", 1, "x").into()).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::VersionConflict);
    first.close().await.unwrap();
    second.close().await.unwrap();
    let found = place.open().await.room(&room).await.unwrap().unwrap();
    assert_eq!((found.version, found.room.metadata.len()), (7, 6));
}
