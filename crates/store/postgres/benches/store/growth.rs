//! How calls fare as a room's history, or the number of rooms, grows.

use chrono::Utc;
use roomkit_core::model::{ReadMarker, Room};
use roomkit_core::store::{
    ConversationStore, EventQuery, EventSearch, EventStore, ReadStore, RoomStore,
};
use roomkit_store_postgres::PostgresStore;

use crate::rows::time;
use crate::support::{Database, commit, hello, median, report};

const SLICES: usize = 9;
const CALLS: u32 = 200;
const GOAL: f64 = 1.5;
const NAMES: [&str; 5] = ["commit", "room", "last_50", "unread", "search"];

/// A room with a long past beside one with a short one, in databases of their own.
struct Sized {
    database: Database,
    store: PostgresStore,
    rooms: u64,
    /// The next version and index, by room.
    next: Vec<u64>,
    turn: usize,
}

impl Sized {
    /// `rooms` rooms of `events` events each, written in bulk. Each word `wN` is in ten events.
    async fn new(rooms: u64, events: u64) -> Self {
        let database = Database::new();
        let store = database.open().await;
        let room = Room::new("room-0", Utc::now());
        store.create_room(room).await.unwrap();
        let mut first = commit("room-0", 0, 0);
        first.event = Some(hello("room-0", 0).into());
        store.commit(first.into()).await.unwrap();
        let last = rooms - 1;
        database
            .run(&format!(
                "INSERT INTO {{s}}.rooms SELECT 'room-' || n, r.tenant, r.status, r.created_us + n,
                    r.detached, replace(r.data, 'room-0', 'room-' || n)
                FROM {{s}}.rooms AS r, generate_series(1, {last}) AS n WHERE r.room_id = 'room-0';
                INSERT INTO {{s}}.events SELECT 'room-' || n, i, 'event-' || i, e.tenant, e.type,
                    e.channel_id, e.participant_id, NULL, e.created_us + i, false,
                    e.words || ('w' || ((n * {events} + i) / 10)),
                    replace(replace(e.data, 'room-0', 'room-' || n), '\"index\":0', '\"index\":' || i)
                FROM {{s}}.events AS e, generate_series(0, {last}) AS n,
                    generate_series(1, {events} - 1) AS i WHERE e.room_id = 'room-0' AND e.index = 0;
                INSERT INTO {{s}}.outcomes SELECT o.room_id, 'key-' || i, o.data
                FROM {{s}}.outcomes AS o, generate_series(1, {events} - 1) AS i;
                INSERT INTO {{s}}.event_sequences SELECT 'room-' || n, h.tenant, h.open, {events},
                    {events} - 1, {events}, h.updated_us, h.activity_us, h.fencing, h.data_stamp,
                    h.bindings_stamp
                FROM {{s}}.event_sequences AS h, generate_series(1, {last}) AS n;
                UPDATE {{s}}.event_sequences SET version = {events}, latest_index = {events} - 1,
                    event_count = {events}"
            ))
            .await;
        for table in ["rooms", "events", "outcomes", "event_sequences"] {
            database
                .run(&format!("VACUUM (ANALYZE) {{s}}.{table}"))
                .await;
        }
        let marker = ReadMarker {
            room_id: "room-0".into(),
            channel_id: "b".into(),
            index: events.saturating_sub(50),
            read_at: Utc::now(),
        };
        store.mark_read(marker).await.unwrap();
        Self {
            database,
            store,
            rooms,
            next: vec![events; rooms as usize],
            turn: 0,
        }
    }

    /// Nanoseconds a call of each kind.
    async fn slice(&mut self, name: &str) -> f64 {
        let store = self.store.clone();
        match name {
            "commit" => {
                let mut commits = Vec::new();
                for _ in 0..CALLS {
                    // Steps that share no factor with the number of rooms go through all of them.
                    self.turn = (self.turn + 7_919) % self.rooms as usize;
                    let next = self.next[self.turn];
                    self.next[self.turn] += 1;
                    commits.push(commit(&format!("room-{}", self.turn), next, next));
                }
                let mut commits = commits.into_iter();
                time(CALLS, || {
                    let (store, commit) = (&store, commits.next().unwrap());
                    async move { store.commit(commit.into()).await.unwrap() }
                })
                .await
            }
            "room" => {
                time(CALLS, || async {
                    store.room(&"room-0".into()).await.unwrap()
                })
                .await
            }
            "last_50" => {
                let query = EventQuery::last(50);
                time(CALLS, || async {
                    store.events(&"room-0".into(), &query).await.unwrap()
                })
                .await
            }
            "unread" => {
                let (room, channel) = ("room-0".into(), "b".into());
                // What is unread is the same everywhere: the commits of each slice are read.
                let marker = ReadMarker {
                    room_id: "room-0".into(),
                    channel_id: "b".into(),
                    index: self.next[0].saturating_sub(50),
                    read_at: Utc::now(),
                };
                store.mark_read(marker).await.unwrap();
                time(CALLS, || async {
                    store.unread_count(&room, &channel).await.unwrap()
                })
                .await
            }
            _ => {
                let search = EventSearch::new("W5 hello", 10).room("room-0");
                assert!(!store.search_events(&search).await.unwrap().is_empty());
                time(CALLS, || async {
                    store.search_events(&search).await.unwrap()
                })
                .await
            }
        }
    }
}

/// 10², 10⁴ and 10⁶ events in a room.
pub(crate) async fn events() {
    let sizes = [
        Sized::new(1, 100).await,
        Sized::new(1, 10_000).await,
        Sized::new(1, 1_000_000).await,
    ];
    compare(sizes, ["100", "10000", "1000000"], "events", &NAMES).await;
}

/// 10, 10³ and 10⁵ rooms.
pub(crate) async fn rooms() {
    let sizes = [
        Sized::new(10, 60).await,
        Sized::new(1_000, 60).await,
        Sized::new(100_000, 2).await,
    ];
    compare(
        sizes,
        ["10", "1000", "100000"],
        "rooms",
        &["commit", "room"],
    )
    .await;
}

async fn compare(mut sizes: [Sized; 3], labels: [&str; 3], of: &str, names: &[&str]) {
    for name in names {
        let mut figures = [Vec::new(), Vec::new(), Vec::new()];
        for slice in 0..=SLICES {
            for (size, figures) in sizes.iter_mut().zip(&mut figures) {
                let figure = size.slice(name).await;
                if slice > 0 {
                    figures.push(figure);
                }
            }
        }
        let figures = figures.map(median);
        for (label, figure) in labels.iter().zip(figures).skip(1) {
            let row = format!("postgres_{name}_{label}_{of}_growth");
            report(&row, figure, figures[0], GOAL);
        }
    }
    for size in sizes {
        size.store.close().await.unwrap();
        size.database.drop().await;
    }
}
