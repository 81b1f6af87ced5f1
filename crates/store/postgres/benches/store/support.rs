//! The database of a benchmark, timing, and how a row is printed.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::Utc;
use roomkit_core::model::{ChannelType, EventSource, RoomEvent, TextContent};
use roomkit_core::store::{IdempotentOutcome, RoomCommit, Speaker};
use roomkit_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Connection, Executor};

/// A schema of its own, dropped by [`drop`](Self::drop).
pub(crate) struct Database {
    pub(crate) url: String,
    pub(crate) schema: String,
}

impl Database {
    pub(crate) fn new() -> Self {
        let url = roomkit_test_services::database_url().unwrap();
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos();
        let schema = format!("bench_{}_{nanos:x}", std::process::id());
        Self { url, schema }
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        let config = PostgresConfig::new(self.url.as_str()).schema(&self.schema);
        PostgresStore::open(config).await.unwrap()
    }

    pub(crate) async fn connect(&self) -> PgConnection {
        PgConnection::connect(&self.url).await.unwrap()
    }

    /// A statement with the schema in the place of `{s}`.
    pub(crate) fn sql(&self, sql: &str) -> AssertSqlSafe<String> {
        AssertSqlSafe(sql.replace("{s}", &format!("\"{}\"", self.schema)))
    }

    pub(crate) async fn run(&self, sql: &str) -> Vec<PgRow> {
        let mut connection = self.connect().await;
        connection
            .fetch_all(sqlx::raw_sql(self.sql(sql)))
            .await
            .unwrap()
    }

    pub(crate) async fn drop(self) {
        self.run("DROP SCHEMA {s} CASCADE").await;
    }
}

pub(crate) fn hello(room: &str, index: u64) -> RoomEvent {
    let mut source = EventSource::new("a", ChannelType::Websocket);
    source.participant_id = Some("alice".into());
    let content = TextContent::new("Hello everyone, how are you?");
    let mut event = RoomEvent::new(room, source, content, Utc::now());
    event.index = index;
    event
}

/// A commit as the pipeline makes one of a message.
pub(crate) fn commit(room: &str, version: u64, index: u64) -> RoomCommit {
    let event = hello(room, index);
    let mut commit = RoomCommit::new(room.into(), Some(version), event.created_at);
    commit.speaker = Some(Speaker {
        participant_id: "alice".into(),
        sender_id: "alice".into(),
        channel_id: "a".into(),
        channel_type: ChannelType::Websocket,
    });
    commit.idempotency = Some(IdempotentOutcome {
        key: format!("provider-message-{index}"),
        event_id: event.id.clone(),
        blocked: false,
        reason: None,
    });
    commit.event = Some(event.into());
    commit
}

pub(crate) fn nanos(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or_default()
}

/// Prints one row. `goal` is the ratio that must not be passed.
pub(crate) fn report(row: &str, figure_ns: f64, floor_ns: f64, goal: f64) {
    let ratio = figure_ns / floor_ns;
    println!(
        "{}",
        serde_json::json!({
            "row": row,
            "figure_ns": figure_ns.round(),
            "floor_ns": floor_ns.round(),
            "ratio": (ratio * 100.0).round() / 100.0,
            "goal_ratio": goal,
            "per_second": (1e9 / figure_ns).round(),
            "met": ratio <= goal,
        })
    );
}
