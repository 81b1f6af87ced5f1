//! Two that bring the same message at once, the first of them paused between its insert and its commit
//! (field report F07): one event is stored, whichever of them it is.

use std::sync::Arc;

use roomkit_core::model::{ChannelType, InboundMessage, InboundResult, Room};
use roomkit_core::store::{ConversationStore, EventStore, IdempotentOutcome, RoomStore};
use roomkit_core::{ErrorKind, Result, RoomKit};
use roomkit_store_postgres::{PostgresLocks, PostgresStore};
use roomkit_testkit::MockChannel;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio::task::JoinHandle;

use crate::races::{number, run, until_waiting};
use crate::support::{TestSchema, commit, now, whole_timeline};

const KEY: &str = "wamid.TEST1";

/// Past the locks of kits: another transaction holds the key, and the server alone decides.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_an_open_transaction_holds_is_waited_for() {
    for (end, is_kept) in [("COMMIT", true), ("ROLLBACK", false)] {
        let schema = TestSchema::new();
        let config = schema.config().application_name(&schema.name);
        let store = PostgresStore::open(config).await.unwrap();
        store.create_room(Room::new("r", now())).await.unwrap();
        let outcome = IdempotentOutcome {
            key: KEY.to_owned(),
            event_id: "first".into(),
            blocked: false,
            reason: None,
        };
        let mut first = PgConnection::connect(&schema.url).await.unwrap();
        let held = format!(
            "BEGIN; INSERT INTO {{s}}.outcomes (room_id, key, data) VALUES ('r', '{KEY}', '{}')",
            serde_json::to_string(&outcome).unwrap()
        );
        run(&mut first, &schema, &held).await;
        let second = tokio::spawn({
            let store = store.clone();
            let mut second = commit("r", 0, 0, "second");
            second.idempotency = Some(IdempotentOutcome {
                event_id: "second".into(),
                ..outcome
            });
            async move { store.commit(second.into()).await }
        });
        until_waiting(&schema.name, 1).await;
        run(&mut first, &schema, end).await;
        let second = second.await.unwrap();
        let there = store.idempotent_outcome(&"r".into(), KEY).await.unwrap();
        let there = there.unwrap().event_id;
        if is_kept {
            assert_eq!(second.unwrap_err().kind(), ErrorKind::VersionConflict);
            assert_eq!(there, *"first");
            assert_eq!(whole_timeline(&store, "r").await, [""; 0]);
        } else {
            second.unwrap();
            assert_eq!(there, *"second");
            assert_eq!(whole_timeline(&store, "r").await, ["second"]);
        }
    }
}

/// A kit of a process of its own, as the server sees it.
struct Process {
    kit: RoomKit,
    name: String,
}

impl Process {
    async fn new(schema: &TestSchema, number: usize, has_locks: bool) -> Self {
        let name = format!("{}_{number}", schema.name);
        let config = || schema.config().application_name(&name);
        let store = PostgresStore::open(config()).await.unwrap();
        let builder = RoomKit::builder().store(Arc::new(store));
        let builder = if has_locks {
            let locks = PostgresLocks::open(schema.config()).await.unwrap();
            builder.locks(Arc::new(locks))
        } else {
            builder.allow_in_process_locks()
        };
        let kit = builder.build().unwrap();
        let channel = MockChannel::builder("a").channel_type(ChannelType::Sms);
        kit.register_channel(channel.build()).unwrap();
        Self { kit, name }
    }

    fn take(&self) -> JoinHandle<Result<InboundResult>> {
        let kit = self.kit.clone();
        let message = InboundMessage::text("a", "ann", "hello").in_room("r");
        let message = message.idempotency_key(KEY);
        tokio::spawn(async move { kit.process_inbound(message).await })
    }
}

/// Every transaction that stores the message waits at its end for a lock that the test holds: all is
/// inserted, nothing is committed.
const BARRIER: &str = "CREATE FUNCTION {s}.pause() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(hashtext(current_schema())); RETURN NULL; END'
    SET search_path = {s};
    CREATE CONSTRAINT TRIGGER pause AFTER INSERT ON {s}.outcomes
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {s}.pause()";

async fn one_is_paused(has_locks: bool, first_is_lost: bool) {
    let schema = TestSchema::new();
    let one = Process::new(&schema, 1, has_locks).await;
    let other = Process::new(&schema, 2, has_locks).await;
    one.kit.create_room("r").await.unwrap();
    one.kit.attach_channel("r", "a").await.unwrap();
    schema.run(BARRIER).await;
    let mut holder = PgConnection::connect(&schema.url).await.unwrap();
    let hold = format!("SELECT pg_advisory_lock(hashtext('{}'))", schema.name);
    run(&mut holder, &schema, &hold).await;
    let first = one.take();
    until_waiting(&one.name, 1).await;
    let second = other.take();
    if !has_locks {
        // It is past its own lock, and in the server behind the first.
        until_waiting(&other.name, 1).await;
    }
    if first_is_lost {
        let cut = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE application_name = '{}' AND wait_event_type = 'Lock'",
            one.name
        );
        run(&mut holder, &schema, &cut).await;
    }
    let free = format!("SELECT pg_advisory_unlock(hashtext('{}'))", schema.name);
    run(&mut holder, &schema, &free).await;
    let second = second.await.unwrap().unwrap();
    let stored = number(&mut holder, &schema, "SELECT count(*) FROM {s}.outcomes");
    assert_eq!(stored.await, 1);
    let store = schema.open().await;
    let outcome = store.idempotent_outcome(&"r".into(), KEY).await.unwrap();
    let outcome = outcome.unwrap().event_id;
    let event = |result: &InboundResult| result.event.clone().map(|event| event.id.clone());
    assert_eq!(event(&second).as_ref(), Some(&outcome));
    match first.await.unwrap() {
        Ok(first) => assert_eq!(event(&first), Some(outcome)),
        // What was lost says so; asked again, it is told what there is.
        Err(error) => {
            assert!(first_is_lost && error.is_retryable(), "{error:?}");
            let again = one.take().await.unwrap().unwrap();
            assert_eq!(event(&again), Some(outcome));
        }
    }
    let events = store
        .events(&"r".into(), &roomkit_core::store::EventQuery::last(100))
        .await
        .unwrap();
    let said = events.iter().filter(|event| event.text() == Some("hello"));
    assert_eq!(said.count(), 1);
    whole_timeline(&store, "r").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_message_is_stored_once_while_the_first_is_not_committed() {
    one_is_paused(true, false).await;
}

/// As where a lock is let go of before the commit: the server's unique key is what is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_common_lock_it_is_stored_once_too() {
    one_is_paused(false, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_the_first_is_lost_in_its_commit_the_second_is_stored() {
    one_is_paused(false, true).await;
}
