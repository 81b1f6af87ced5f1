//! Commits beside the floor, and a whole message of the kit.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use chrono::Utc;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, InboundMessage, Room, RoomEvent,
};
use roomkit_core::store::{ConversationStore, RoomStore};
use roomkit_core::{Channel, RoomContext, RoomKit};
use sqlx::Executor;
use sqlx::postgres::PgConnection;

use crate::support::{Database, commit, median, nanos, report};

const SLICES: usize = 31;
/// Seventy in a hundred of the floor's throughput.
const GOAL: f64 = 1.43;

struct Sink(ChannelId);

#[async_trait]
impl Channel for Sink {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::sent()
    }
}

/// Connections that each have a row of their own to update.
struct Floor {
    connections: Vec<PgConnection>,
    begin: &'static str,
    update: String,
    insert: String,
}

impl Floor {
    async fn new(database: &Database, connections: usize) -> Self {
        let tables = "CREATE TABLE {s}.floor_rooms (id bigint PRIMARY KEY, count bigint NOT NULL);
            CREATE TABLE {s}.floor_events (room bigint, at timestamptz, filler text)";
        database.run(tables).await;
        let mut all = Vec::new();
        for id in 0..connections {
            let row = format!("INSERT INTO {{s}}.floor_rooms VALUES ({id}, 0)");
            database.run(&row).await;
            all.push(database.connect().await);
        }
        let sql = |text: &str| database.sql(text).0;
        Self {
            connections: all,
            begin: "BEGIN",
            update: sql("UPDATE {s}.floor_rooms SET count = count + 1 WHERE id = $1"),
            insert: sql("INSERT INTO {s}.floor_events VALUES ($1, now(), $2)"),
        }
    }

    /// Nanoseconds a transaction, over all connections.
    async fn run(&mut self, calls: usize) -> f64 {
        let connections = std::mem::take(&mut self.connections);
        let count = connections.len();
        let started = Instant::now();
        let mut tasks = Vec::new();
        for (id, mut connection) in connections.into_iter().enumerate() {
            let (begin, update, insert) = (self.begin, self.update.clone(), self.insert.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..calls {
                    connection.execute(sqlx::raw_sql(begin)).await.unwrap();
                    let update = sqlx::query(sqlx::AssertSqlSafe(update.as_str()));
                    connection.execute(update.bind(id as i64)).await.unwrap();
                    let insert = sqlx::query(sqlx::AssertSqlSafe(insert.as_str()));
                    let insert = insert.bind(id as i64).bind("Hello everyone, how are you?");
                    connection.execute(insert).await.unwrap();
                    connection.execute(sqlx::raw_sql("COMMIT")).await.unwrap();
                }
                connection
            }));
        }
        for task in tasks {
            self.connections.push(task.await.unwrap());
        }
        nanos(started.elapsed()) / (calls * count) as f64
    }
}

/// Commits to `rooms` rooms at once, each by a task of its own.
pub(crate) async fn rooms(name: &str, rooms: usize) {
    let database = Database::new();
    let store = database.open().await;
    for room in 0..rooms {
        let room = Room::new(format!("room-{room}"), Utc::now());
        store.create_room(room).await.unwrap();
    }
    let mut floor = Floor::new(&database, rooms).await;
    let calls = 3_200 / rooms.max(16);
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    let mut done = 0;
    for slice in 0..=SLICES {
        let floor = floor.run(calls).await;
        let started = Instant::now();
        let tasks: Vec<_> = (0..rooms)
            .map(|room| {
                let store = store.clone();
                let room = format!("room-{room}");
                tokio::spawn(async move {
                    for number in done..done + calls as u64 {
                        let commit = commit(&room, number, number);
                        store.commit(commit.into()).await.unwrap();
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let figure = nanos(started.elapsed()) / (calls * rooms) as f64;
        done += calls as u64;
        // The first slice warms caches and prepares statements.
        if slice > 0 {
            figures.push(figure);
            floors.push(floor);
        }
    }
    report(name, median(figures), median(floors), GOAL);
    store.close().await.unwrap();
    database.drop().await;
}

/// A message through the kit: routed, looked up, committed, delivered.
pub(crate) async fn kit(name: &str) {
    let database = Database::new();
    let store = database.open().await;
    let kit = RoomKit::builder()
        .store(Arc::new(store))
        .allow_in_process_locks()
        .build()
        .unwrap();
    kit.create_room("r").await.unwrap();
    for channel in ["a", "b"] {
        kit.register_channel(Sink(channel.into())).unwrap();
        kit.attach_channel("r", channel).await.unwrap();
    }
    let mut floor = Floor::new(&database, 1).await;
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    for slice in 0..=SLICES {
        let floor = floor.run(500).await;
        let figure = time(500, || async {
            let message = InboundMessage::text("a", "alice", "Hello everyone!").in_room("r");
            assert!(!kit.process_inbound(message).await.unwrap().blocked);
        });
        let figure = figure.await;
        if slice > 0 {
            figures.push(figure);
            floors.push(floor);
        }
    }
    report(name, median(figures), median(floors), 4.0);
    kit.close(std::time::Duration::from_secs(5)).await.unwrap();
    database.drop().await;
}

/// Nanoseconds a call.
pub(crate) async fn time<F: Future>(calls: u32, mut call: impl FnMut() -> F) -> f64 {
    let started = Instant::now();
    for _ in 0..calls {
        call().await;
    }
    nanos(started.elapsed()) / f64::from(calls)
}
