//! What meets in the server: an outcome is never taken for another's, and nothing stays behind.

use std::time::Duration;

use roomkit_core::ErrorKind;
use roomkit_core::model::Room;
use roomkit_core::store::{
    ConversationStore, EventStore, Expiry, RetentionAction, RetentionScope, RoomStore,
};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};

use crate::support::{TestSchema, commit, now, say, whole_timeline};

async fn run(connection: &mut PgConnection, schema: &TestSchema, sql: &str) {
    let sql = sql.replace("{s}", &format!("\"{}\"", schema.name));
    let done = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql)));
    done.await.unwrap();
}

async fn number(connection: &mut PgConnection, schema: &TestSchema, sql: &str) -> i64 {
    let sql = sql.replace("{s}", &format!("\"{}\"", schema.name));
    let row = connection.fetch_one(AssertSqlSafe(sql)).await.unwrap();
    row.try_get(0).unwrap()
}

/// How many connections of that name wait for a lock in the server.
async fn waiting(name: &str) -> i64 {
    let url = roomkit_test_services::database_url().unwrap();
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let count = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = $1 AND wait_event_type = 'Lock'";
    let row = sqlx::query(count).bind(name).fetch_one(&mut connection);
    row.await.unwrap().try_get(0).unwrap()
}

async fn until_waiting(name: &str, connections: i64) {
    while waiting(name).await != connections {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retention_that_meets_an_edit_leaves_no_earlier_version() {
    for action in [RetentionAction::Delete, RetentionAction::Redact] {
        let schema = TestSchema::new();
        let config = schema.config().application_name(&schema.name);
        let store = roomkit_store_postgres::PostgresStore::open(config)
            .await
            .unwrap();
        store.create_room(Room::new("r", now())).await.unwrap();
        say(&store, "r", "e0").await.unwrap();
        // An edit of another process that is not committed yet.
        let mut edit = PgConnection::connect(&schema.url).await.unwrap();
        let begun = "BEGIN;
            UPDATE {s}.event_sequences SET version = version + 1 WHERE room_id = 'r';
            INSERT INTO {s}.event_versions (room_id, event_id, data, payload)
            SELECT room_id, id, data, payload FROM {s}.events WHERE room_id = 'r' AND id = 'e0';
            UPDATE {s}.events SET words = '{edited}' WHERE room_id = 'r' AND id = 'e0'";
        run(&mut edit, &schema, begun).await;
        let expiring = tokio::spawn({
            let store = store.clone();
            let expiry = Expiry {
                rooms: RetentionScope::AllBut(std::collections::BTreeSet::new()),
                before: now() + Duration::from_secs(1),
                action,
            };
            async move { store.expire_events(&expiry, 10).await }
        });
        until_waiting(&schema.name, 1).await;
        run(&mut edit, &schema, "COMMIT").await;
        assert_eq!(expiring.await.unwrap().unwrap(), 1, "{action:?}");
        let left = "SELECT count(*) FROM {s}.event_versions";
        assert_eq!(number(&mut edit, &schema, left).await, 0, "{action:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_commit_is_not_taken_for_an_earlier_event_with_its_id() {
    let schema = TestSchema::new();
    let config = schema.config().application_name(&schema.name);
    let store = roomkit_store_postgres::PostgresStore::open(config)
        .await
        .unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "e0").await.unwrap();
    let mut holder = PgConnection::connect(&schema.url).await.unwrap();
    let hold = "BEGIN; SELECT 1 FROM {s}.event_sequences WHERE room_id = 'r' FOR UPDATE";
    run(&mut holder, &schema, hold).await;
    let committing = tokio::spawn({
        let store = store.clone();
        async move { store.commit(commit("r", 1, 1, "e0").into()).await }
    });
    until_waiting(&schema.name, 1).await;
    let cut = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'",
        schema.name
    );
    run(&mut holder, &schema, &cut).await;
    run(&mut holder, &schema, "COMMIT").await;
    let error = committing.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::VersionConflict, "{error:?}");
    assert_eq!(whole_timeline(&store, "r").await, ["e0"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callers_that_go_away_leave_no_crowd_of_connections_in_the_server() {
    let schema = TestSchema::new();
    let config = schema
        .config()
        .application_name(&schema.name)
        .max_connections(2);
    let store = roomkit_store_postgres::PostgresStore::open(config)
        .await
        .unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    let mut holder = PgConnection::connect(&schema.url).await.unwrap();
    let hold = "BEGIN; SELECT 1 FROM {s}.event_sequences WHERE room_id = 'r' FOR UPDATE";
    run(&mut holder, &schema, hold).await;
    if number(
        &mut holder,
        &schema,
        "SELECT current_setting('server_version_num')::bigint",
    )
    .await
        < 140_000
    {
        return;
    }
    for _ in 0..8 {
        let cut = tokio::time::timeout(
            Duration::from_millis(100),
            store.commit(commit("r", 0, 0, "e0").into()),
        );
        assert!(cut.await.is_err());
    }
    // Each of them waits for the room, with nobody to hear of it; the server finds that out.
    let gone = tokio::time::timeout(Duration::from_secs(15), until_waiting(&schema.name, 0));
    gone.await.expect("statements without a caller are at work");
    run(&mut holder, &schema, "COMMIT").await;
    assert_eq!(whole_timeline(&store, "r").await.len(), 0);
}
