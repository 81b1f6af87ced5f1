//! Timing, stores in temporary folders, the channels of the benchmarks, and how a row is printed.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, EventId, EventSource, Room, RoomEvent,
    TextContent,
};
use roomkit_core::store::{IdempotentOutcome, RoomCommit, RoomPart, RoomStore, Speaker};
use roomkit_core::{Channel, Result, RoomContext};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use tempfile::TempDir;

pub(crate) const ROUNDS: usize = 9;

/// A transport that does nothing with what it gets.
pub(crate) struct Sink(pub(crate) ChannelId);

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

/// A folder with a database.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        // On the disk of the build, since a temporary folder may be memory.
        let folder = std::env::current_exe().unwrap();
        Self(tempfile::tempdir_in(folder.parent().unwrap()).unwrap())
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.path().join("rooms.db")
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.config()).await.unwrap()
    }

    pub(crate) fn config(&self) -> SqliteConfig {
        SqliteConfig::new(self.path())
    }
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 0).unwrap()
}

/// An event as a message makes it.
pub(crate) fn event(room: &str, index: u64) -> RoomEvent {
    let mut source = EventSource::new("a", ChannelType::Websocket);
    source.participant_id = Some("alice".into());
    let text = TextContent::new(format!(
        "Hello everyone! What is new, number {}?",
        index % 1000
    ));
    let at = now() + TimeDelta::milliseconds(index as i64);
    let mut event = RoomEvent::new(room, source, text, at);
    event.index = index;
    event.idempotency_key = Some(key(index));
    event
}

fn key(index: u64) -> String {
    format!("key-{index}")
}

/// A commit as the pipeline makes it: event, counters, speaker, idempotency key.
pub(crate) fn commit(room: &str, version: u64, index: u64) -> RoomCommit {
    let event = event(room, index);
    let mut commit = RoomCommit::new(room.into(), Some(version), event.created_at);
    commit.speaker = Some(Speaker {
        participant_id: "alice".into(),
        sender_id: "alice".into(),
        channel_id: "a".into(),
        channel_type: ChannelType::Websocket,
    });
    commit.idempotency = Some(outcome(index, event.id.clone()));
    commit.event = Some(Arc::new(event));
    commit
}

pub(crate) fn outcome(index: u64, event_id: EventId) -> IdempotentOutcome {
    IdempotentOutcome {
        key: key(index),
        event_id,
        blocked: false,
        reason: None,
    }
}

/// A room of so many events, part by part.
pub(crate) fn parts(room: &str, events: u64) -> impl Iterator<Item = Result<RoomPart>> + Send {
    let mut head = Room::new(room, now());
    head.event_count = events;
    head.latest_index = events.checked_sub(1);
    let head = RoomPart::Room(Box::new(roomkit_core::store::RoomHead {
        room: head,
        version: events,
        detached: [].into(),
    }));
    let sender = RoomPart::Sender {
        channel_type: ChannelType::Websocket,
        sender_id: "alice".into(),
    };
    let name = room.to_owned();
    let events_of =
        (0..events).map(move |index| RoomPart::Event(vec![Arc::new(event(&name, index))]));
    let end = RoomPart::End { parts: events + 2 };
    [head, sender]
        .into_iter()
        .chain(events_of)
        .chain([end])
        .map(Ok)
}

pub(crate) async fn create(store: &SqliteStore, room: &str) {
    store.create_room(Room::new(room, now())).await.unwrap();
}

/// Runs a future on a runtime of two threads, as a service has one.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// Nanoseconds per call, measured over `calls` calls.
pub(crate) async fn time<F: Future>(calls: u64, mut call: impl FnMut(u64) -> F) -> f64 {
    let started = Instant::now();
    for number in 0..calls {
        call(number).await;
    }
    started.elapsed().as_secs_f64() * 1e9 / calls as f64
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
