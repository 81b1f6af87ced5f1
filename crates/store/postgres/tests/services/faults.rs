//! A server that is restarted, killed, paused, cut off or out of connections.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use roomkit_core::ErrorKind;
use roomkit_core::model::Room;
use roomkit_core::store::{ConversationStore, RoomStore};
use roomkit_store_postgres::{PostgresConfig, PostgresStore};
use roomkit_test_services::{Postgres, PostgresOptions};
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

use crate::support::{TestSchema, commit, now, say, say_at_last, whole_timeline};

const TASKS: u64 = 8;

/// Tasks that say one thing after another until they are told to stop; what each was told is stored.
struct Load {
    stop: Arc<AtomicBool>,
    said: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<Vec<String>>>,
}

impl Load {
    fn begin(store: &PostgresStore) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let said = Arc::new(AtomicU64::new(0));
        let tasks = (0..TASKS).map(|task| {
            let (store, stop, said) = (store.clone(), Arc::clone(&stop), Arc::clone(&said));
            tokio::spawn(async move {
                // Half of them meet in one room.
                let room = format!("room-{}", task.saturating_sub(TASKS / 2));
                let mut acknowledged = Vec::new();
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let id = format!("{task}-{number}");
                    say_at_last(&store, &room, &id).await;
                    acknowledged.push(id);
                    said.fetch_add(1, Ordering::Relaxed);
                }
                acknowledged
            })
        });
        let tasks = tasks.collect();
        Self { stop, said, tasks }
    }

    /// Returns when this many more were said.
    async fn goes_on(&self, more: u64) {
        let until = self.said.load(Ordering::Relaxed) + more;
        while self.said.load(Ordering::Relaxed) < until {
            assert!(
                !self.tasks.iter().any(tokio::task::JoinHandle::is_finished),
                "a task ended"
            );
            tokio::task::yield_now().await;
        }
    }

    /// Every acknowledged message is there, once, and nothing else.
    async fn end(self, store: &PostgresStore) {
        self.stop.store(true, Ordering::Relaxed);
        let mut acknowledged = BTreeSet::new();
        for task in self.tasks {
            acknowledged.extend(task.await.unwrap());
        }
        let mut found = BTreeSet::new();
        for room in 0..TASKS / 2 {
            for id in whole_timeline(store, &format!("room-{room}")).await {
                assert!(found.insert(id.clone()), "{id} is there twice");
            }
        }
        assert_eq!(found, acknowledged);
    }
}

async fn with_rooms(store: &PostgresStore) {
    for room in 0..TASKS / 2 {
        store
            .create_room(Room::new(format!("room-{room}"), now()))
            .await
            .unwrap();
    }
}

/// A server that the test may do anything to, off the threads that work.
async fn on_server(
    server: &mut Option<Postgres>,
    act: impl FnOnce(&mut Postgres) + Send + 'static,
) {
    let mut taken = server.take().unwrap();
    let done = tokio::task::spawn_blocking(move || {
        act(&mut taken);
        taken
    });
    *server = Some(done.await.unwrap());
}

async fn server() -> (Option<Postgres>, PostgresConfig) {
    let started = tokio::task::spawn_blocking(|| {
        let server = Postgres::start(&PostgresOptions::default()).unwrap();
        let url = server.create_database("rooms").unwrap();
        (server, url)
    });
    let (server, url) = started.await.unwrap();
    (Some(server), PostgresConfig::new(url).max_connections(6))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_restarted_under_load_loses_nothing_that_was_acknowledged() {
    let (mut server, config) = server().await;
    let store = PostgresStore::open(config).await.unwrap();
    with_rooms(&store).await;
    let load = Load::begin(&store);
    load.goes_on(50).await;
    on_server(&mut server, |server| {
        server.stop().unwrap();
        server.start_again().unwrap();
    })
    .await;
    load.goes_on(50).await;
    on_server(&mut server, |server| {
        server.stop_immediate().unwrap();
        server.start_again().unwrap();
    })
    .await;
    load.goes_on(50).await;
    load.end(&store).await;
    drop(server);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_cut_under_load_lose_nothing_that_was_acknowledged() {
    let (server, config) = server().await;
    let store = PostgresStore::open(config).await.unwrap();
    with_rooms(&store).await;
    let mut admin = PgConnection::connect(&server.as_ref().unwrap().url())
        .await
        .unwrap();
    let load = Load::begin(&store);
    for _ in 0..20 {
        load.goes_on(5).await;
        let cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE application_name = 'roomkit'";
        admin.execute(cut).await.unwrap();
    }
    load.goes_on(20).await;
    load.end(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_gone_is_a_clear_error_and_work_goes_on_when_it_is_back() {
    let (mut server, config) = server().await;
    let config = config.acquire_timeout(Duration::from_millis(300));
    let store = PostgresStore::open(config).await.unwrap();
    with_rooms(&store).await;
    say(&store, "room-0", "before").await.unwrap();
    on_server(&mut server, |server| server.stop().unwrap()).await;
    let read = store.room(&"room-0".into()).await.unwrap_err();
    let written = store
        .commit(commit("room-0", 1, 1, "lost").into())
        .await
        .unwrap_err();
    assert_eq!(read.kind(), ErrorKind::StoreFailed);
    // The connection may have been lost when the commit was on its way.
    let kinds = [ErrorKind::StoreFailed, ErrorKind::OutcomeUnknown];
    assert!(kinds.contains(&written.kind()), "{written:?}");
    for error in [read, written] {
        assert!(error.is_retryable(), "{error:?}");
        assert!(error.message().contains("room room-0"), "{error:?}");
    }
    on_server(&mut server, |server| server.start_again().unwrap()).await;
    say_at_last(&store, "room-0", "after").await;
    assert_eq!(whole_timeline(&store, "room-0").await, ["before", "after"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_answer_is_given_up_and_nothing_is_there_twice() {
    let (mut server, config) = server().await;
    let config = config
        .acquire_timeout(Duration::from_millis(300))
        .statement_timeout(Duration::from_millis(250));
    let store = PostgresStore::open(config).await.unwrap();
    with_rooms(&store).await;
    say(&store, "room-0", "before").await.unwrap();
    on_server(&mut server, |server| server.pause().unwrap()).await;
    let error = store
        .commit(commit("room-0", 1, 1, "unknown").into())
        .await
        .unwrap_err();
    assert!(error.is_retryable(), "{error:?}");
    on_server(&mut server, |server| server.resume().unwrap()).await;
    say_at_last(&store, "room-0", "unknown").await;
    say_at_last(&store, "room-0", "after").await;
    assert_eq!(
        whole_timeline(&store, "room-0").await,
        ["before", "unknown", "after"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pool_that_is_exhausted_is_a_clear_error_and_then_all_goes_on() {
    let schema = TestSchema::new();
    let config = schema.config().max_connections(2);
    let store = PostgresStore::open(config.acquire_timeout(Duration::from_millis(200)))
        .await
        .unwrap();
    store.create_room(Room::new("r", now())).await.unwrap();
    say(&store, "r", "before").await.unwrap();
    // Somebody holds the room, so that both connections wait in the server.
    let mut other = PgConnection::connect(&schema.url).await.unwrap();
    let hold = format!(
        "BEGIN; SELECT 1 FROM \"{}\".event_sequences FOR UPDATE",
        schema.name
    );
    other
        .execute(sqlx::raw_sql(sqlx::AssertSqlSafe(hold)))
        .await
        .unwrap();
    let tasks = (0..50).map(|number| {
        let store = store.clone();
        let id = format!("e{number}");
        tokio::spawn(async move { store.commit(commit("r", 1, 1, &id).into()).await })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut exhausted = 0;
    let mut others = Vec::new();
    for task in tasks {
        if exhausted == 48 {
            others.push(task);
            continue;
        }
        // Two of them wait for the row and not for a connection; they end when it is let go.
        if let Ok(done) = tokio::time::timeout(Duration::from_secs(3), task).await {
            let error = done.unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StoreFailed);
            assert!(error.is_retryable(), "{error:?}");
            assert!(
                error.message().contains("no connection was free"),
                "{error:?}"
            );
            exhausted += 1;
        }
    }
    assert_eq!(exhausted, 48);
    other.execute("ROLLBACK").await.unwrap();
    drop(others);
    let more = (0..50).map(|number| {
        let store = store.clone();
        tokio::spawn(async move { say_at_last(&store, "r", &format!("more-{number}")).await })
    });
    for task in more.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // One of the two that waited for the row had it.
    assert_eq!(whole_timeline(&store, "r").await.len(), 52);
}
