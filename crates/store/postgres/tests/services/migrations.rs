//! The schema: fresh, earlier, newer, foreign, broken, and migrated by two at once.

use std::sync::Arc;

use futures_util::StreamExt;
use roomkit_core::ErrorKind;
use roomkit_core::model::Room;
use roomkit_core::store::{ArchiveStore, EventSearch, EventStore, RoomPart, RoomStore};
use roomkit_store_postgres::migrations::{MIGRATIONS, Migration};
use roomkit_store_postgres::{PostgresLocks, PostgresStore};

use crate::support::{TestSchema, now, say, whole_timeline};

/// The steps there are and one more.
fn one_more(sql: &'static str) -> Vec<Migration> {
    let newest = MIGRATIONS.last().unwrap().version;
    let mut steps = MIGRATIONS.to_vec();
    steps.push(Migration {
        version: newest + 1,
        name: "one more",
        sql,
    });
    steps
}

const NEXT: &str = "ALTER TABLE {s}.events ADD COLUMN more text; UPDATE {s}.events SET more = id";

/// A room as each released version of the schema held it: the statements that make it, and what the
/// room then is.
const EARLIER: [(i32, &str, &str); 1] = [(
    1,
    include_str!("../data/schema_1.sql"),
    include_str!("../data/schema_1.jsonl"),
)];

#[tokio::test]
async fn every_earlier_version_opens_with_all_that_was_in_it() {
    let newest = MIGRATIONS.last().unwrap().version;
    let versions: Vec<i32> = EARLIER.iter().map(|(version, ..)| *version).collect();
    assert_eq!(
        versions,
        (1..=newest).collect::<Vec<_>>(),
        "a version without its data"
    );
    for (version, sql, lines) in EARLIER {
        let schema = TestSchema::new();
        schema.run(sql).await;
        let store = schema.open().await;
        let parts: Vec<_> = store.dump(&"kept".into()).collect().await;
        let parts: Vec<RoomPart> = parts.into_iter().collect::<Result<_, _>>().unwrap();
        let expected: Vec<RoomPart> = lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        assert_eq!(parts, expected, "version {version}");
        let search = EventSearch::new("invoice", 9);
        assert_eq!(store.search_events(&search).await.unwrap().len(), 1);
        say(&store, "kept", "new").await.unwrap();
    }
}

#[tokio::test]
async fn a_step_is_taken_once_and_the_rooms_stay() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "before").await.unwrap();
    for _ in 0..2 {
        let store = PostgresStore::open_with(schema.config(), &one_more(NEXT))
            .await
            .unwrap();
        assert_eq!(whole_timeline(&store, "r").await, ["before"]);
    }
    // Who opened it before works on; who opens it now with the older program is told why not.
    say(&store, "r", "after").await.unwrap();
    let error = PostgresStore::open(schema.config()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    assert!(!error.is_retryable());
    let (newest, newer) = (MIGRATIONS.last().unwrap().version, MIGRATIONS.len() + 1);
    let text = error.message();
    assert!(text.contains(&format!("version {newer}")), "{text}");
    assert!(text.contains(&format!("up to {newest}")), "{text}");
}

#[tokio::test]
async fn a_step_that_fails_leaves_the_old_database_usable() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "before").await.unwrap();
    let broken = one_more("DELETE FROM {s}.events; ALTER TABLE {s}.nowhere ADD COLUMN x int");
    let error = PostgresStore::open_with(schema.config(), &broken)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    assert!(error.message().contains("one more"), "{error:?}");
    let again = schema.open().await;
    say(&again, "r", "after").await.unwrap();
    say(&store, "r", "last").await.unwrap();
    assert_eq!(
        whole_timeline(&store, "r").await,
        ["before", "after", "last"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_number_may_migrate_at_once() {
    let schema = Arc::new(TestSchema::new());
    let opening = (0..6).map(|number| {
        let schema = Arc::clone(&schema);
        tokio::spawn(async move {
            if number % 3 == 0 {
                PostgresLocks::open(schema.config())
                    .await
                    .map(drop)
                    .unwrap();
            } else {
                schema.open().await;
            }
        })
    });
    for task in opening.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    let next = (0..4).map(|_| {
        let schema = Arc::clone(&schema);
        tokio::spawn(async move {
            PostgresStore::open_with(schema.config(), &one_more(NEXT))
                .await
                .unwrap();
        })
    });
    for task in next.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn a_schema_is_left_as_it_is_where_migrating_is_off() {
    let schema = TestSchema::new();
    let error = PostgresStore::open(schema.config().migrate(false))
        .await
        .unwrap_err();
    assert!(error.message().contains("version none"), "{error:?}");
    schema.open().await;
    PostgresStore::open(schema.config().migrate(false))
        .await
        .unwrap();
}

#[tokio::test]
async fn tables_of_another_program_are_not_touched() {
    for table in [
        // As the Python package makes it.
        "CREATE TABLE {s}.schema_version (version integer PRIMARY KEY, applied_at timestamptz)",
        "CREATE TABLE {s}.rooms (id text PRIMARY KEY, data jsonb)",
    ] {
        let schema = TestSchema::new();
        schema.run(&format!("CREATE SCHEMA {{s}}; {table}")).await;
        let error = PostgresStore::open(schema.config()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoreFailed);
        assert!(error.message().contains("did not make"), "{error:?}");
        assert!(error.message().contains("a schema of its own"), "{error:?}");
    }
}

#[tokio::test]
async fn a_schema_may_have_any_name() {
    let mut schema = TestSchema::new();
    schema.name = format!("{} \"ünï\" {{s}}", schema.name);
    // The name is quoted where it is dropped as well.
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "one").await.unwrap();
    assert_eq!(store.schema(), schema.name);
    schema.name = schema.name.replace('"', "\"\"");
}
