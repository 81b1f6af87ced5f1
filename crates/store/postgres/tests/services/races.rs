//! What meets in the server: an outcome is never taken for another's, and nothing stays behind.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt, TryStreamExt};
use roomkit_core::model::{ChannelType, ReadMarker, Room, RoomId, Task};
use roomkit_core::store::{
    ArchiveStore, BindingChange, CommitBatch, ConversationStore, EventQuery, EventStore, Expiry,
    RetentionAction, RetentionScope, RoomPart, RoomStore, RoomUpdate, Speaker,
};
use roomkit_core::{Error, ErrorKind};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};

use crate::support::{TestSchema, commit, now, say, whole_timeline};

pub(crate) async fn run(connection: &mut PgConnection, schema: &TestSchema, sql: &str) {
    let sql = sql.replace("{s}", &format!("\"{}\"", schema.name));
    let done = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql)));
    done.await.unwrap();
}

pub(crate) async fn number(connection: &mut PgConnection, schema: &TestSchema, sql: &str) -> i64 {
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

pub(crate) async fn until_waiting(name: &str, connections: i64) {
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
                rooms: RetentionScope::AllBut(BTreeSet::new()),
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

#[tokio::test]
async fn a_restored_room_that_is_deleted_at_once_was_restored() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "e0").await.unwrap();
    let parts: Vec<RoomPart> = store.dump(&"r".into()).try_collect().await.unwrap();
    store.delete_room(&"r".into()).await.unwrap();
    schema
        .run(
            "CREATE FUNCTION {s}.gone() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN PERFORM {s}.delete_room_1(NEW.room_id); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER gone AFTER INSERT ON {s}.rooms
            DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {s}.gone()",
        )
        .await;
    let parts = futures_util::stream::iter(parts.into_iter().map(Ok));
    let restored = store.restore(parts.boxed()).await.unwrap();
    assert_eq!(restored.room.event_count, 1);
    assert!(store.room(&"r".into()).await.unwrap().is_none());
}

/// One thing that somebody does to one of two rooms; what it meets is an answer like any other.
async fn one_of_all(store: &dyn ConversationStore, turn: usize) -> Result<(), Error> {
    let (room, other) = if turn.is_multiple_of(2) {
        ("r", "s")
    } else {
        ("s", "r")
    };
    let id: RoomId = room.into();
    match turn / 2 % 10 {
        0 | 1 => drop(store.create_room(Room::new(room, now())).await?),
        2 => drop(store.delete_room(&id).await?),
        3 => {
            let marker = ReadMarker {
                room_id: id,
                channel_id: "a".into(),
                index: u64::try_from(turn).unwrap(),
                read_at: now(),
            };
            store.mark_read(marker).await?;
        }
        4 => {
            let expiry = Expiry {
                rooms: RetentionScope::AllBut(BTreeSet::new()),
                before: now() + Duration::from_secs(1),
                action: if turn.is_multiple_of(4) {
                    RetentionAction::Delete
                } else {
                    RetentionAction::Redact
                },
            };
            store.expire_events(&expiry, 3).await?;
        }
        5 => {
            let parts: Vec<RoomPart> = store.dump(&id).try_collect().await?;
            store.delete_room(&id).await?;
            if !parts.is_empty() {
                let parts = futures_util::stream::iter(parts.into_iter().map(Ok));
                store.restore(parts.boxed()).await?;
            }
        }
        6 => drop(store.delete_participant(&id, &"p".into()).await?),
        _ => {
            let mut batch: Option<CommitBatch> = None;
            for room in [room, other].into_iter().take(1 + turn % 3 % 2) {
                let snapshot = store.room(&room.into()).await?;
                let Some(snapshot) = snapshot else { continue };
                let next = snapshot.room.next_index();
                let mut part = commit(room, snapshot.version, next, &format!("e{turn}"));
                part.speaker = Some(Speaker {
                    participant_id: "p".into(),
                    sender_id: "p".into(),
                    channel_id: format!("c{}", turn % 3).into(),
                    channel_type: ChannelType::Sms,
                });
                part.tasks.push(Task::new(room, "do it", now()));
                part.bindings.push(BindingChange::Detach("d".into()));
                let mut update = RoomUpdate::default();
                update.merge_metadata.insert("turn", turn);
                part.room = Some(Box::new(update));
                if let Some(first) = snapshot.room.latest_index
                    && let Some(old) = store
                        .events(&room.into(), &EventQuery::last(1))
                        .await?
                        .pop()
                    && old.index == first
                {
                    part.edited = Some(old);
                }
                batch = Some(match batch {
                    Some(batch) => batch.and(part),
                    None => part.into(),
                });
            }
            if let Some(batch) = batch {
                store.commit(batch).await?;
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_meets_leaves_nothing_of_a_room_that_is_gone() {
    let schema = TestSchema::new();
    let stores = [schema.open().await, schema.open().await];
    let tasks = (0..8_usize).map(|task| {
        let store = stores[task % 2].clone();
        tokio::spawn(async move {
            let mut done = 0;
            for number in 0..150 {
                let turn = (task * 7_919 + number * 104_729) % 1_000_003;
                match one_of_all(&store, turn).await {
                    Ok(()) => done += 1,
                    Err(error) => assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::VersionConflict
                                | ErrorKind::RoomNotFound
                                | ErrorKind::RoomAlreadyExists
                                | ErrorKind::EventNotFound
                        ),
                        "{error:?}"
                    ),
                }
            }
            done
        })
    });
    let mut done = 0;
    for task in tasks.collect::<Vec<_>>() {
        done += task.await.unwrap();
    }
    assert!(done > 300, "{done}");
    for room in ["r", "s"] {
        stores[0].delete_room(&room.into()).await.unwrap();
        assert!(stores[1].room(&room.into()).await.unwrap().is_none());
    }
    let mut connection = PgConnection::connect(&schema.url).await.unwrap();
    for table in [
        "rooms",
        "event_sequences",
        "events",
        "event_versions",
        "outcomes",
        "participants",
        "senders",
        "bindings",
        "tasks",
        "read_markers",
        "owed",
    ] {
        let left = format!("SELECT count(*) FROM {{s}}.{table}");
        assert_eq!(number(&mut connection, &schema, &left).await, 0, "{table}");
    }
}
