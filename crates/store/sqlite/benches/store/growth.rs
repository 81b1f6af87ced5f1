//! How figures grow with what is there already: each beside the same in the smallest database.
//!
//! The databases take turns, round by round, once all of them are filled and opened anew.

use std::time::Instant;

use futures_util::StreamExt;
use roomkit_core::model::{ReadMarker, RoomId};
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventQuery, EventSearch, EventStore, ReadStore, RoomStore,
};
use roomkit_store_sqlite::SqliteStore;

use crate::support::{Place, block_on, commit, median, now, parts, report, time};

const ROUNDS: usize = 15;
const CALLS: u64 = 200;
/// What a figure may grow from the smallest database to the largest.
const FLAT: f64 = 1.5;
const FIGURES: [&str; 5] = ["commit", "room", "last_50", "unread", "search"];

/// With 10², 10⁴ and 10⁶ events in the room.
pub(crate) fn events(name: &str) {
    block_on(async {
        let mut all = Vec::new();
        for events in [100, 10_000, 1_000_000] {
            all.push(Filled::with(format!("{events}_events"), 1, events).await);
        }
        compare(name, all).await;
    });
}

/// With 10, 10³ and 10⁵ rooms of ten events each.
pub(crate) fn rooms(name: &str) {
    block_on(async {
        let mut all = Vec::new();
        for rooms in [10, 1_000, 100_000] {
            all.push(Filled::with(format!("{rooms}_rooms"), rooms, 10).await);
        }
        compare(name, all).await;
    });
}

/// A database that holds something already.
struct Filled {
    size: String,
    _place: Place,
    store: SqliteStore,
    room: RoomId,
    next: u64,
    figures: [Vec<f64>; FIGURES.len()],
}

impl Filled {
    async fn with(size: String, rooms: u64, events: u64) -> Self {
        let place = Place::new();
        let store = place.open().await;
        for room in 0..rooms {
            let name = format!("room-{room}");
            let parts = parts(&name, events);
            let parts = futures_util::stream::iter(parts).boxed();
            store.restore(parts).await.unwrap();
        }
        store.close().await.unwrap();
        Self {
            size,
            store: place.open().await,
            _place: place,
            room: "room-0".into(),
            next: events,
            figures: Default::default(),
        }
    }

    async fn measure(&mut self, round: usize) {
        let (store, room) = (&self.store, &self.room);
        let commits: Vec<_> = (self.next..self.next + CALLS)
            .map(|index| commit(room.as_str(), index, index))
            .collect();
        self.next += CALLS;
        let started = Instant::now();
        for commit in commits {
            store.commit(commit.into()).await.unwrap();
        }
        let committed = started.elapsed().as_secs_f64() * 1e9 / CALLS as f64;
        let marker = ReadMarker {
            room_id: room.clone(),
            channel_id: "b".into(),
            index: self.next - 10,
            read_at: now(),
        };
        store.mark_read(marker).await.unwrap();
        let query = EventQuery::last(50);
        let channel = "b".into();
        let search = EventSearch::new(format!("unheard{round}"), 10).room(room);
        let figures = [
            committed,
            time(CALLS, |_| async { store.room(room).await.unwrap() }).await,
            time(CALLS, |_| async {
                store.events(room, &query).await.unwrap()
            })
            .await,
            time(CALLS, |_| async {
                store.unread_count(room, &channel).await.unwrap()
            })
            .await,
            time(CALLS, |_| async {
                store.search_events(&search).await.unwrap()
            })
            .await,
        ];
        for (all, figure) in self.figures.iter_mut().zip(figures) {
            all.push(figure);
        }
    }
}

async fn compare(name: &str, mut all: Vec<Filled>) {
    for round in 0..ROUNDS {
        for filled in &mut all {
            filled.measure(round).await;
        }
    }
    let mut smallest = None;
    for filled in all {
        let figures = filled.figures.map(median);
        let floors = *smallest.get_or_insert(figures);
        for ((figure, at), floor) in FIGURES.iter().zip(figures).zip(floors) {
            report(&format!("{name}_{figure}_{}", filled.size), at, floor, FLAT);
        }
    }
}
