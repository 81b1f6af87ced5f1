//! Moving in from the Python package: the sample whole, and damaged copies of it row by row.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use roomkit_core::ErrorKind;
use roomkit_core::model::{Identity, RoomId};
use roomkit_core::store::{
    ConversationStore, EventQuery, EventStore, IdentityStore, MemoryStore, Page, ParticipantStore,
    RoomFilter, RoomStore, WorkStore,
};
use roomkit_store_sqlite::python::{ImportReport, import};
use rusqlite::Connection;
use serde_json::Value;

use crate::support::{Place, dump, sample};

/// A copy of the sample, changed by statements.
fn copy(place: &Place, damage: &str) -> PathBuf {
    let path = place.file("python.db");
    std::fs::copy(sample("python-0.66.db"), &path).unwrap();
    let db = Connection::open(&path).unwrap();
    db.execute_batch(damage).unwrap();
    db.close().unwrap();
    path
}

fn rows(path: &Path, sql: &str) -> Vec<(String, Value)> {
    let db = Connection::open(path).unwrap();
    let mut statement = db.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
    let parse = |row: rusqlite::Result<(String, String)>| {
        let (key, json) = row.unwrap();
        (key, serde_json::from_str(&json).unwrap())
    };
    rows.unwrap().map(parse).collect()
}

/// Every row of every table is imported or reported.
fn accounted(report: &ImportReport, path: &Path) {
    let db = Connection::open(path).unwrap();
    for table in &report.tables {
        let name = &table.table;
        let sql = format!("SELECT count(*) FROM {name}");
        let there: i64 = db.query_row(&sql, [], |row| row.get(0)).unwrap_or(0);
        let there = there.cast_unsigned();
        let reported = report.problems.iter();
        let reported = reported
            .filter(|one| one.table == *name && one.key != "*")
            .count() as u64;
        assert_eq!(table.rows, there, "{name}");
        assert_eq!(table.imported + reported, there, "{name}:\n{report}");
    }
}

async fn import_into(store: &dyn ConversationStore, path: &Path) -> ImportReport {
    let report = import(path, store).await.unwrap();
    accounted(&report, path);
    report
}

fn json(record: &impl serde::Serialize) -> Value {
    serde_json::to_value(record).unwrap()
}

#[tokio::test]
async fn the_sample_comes_over_whole_and_field_by_field() {
    let place = Place::new();
    let path = copy(&place, "");
    let before = std::fs::read(&path).unwrap();
    let store = place.open().await;
    let report = import_into(&store, &path).await;
    assert!(report.is_complete(), "{report}");
    assert_eq!(
        std::fs::read(&path).unwrap(),
        before,
        "the file is only read"
    );
    let counts: BTreeMap<&str, u64> = report
        .tables
        .iter()
        .map(|table| (table.table.as_str(), table.imported))
        .collect();
    let expected = [
        ("bindings", 12),
        ("event_sequences", 4),
        ("events", 88),
        ("idempotency", 36),
        ("identities", 1),
        ("identity_addresses", 1),
        ("observations", 4),
        ("participants", 4),
        ("read_markers", 4),
        ("rooms", 4),
        ("tasks", 0),
    ];
    assert_eq!(counts, expected.into());

    for (id, expected) in rows(&path, "SELECT id, data FROM rooms") {
        let room = store.room(&id.as_str().into()).await.unwrap().unwrap();
        assert_eq!(json(&*room.room), expected);
        assert_eq!(room.room.next_index(), 22);
    }
    for (room, expected) in rows(
        &path,
        "SELECT room_id, data FROM events ORDER BY room_id, idx",
    ) {
        let id = expected["id"].as_str().unwrap().into();
        let event = store
            .event(&room.as_str().into(), &id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(json(&*event), expected);
    }
    for (room, expected) in rows(&path, "SELECT room_id, data FROM bindings") {
        let room = store.room(&room.as_str().into()).await.unwrap().unwrap();
        let channel = expected["channel_id"].as_str().unwrap().into();
        let mut binding = json(&**room.binding(&channel).unwrap());
        // What Python leaves out of capabilities has its default here.
        let capabilities = binding["capabilities"].as_object_mut().unwrap();
        let theirs = expected["capabilities"].as_object().unwrap();
        capabilities.retain(|key, _| theirs.contains_key(key));
        assert_eq!(binding, expected);
    }
    for (room, expected) in rows(&path, "SELECT room_id, data FROM participants") {
        let id = expected["id"].as_str().unwrap().into();
        let participant = store
            .participant(&room.as_str().into(), &id)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(json(&participant), expected);
    }
    for (room, expected) in rows(&path, "SELECT room_id, data FROM observations") {
        let found = store.observations(&room.as_str().into()).await.unwrap();
        assert_eq!(found.iter().map(json).collect::<Vec<_>>(), [expected]);
    }
    for (id, expected) in rows(&path, "SELECT id, data FROM identities") {
        let organization = expected["organization_id"].as_str().map(Into::into);
        let found = store
            .identity(organization.as_ref(), &id.as_str().into())
            .await
            .unwrap();
        assert_eq!(json(&found.unwrap()), expected);
    }
    let keys = rows(
        &path,
        "SELECT i.room_id, json_array(i.key, e.id) FROM idempotency i \
         JOIN events e ON e.room_id = i.room_id AND e.idempotency_key = i.key",
    );
    assert_eq!(keys.len(), 36);
    for (room, expected) in keys {
        let key = expected[0].as_str().unwrap();
        let found = store
            .idempotent_outcome(&room.as_str().into(), key)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(found.event_id, *expected[1].as_str().unwrap());
        assert!(!found.blocked);
    }
    let markers = rows(
        &path,
        "SELECT m.room_id, json_array(m.channel_id, e.idx) \
         FROM read_markers m JOIN events e ON e.id = m.event_id",
    );
    for (room, expected) in markers {
        let id = RoomId::from(room);
        let found = dump(&store, id.as_str()).await;
        let marker = found.iter().find_map(|part| match part {
            roomkit_core::store::RoomPart::ReadMarker(marker) => Some(marker),
            _ => None,
        });
        let marker = marker.unwrap();
        assert_eq!(json(&(&marker.channel_id, marker.index)), expected);
    }
    let alice = roomkit_core::model::ChannelType::Websocket;
    let found = store
        .rooms_of_sender(None, &alice, &"alice".into(), 9)
        .await
        .unwrap();
    assert_eq!(
        found,
        ["room-0", "room-1", "room-3"],
        "the other one is closed"
    );
}

#[tokio::test]
async fn any_store_takes_it_and_a_second_time_changes_nothing() {
    let place = Place::new();
    let path = copy(&place, "");
    let (memory, sqlite) = (MemoryStore::new(), place.open().await);
    for store in [&memory as &dyn ConversationStore, &sqlite] {
        assert!(import_into(store, &path).await.is_complete());
    }
    let rooms = memory
        .list_rooms(&RoomFilter::default(), Page::first(9))
        .await
        .unwrap();
    assert_eq!(rooms.len(), 4);
    for room in &rooms {
        let id = room.id.as_str();
        let before = dump(&sqlite, id).await;
        assert_eq!(before, dump(&memory, id).await);
        let again = import_into(&sqlite, &path).await;
        assert!(
            again.tables.iter().all(|table| table.imported == 0),
            "{again}"
        );
        assert_eq!(before, dump(&sqlite, id).await);
    }
}

/// What is done to a copy, and the reports that must follow: table, key, part of the reason.
type Case = (
    &'static str,
    &'static [(&'static str, &'static str, &'static str)],
);

const CASES: &[Case] = &[
    (
        "UPDATE events SET data = '{\"id\": \"SECRET' WHERE room_id = 'room-0' AND idx = 3",
        &[("events", "room-0/", "no JSON from byte")],
    ),
    (
        "UPDATE events SET data = json_set(data, '$.type', 'SECRET') \
         WHERE room_id = 'room-0' AND idx IN (3, 5)",
        &[
            ("events", "room-0/", "value that is not known"),
            ("events", "room-0/", "not known"),
        ],
    ),
    (
        "UPDATE events SET data = json_remove(data, '$.source') WHERE room_id = 'room-2' AND idx = 0",
        &[("events", "room-2/", "a field is missing")],
    ),
    (
        "UPDATE events SET data = CAST(X'ff7b' AS TEXT) WHERE room_id = 'room-1' AND idx = 21",
        &[("events", "room-1/", "data is no UTF-8")],
    ),
    (
        "UPDATE events SET data = X'00' WHERE room_id = 'room-1' AND idx = 1;
         UPDATE observations SET data = X'00' WHERE room_id = 'room-1'",
        &[
            ("events", "room-1/", "data is no text"),
            ("observations", "room-1/", "data is no text"),
        ],
    ),
    (
        "UPDATE events SET idx = 'x' WHERE room_id = 'room-0' AND idx = 2;
         UPDATE events SET idx = -5 WHERE room_id = 'room-0' AND idx = 4;
         UPDATE events SET idx = 99 WHERE room_id = 'room-0' AND idx = 6",
        &[
            ("events", "room-0/", "no index"),
            ("events", "room-0/", "no index"),
            ("events", "room-0/", "another room, id or index"),
            ("read_markers", "room-0/ws-b", "its event is not there"),
        ],
    ),
    (
        "DROP INDEX idx_events_room_idx;
         UPDATE events SET idx = 2, data = json_set(data, '$.index', 2) \
         WHERE room_id = 'room-0' AND idx = 3",
        &[("events", "room-0/", "another event with this index")],
    ),
    (
        "UPDATE rooms SET data = 'SECRET' WHERE id = 'room-3';
         DELETE FROM events WHERE room_id = 'room-3';
         DELETE FROM bindings WHERE room_id = 'room-3' AND channel_id <> 'ws-a';
         DELETE FROM idempotency WHERE room_id = 'room-3'",
        &[
            ("rooms", "room-3", "no JSON"),
            ("event_sequences", "room-3", "did not come over"),
            ("bindings", "room-3/ws-a", "did not come over"),
            ("participants", "room-3/alice", "did not come over"),
            ("observations", "room-3/", "did not come over"),
            ("read_markers", "room-3/ws-b", "did not come over"),
        ],
    ),
    (
        "INSERT INTO bindings VALUES ('nowhere', 'x', NULL, 'sms', '{}');
         INSERT INTO tasks VALUES ('t', 'nowhere', 'pending', '{}');
         INSERT INTO event_sequences VALUES ('nowhere', 7);
         INSERT INTO participants VALUES ('nowhere', 'p', '{}');
         INSERT INTO identity_addresses VALUES ('sms', 'SECRET', 'nobody', '')",
        &[
            ("bindings", "nowhere/x", "its room is not there"),
            ("tasks", "nowhere/t", "its room is not there"),
            ("event_sequences", "nowhere", "its room is not there"),
            ("participants", "nowhere/p", "its room is not there"),
            ("identity_addresses", "rowid 2", "identity is not there"),
        ],
    ),
    (
        "CREATE TABLE b AS SELECT * FROM bindings; DROP TABLE bindings;
         INSERT INTO b SELECT * FROM b WHERE room_id = 'room-0' AND channel_id = 'ws-a';
         ALTER TABLE b RENAME TO bindings",
        &[("bindings", "room-0/ws-a", "another row with this key")],
    ),
    (
        "INSERT INTO idempotency VALUES ('room-0', 'unheard');
         UPDATE read_markers SET event_id = 'unheard' WHERE room_id = 'room-1'",
        &[
            (
                "idempotency",
                "room-0/unheard",
                "no event of the room has this key",
            ),
            ("read_markers", "room-1/ws-b", "its event is not there"),
        ],
    ),
    (
        "UPDATE identities SET data = json_set(data, '$.id', 'SECRET')",
        &[
            ("identities", "id-1", "its id is another"),
            ("identity_addresses", "rowid 1", "identity is not there"),
        ],
    ),
    (
        "UPDATE identity_addresses SET organization_id = 'other'",
        &[("identity_addresses", "rowid 1", "of another organisation")],
    ),
    (
        "ALTER TABLE observations DROP COLUMN data",
        &[
            ("observations", "room-0/", "data is not there"),
            ("observations", "room-1/", "data is not there"),
            ("observations", "room-2/", "data is not there"),
            ("observations", "room-3/", "data is not there"),
        ],
    ),
    (
        "DROP TABLE tasks; CREATE TABLE notes (x); INSERT INTO notes VALUES ('SECRET')",
        &[
            ("notes", "*", "its 1 rows are left"),
            ("tasks", "*", "not there"),
        ],
    ),
];

#[tokio::test]
async fn what_cannot_be_read_is_reported_row_by_row() {
    for (damage, expected) in CASES {
        let place = Place::new();
        let path = copy(&place, damage);
        let store = place.open().await;
        let report = import_into(&store, &path).await;
        let mut left: Vec<_> = report.problems.iter().collect();
        for (table, key, reason) in *expected {
            let found = left.iter().position(|one| {
                one.table == *table && one.key.starts_with(key) && one.reason.contains(reason)
            });
            let found =
                found.unwrap_or_else(|| panic!("{table} {key} {reason}:\n{damage}\n{report}"));
            left.remove(found);
        }
        assert!(left.is_empty(), "{left:?} after {damage}");
        assert!(!report.to_string().contains("SECRET"), "{report}");
    }
}

#[tokio::test]
async fn a_room_comes_over_around_what_is_damaged() {
    let place = Place::new();
    let path = copy(
        &place,
        "UPDATE events SET data = 'x' WHERE room_id = 'room-0' AND idx IN (0, 7, 21)",
    );
    let store = place.open().await;
    let report = import_into(&store, &path).await;
    assert_eq!(report.problems.len(), 3);
    let room = store.room(&"room-0".into()).await.unwrap().unwrap();
    assert_eq!(room.room.next_index(), 22, "no index is given twice");
    let events = store
        .events(&"room-0".into(), &EventQuery::first(99))
        .await
        .unwrap();
    assert_eq!(events.len(), 19);
}

#[tokio::test]
async fn a_key_of_an_event_that_is_damaged_still_answers_a_repeat() {
    let place = Place::new();
    let damage =
        "UPDATE events SET data = 'x' WHERE room_id = 'room-0' AND idempotency_key IS NOT NULL";
    let path = copy(&place, damage);
    let store = place.open().await;
    let report = import_into(&store, &path).await;
    assert_eq!(report.table("idempotency").unwrap().imported, 36);
    let found = store
        .idempotent_outcome(&"room-0".into(), "room-0-0")
        .await
        .unwrap();
    assert!(found.is_some());
}

#[tokio::test]
async fn an_identity_that_is_there_is_left_as_it_is() {
    let place = Place::new();
    let path = copy(&place, "");
    let store = place.open().await;
    let mut identity = Identity::new("id-1");
    identity.organization_id = Some("org-1".into());
    store.put_identity(identity.clone()).await.unwrap();
    let report = import_into(&store, &path).await;
    assert_eq!(report.problems.len(), 2, "{report}");
    let organization = "org-1".into();
    let found = store
        .identity(Some(&organization), &"id-1".into())
        .await
        .unwrap();
    assert_eq!(found, Some(identity));
}

#[tokio::test]
async fn what_is_no_database_of_this_version_is_refused() {
    let (place, second) = (Place::new(), Place::new());
    let store = place.open().await;
    let other = place.file("other.db");
    Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (x)")
        .unwrap();
    for (path, says) in [
        (other, "no database of the Python package"),
        (store.path().to_owned(), "schema version 2"),
        (copy(&place, "PRAGMA user_version = 2"), "schema version 2"),
        (copy(&second, "PRAGMA user_version = 4"), "schema version 4"),
    ] {
        let error = import(&path, &store).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert!(error.message().contains(says), "{error}");
    }
    let missing = import(place.file("missing.db"), &store).await.unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::StoreFailed);
    assert!(!place.file("missing.db").exists());
}
