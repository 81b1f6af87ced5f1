//! Databases of every schema version there has been, opened with this one.

use std::path::PathBuf;

use roomkit_core::store::{ConversationStore, EventSearch, EventStore, MemoryStore, RoomStore};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use rusqlite::Connection;

use crate::support::{Place, dump, full_room, sample, say};

/// The newest version; each up to it has a database `schema-N.db`.
const NEWEST: u32 = 2;

fn copy(place: &Place, version: u32) -> PathBuf {
    let path = place.file("rooms.db");
    std::fs::copy(sample(&format!("schema-{version}.db")), &path).unwrap();
    let db = Connection::open(&path).unwrap();
    let found: u32 = db
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(found, version);
    path
}

#[tokio::test]
async fn a_database_of_every_version_opens_with_all_that_is_in_it() {
    let memory = MemoryStore::new();
    full_room(&memory).await;
    let expected = dump(&memory, "full").await;
    for version in 1..=NEWEST {
        let place = Place::new();
        copy(&place, version);
        if version < NEWEST {
            let early = SqliteStore::open(place.config().read_only())
                .await
                .unwrap_err();
            assert!(early.message().contains("schema version 1"), "{early}");
        }
        let store = place.open().await;
        assert_eq!(dump(&store, "full").await, expected, "version {version}");
        for text in ["can't invoice", "GRÜSSE", "grüße", "never mind", "7"] {
            let search = EventSearch::new(text, 9);
            let found = store.search_events(&search).await.unwrap();
            assert_eq!(
                found,
                memory.search_events(&search).await.unwrap(),
                "{text}"
            );
        }
        store.commit(say("full", 9, "on").into()).await.unwrap_err();
        let mut next = say("full", 9, "on");
        let room = store.room(&"full".into()).await.unwrap().unwrap();
        next.expected_version = Some(room.version);
        next.event = Some(std::sync::Arc::new(crate::support::event("full", 8, "on")));
        store.commit(next.into()).await.unwrap();
        store.close().await.unwrap();
        // Once it is up to date there is nothing more to do.
        let again = SqliteStore::open(place.config().read_only()).await.unwrap();
        assert_eq!(dump(&again, "full").await.len(), expected.len() + 1);
    }
}

/// What somebody has added by hand that a later version has too is made anew.
#[tokio::test]
async fn a_table_of_a_later_version_is_not_in_the_way() {
    let place = Place::new();
    let path = copy(&place, 1);
    let db = Connection::open(path).unwrap();
    db.execute_batch("CREATE TABLE words (x); CREATE TABLE unindexed (y)")
        .unwrap();
    db.close().unwrap();
    let store = place.open().await;
    let found = store
        .search_events(&EventSearch::new("invoice", 9))
        .await
        .unwrap();
    assert_eq!(found.len(), 6);
}

#[tokio::test]
async fn a_migration_that_fails_leaves_the_version_before() {
    let place = Place::new();
    let path = copy(&place, 1);
    let rows = || {
        let db = Connection::open(&path).unwrap();
        let version: u32 = db
            .pragma_query_value(None, "user_version", |row| row.get(0))
            .unwrap();
        let tables = "SELECT group_concat(sql) FROM sqlite_schema";
        let tables: String = db.query_row(tables, [], |row| row.get(0)).unwrap();
        let events = "SELECT group_concat(data) FROM events";
        let events: String = db.query_row(events, [], |row| row.get(0)).unwrap();
        (version, tables, events)
    };
    // A view of that name cannot be dropped as a table.
    let spoil = "CREATE VIEW words AS SELECT 1";
    Connection::open(&path)
        .unwrap()
        .execute_batch(spoil)
        .unwrap();
    let before = rows();
    let error = SqliteStore::open(SqliteConfig::new(&path))
        .await
        .unwrap_err();
    assert!(
        error
            .message()
            .contains("stays at schema version 1: the step to 2"),
        "{error}"
    );
    assert_eq!(rows(), before);
    Connection::open(&path)
        .unwrap()
        .execute_batch("DROP VIEW words")
        .unwrap();
    let store = place.open().await;
    assert!(!dump(&store, "full").await.is_empty());
}

/// Writes the databases of `tests/data` where the variable names a folder: for a new version.
#[tokio::test]
async fn the_database_of_this_version_is_like_the_one_that_is_kept() {
    let place = Place::new();
    let store = place.open().await;
    full_room(&store).await;
    store.close().await.unwrap();
    let schema = |path: &std::path::Path| -> String {
        let db = Connection::open(path).unwrap();
        let sql = "SELECT group_concat(sql, ';') FROM (SELECT sql FROM sqlite_schema \
             WHERE sql IS NOT NULL AND name NOT LIKE 'words\\_%' ESCAPE '\\' ORDER BY name)";
        db.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    if let Ok(folder) = std::env::var("ROOMKIT_SQLITE_SAMPLES") {
        std::fs::copy(store.path(), format!("{folder}/schema-{NEWEST}.db")).unwrap();
    }
    let kept = Place::new();
    assert_eq!(schema(store.path()), schema(&copy(&kept, NEWEST)));
}
