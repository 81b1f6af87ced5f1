//! Advisory locks over processes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_core::ErrorKind;
use roomkit_core::model::Room;
use roomkit_core::store::{ConversationStore, RoomStore};
use roomkit_core::sync::RoomLockManager;
use roomkit_store_postgres::PostgresLocks;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

use crate::support::{TestSchema, commit, now};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_holder_at_a_time_over_processes_and_tokens_that_grow() {
    let schema = TestSchema::new();
    let mut managers = Vec::new();
    for _ in 0..3 {
        managers.push(Arc::new(
            PostgresLocks::open(schema.config()).await.unwrap(),
        ));
    }
    let inside = Arc::new(AtomicBool::new(false));
    let last = Arc::new(std::sync::Mutex::new(0));
    let mut tasks = Vec::new();
    for task in 0..12 {
        let locks = Arc::clone(&managers[task % 3]);
        let (inside, last) = (Arc::clone(&inside), Arc::clone(&last));
        tasks.push(tokio::spawn(async move {
            for _ in 0..8 {
                let lock = locks.acquire(&"r".into()).await.unwrap();
                assert!(!inside.swap(true, Ordering::SeqCst), "two hold the lock");
                let token = lock.token().unwrap().0;
                let before = std::mem::replace(&mut *last.lock().unwrap(), token);
                assert!(token > before, "{token} after {before}");
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert!(managers[0].is_distributed());
}

#[tokio::test]
async fn rooms_do_not_wait_for_one_another_and_a_held_one_times_out() {
    let schema = TestSchema::new();
    let config = schema.config().lock_timeout(Duration::from_millis(150));
    let (mine, theirs) = (
        PostgresLocks::open(config.clone()).await.unwrap(),
        PostgresLocks::open(config).await.unwrap(),
    );
    let held = mine.acquire(&"r".into()).await.unwrap();
    let _other = theirs.acquire(&"s".into()).await.unwrap();
    for locks in [&mine, &theirs] {
        let error = locks.acquire(&"r".into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LockTimeout);
        assert!(error.is_retryable());
    }
    drop(held);
    theirs.acquire(&"r".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_acquire_that_is_dropped_keeps_nothing() {
    let schema = TestSchema::new();
    let mine = Arc::new(PostgresLocks::open(schema.config()).await.unwrap());
    let theirs = PostgresLocks::open(schema.config()).await.unwrap();
    let dropped = AtomicUsize::new(0);
    let room = "r".into();
    for micros in (0..3_000).step_by(60) {
        let acquire = tokio::time::timeout(Duration::from_micros(micros), mine.acquire(&room));
        if acquire.await.is_err() {
            dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
    assert!(dropped.into_inner() > 0);
    let never_polled = mine.acquire(&room);
    assert!(theirs.acquire(&"r".into()).await.is_ok());
    drop(never_polled);
    // Polled once and dropped while somebody else has it.
    let held = theirs.acquire(&"r".into()).await.unwrap();
    assert!(mine.acquire(&"r".into()).now_or_never().is_none());
    drop(held);
    mine.acquire(&"r".into()).await.unwrap();
    theirs.acquire(&"r".into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_lost_with_its_connection_is_fenced() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    let config = schema
        .config()
        .application_name(format!("late-{}", schema.name));
    let late = PostgresLocks::open(config).await.unwrap();
    let other = PostgresLocks::open(schema.config()).await.unwrap();
    let lost = late.acquire(&"r".into()).await.unwrap();
    let mut admin = PgConnection::connect(&schema.url).await.unwrap();
    let cut = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'late-{}'",
        schema.name
    );
    admin
        .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(cut)))
        .await
        .unwrap();
    let new = other.acquire(&"r".into()).await.unwrap();
    let mut fresh = commit("r", 0, 0, "fresh");
    fresh.fencing = new.token();
    store.commit(fresh.into()).await.unwrap();
    let mut stale = commit("r", 1, 1, "stale");
    stale.fencing = lost.token();
    let error = store.commit(stale.into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StaleFencingToken);
    // The manager that lost it connects anew and is told to wait.
    drop((lost, new));
    let again = late.acquire(&"r".into()).await.unwrap();
    assert!(again.token().is_some());
}

#[tokio::test]
async fn a_lock_that_the_server_refuses_costs_no_other() {
    let schema = TestSchema::new();
    let config = schema.config().lock_timeout(Duration::from_millis(300));
    let mine = PostgresLocks::open(config.clone()).await.unwrap();
    let theirs = PostgresLocks::open(config).await.unwrap();
    let held = mine.acquire(&"r".into()).await.unwrap();
    drop(mine.acquire(&"q".into()).await.unwrap());
    // The lock itself is taken before the statement fails.
    let refuse = "ALTER SEQUENCE {s}.room_lock_tokens MAXVALUE 2";
    schema.run(refuse).await;
    let error = mine.acquire(&"s".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed, "{error:?}");
    schema
        .run("ALTER SEQUENCE {s}.room_lock_tokens NO MAXVALUE")
        .await;
    theirs.acquire(&"s".into()).await.unwrap();
    let error = theirs.acquire(&"r".into()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LockTimeout, "{error:?}");
    drop(held);
    theirs.acquire(&"r".into()).await.unwrap();
}
