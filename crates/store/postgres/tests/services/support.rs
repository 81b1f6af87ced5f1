//! A schema of its own for each test, gone when the test is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use chrono::{DateTime, Utc};
use roomkit_core::model::{ChannelType, EventSource, RoomEvent, TextContent};
use roomkit_core::store::{ConversationStore, EventQuery, RoomCommit, RoomSnapshot};
use roomkit_core::{Error, ErrorKind};
use roomkit_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};

/// A schema in the database of the tests.
#[derive(Debug)]
pub(crate) struct TestSchema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl TestSchema {
    /// A name that no other test has; the store makes the schema.
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let url = roomkit_test_services::database_url().unwrap();
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos();
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{nanos:x}_{count}", std::process::id());
        Self { url, name }
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        PostgresConfig::new(self.url.as_str())
            .schema(&self.name)
            .max_connections(4)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(self.config()).await.unwrap()
    }

    /// Runs statements, `{s}` standing for the schema.
    pub(crate) async fn run(&self, sql: &str) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let sql = sql.replace("{s}", &format!("\"{}\"", self.name));
        let done = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql)));
        done.await.unwrap();
        connection.close().await.unwrap();
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        let url = self.url.clone();
        let drop_it = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name);
        // A runtime of its own: the test's may be over, and may not be blocked.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                if let Ok(mut connection) = PgConnection::connect(&url).await {
                    drop(
                        connection
                            .execute(sqlx::raw_sql(AssertSqlSafe(drop_it)))
                            .await,
                    );
                }
            });
        });
        drop(dropped.join());
    }
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 0).unwrap()
}

pub(crate) fn event(room: &str, index: u64, id: &str) -> RoomEvent {
    let source = EventSource::new("a", ChannelType::Sms);
    let content = TextContent::new(format!("message {index}"));
    let mut event = RoomEvent::new(room, source, content, now());
    event.id = id.into();
    event.index = index;
    event
}

/// The commit of a message on a room that is at `version`.
pub(crate) fn commit(room: &str, version: u64, index: u64, id: &str) -> RoomCommit {
    let mut commit = RoomCommit::new(room.into(), Some(version), now());
    commit.event = Some(Arc::new(event(room, index, id)));
    commit
}

/// Commits a message on the room as it is now, anew where another was faster; the error of anything
/// else.
pub(crate) async fn say(
    store: &dyn ConversationStore,
    room: &str,
    id: &str,
) -> Result<RoomSnapshot, Error> {
    loop {
        let snapshot = store.room(&room.into()).await?;
        let snapshot = snapshot.ok_or_else(|| Error::room_not_found(&room))?;
        let next = snapshot.room.next_index();
        let commit = commit(room, snapshot.version, next, id);
        match store.commit(commit.into()).await {
            Ok(receipt) => return Ok(receipt.into_first()),
            // A try whose outcome was unknown may have come through after all.
            Err(error) if error.kind() == ErrorKind::VersionConflict => {
                if store.event(&room.into(), &id.into()).await?.is_some() {
                    return Ok(snapshot);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

/// Says it until it is said, whatever the errors, which must all be worth another try. Where the
/// outcome of a try was unknown the event may be there already, which is as good.
pub(crate) async fn say_at_last(store: &dyn ConversationStore, room: &str, id: &str) {
    for _ in 0..200 {
        match say(store, room, id).await {
            Ok(_) => return,
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
        match store.event(&room.into(), &id.into()).await {
            Ok(Some(_)) => return,
            Ok(None) => {}
            Err(error) => assert!(error.is_retryable(), "{error:?}"),
        }
    }
    panic!("{id} could not be said");
}

/// The ids of a room's events, whose indexes have no gap and no duplicate and agree with its counters.
pub(crate) async fn whole_timeline(store: &dyn ConversationStore, room: &str) -> Vec<String> {
    let room = room.into();
    let events = store
        .events(&room, &EventQuery::first(usize::MAX))
        .await
        .unwrap();
    let indexes: Vec<u64> = events.iter().map(|event| event.index).collect();
    let expected: Vec<u64> = (0..events.len() as u64).collect();
    assert_eq!(indexes, expected);
    let snapshot = store.room(&room).await.unwrap().unwrap();
    assert_eq!(snapshot.room.event_count, events.len() as u64);
    assert_eq!(snapshot.room.next_index(), events.len() as u64);
    events.iter().map(|event| event.id.to_string()).collect()
}
