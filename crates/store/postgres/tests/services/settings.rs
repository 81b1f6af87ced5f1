//! What a database, a role or an address sets for connections, and what nothing of it may change.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use roomkit_core::ErrorKind;
use roomkit_core::model::{Room, Task};
use roomkit_core::store::{
    BindingChange, CommitBatch, ConversationStore, EventStore, RoomCommit, RoomStore, WorkStore,
};
use roomkit_core::sync::RoomLockManager;
use roomkit_store_postgres::migrations::{MIGRATIONS, Migration};
use roomkit_store_postgres::{PostgresConfig, PostgresLocks, PostgresStore};

use crate::support::{TestSchema, commit, now, say, whole_timeline};

fn with(url: &str, parameter: &str) -> String {
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}{parameter}")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_commutes_commutes_whatever_the_usual_isolation_is() {
    let schema = TestSchema::new();
    let url = with(
        &schema.url,
        "options[default_transaction_isolation]=serializable",
    );
    let config = PostgresConfig::new(url)
        .schema(&schema.name)
        .max_connections(16);
    let store = Arc::new(PostgresStore::open(config).await.unwrap());
    for room in ["r", "s"] {
        store.create_room(Room::new(room, now())).await.unwrap();
    }
    let part = |room: &str, number: usize| {
        let mut part = RoomCommit::new(room.into(), None, now());
        let mut task = Task::new(room, "do it", now());
        task.id = format!("t{number}").into();
        part.tasks.push(task);
        part
    };
    let commits = (0..600).map(|number| {
        let store = Arc::clone(&store);
        let batch = CommitBatch::from(part("r", number));
        let batch = if number % 2 == 0 {
            batch
        } else {
            batch.and(part("s", number))
        };
        tokio::spawn(async move { store.commit(batch).await })
    });
    for done in join_all(commits.collect::<Vec<_>>()).await {
        done.unwrap().unwrap();
    }
    assert_eq!(store.tasks(&"r".into()).await.unwrap().len(), 600);
    assert_eq!(store.tasks(&"s".into()).await.unwrap().len(), 300);
}

#[tokio::test]
async fn functions_of_others_in_the_search_path_are_not_called() {
    let schema = TestSchema::new();
    let others = TestSchema::new();
    // They fit better than the ones of the server, which take arrays of any kind.
    others
        .run(
            "CREATE SCHEMA {s};
            CREATE FUNCTION {s}.cardinality(text[]) RETURNS integer LANGUAGE sql AS 'SELECT 1 / 0';
            CREATE FUNCTION {s}.unnest(text[]) RETURNS SETOF text LANGUAGE sql
                AS 'SELECT (1 / 0)::text';
            CREATE FUNCTION {s}.array_append(text[], text) RETURNS text[] LANGUAGE sql
                AS 'SELECT ARRAY[(1 / 0)::text]'",
        )
        .await;
    let url = with(
        &schema.url,
        &format!("options[search_path]={}", others.name),
    );
    let config = PostgresConfig::new(url).schema(&schema.name);
    let store = PostgresStore::open(config.clone()).await.unwrap();
    let locks = PostgresLocks::open(config).await.unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    let mut part = commit("r", 0, 0, "e0");
    part.bindings.push(BindingChange::Detach("a".into()));
    store.commit(part.into()).await.unwrap();
    locks.acquire(&"r".into()).await.unwrap();
    assert_eq!(whole_timeline(&store, "r").await, ["e0"]);
    let threads = store
        .thread_summaries(&"r".into(), &["e0".into()])
        .await
        .unwrap();
    assert_eq!(threads.len(), 1);
}

#[tokio::test]
async fn a_schema_that_is_not_named_is_the_first_of_the_search_path() {
    let schema = TestSchema::new();
    schema.run("CREATE SCHEMA {s}").await;
    let url = with(
        &schema.url,
        &format!("options[search_path]={}", schema.name),
    );
    let store = PostgresStore::open(PostgresConfig::new(url)).await.unwrap();
    assert_eq!(store.schema(), schema.name);
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "e0").await.unwrap();
    assert_eq!(whole_timeline(&schema.open().await, "r").await, ["e0"]);
}

#[tokio::test]
async fn a_database_that_holds_not_every_text_is_refused() {
    let schema = TestSchema::new();
    let name = format!("latin_{}", schema.name);
    schema
        .run(&format!(
            "CREATE DATABASE {name} ENCODING 'LATIN1' TEMPLATE template0
                LC_COLLATE 'C' LC_CTYPE 'C'"
        ))
        .await;
    let (start, _) = schema.url.rsplit_once('/').unwrap();
    let opened = PostgresStore::open(PostgresConfig::new(format!("{start}/{name}"))).await;
    let refused = opened.map(drop);
    schema
        .run(&format!("DROP DATABASE {name} WITH (FORCE)"))
        .await;
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    assert!(!error.is_retryable());
    assert!(error.message().contains("UTF8"), "{error:?}");
}

#[tokio::test]
async fn no_room_has_the_lock_of_the_schema() {
    let schema = TestSchema::new();
    let locks = PostgresLocks::open(schema.config()).await.unwrap();
    let _held = locks.acquire(&"migrations".into()).await.unwrap();
    let mut steps = MIGRATIONS.to_vec();
    steps.push(Migration {
        version: MIGRATIONS.last().unwrap().version + 1,
        name: "one more",
        sql: "CREATE TABLE {s}.more (x integer)",
    });
    let opening = PostgresStore::open_with(schema.config(), &steps);
    let opened = tokio::time::timeout(Duration::from_secs(10), opening).await;
    opened.expect("it waits for a room").unwrap();
}
