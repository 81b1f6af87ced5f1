//! How figures grow with what is there already: each beside the same in the smallest database.

use std::time::Instant;

use futures_util::StreamExt;
use roomkit_core::model::ReadMarker;
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventQuery, EventSearch, EventStore, ReadStore, RoomStore,
};
use roomkit_store_sqlite::SqliteStore;

use crate::support::{Place, block_on, commit, median, now, parts, report, time};

const ROUNDS: u64 = 9;
const CALLS: u64 = 200;
/// What a figure may grow from the smallest database to the largest.
const FLAT: f64 = 1.5;

/// With 10², 10⁴ and 10⁶ events in the room.
pub(crate) fn events(name: &str) {
    block_on(async {
        let mut smallest = None;
        for events in [100_u64, 10_000, 1_000_000] {
            let place = Place::new();
            let store = place.open().await;
            fill(&store, "r", events).await;
            let figures = measure(&store, "r", events).await;
            rows(
                name,
                "events",
                events,
                &figures,
                smallest.get_or_insert(figures.clone()),
            );
        }
    });
}

/// With 10, 10³ and 10⁵ rooms of ten events each.
pub(crate) fn rooms(name: &str) {
    block_on(async {
        let mut smallest = None;
        for rooms in [10_u64, 1_000, 100_000] {
            let place = Place::new();
            let store = place.open().await;
            for room in 0..rooms {
                fill(&store, &format!("room-{room}"), 10).await;
            }
            let figures = measure(&store, "room-7", 10).await;
            rows(
                name,
                "rooms",
                rooms,
                &figures,
                smallest.get_or_insert(figures.clone()),
            );
        }
    });
}

async fn fill(store: &SqliteStore, room: &str, events: u64) {
    let parts = futures_util::stream::iter(parts(room, events)).boxed();
    store.restore(parts).await.unwrap();
}

type Figures = Vec<(&'static str, f64, f64)>;

/// Each figure with what it may grow by.
async fn measure(store: &SqliteStore, room: &str, events: u64) -> Figures {
    let id = room.into();
    let marker = ReadMarker {
        room_id: room.into(),
        channel_id: "b".into(),
        index: events.saturating_sub(10),
        read_at: now(),
    };
    let mut all: Vec<(&'static str, f64, Vec<f64>)> = [
        ("commit", FLAT),
        ("room", FLAT),
        ("last_50", FLAT),
        ("unread", FLAT),
        ("search_rare", FLAT),
    ]
    .map(|(name, goal)| (name, goal, Vec::new()))
    .into();
    let mut next = events;
    for round in 0..ROUNDS {
        let commits: Vec<_> = (next..next + CALLS)
            .map(|index| commit(room, index, index))
            .collect();
        next += CALLS;
        let started = Instant::now();
        for commit in commits {
            store.commit(commit.into()).await.unwrap();
        }
        let committed = started.elapsed().as_secs_f64() * 1e9 / CALLS as f64;
        let seen = time(CALLS, |_| async { store.room(&id).await.unwrap() }).await;
        let query = EventQuery::last(50);
        let last = time(CALLS, |_| async {
            store.events(&id, &query).await.unwrap()
        })
        .await;
        let moved = ReadMarker {
            index: next - 10,
            read_at: now(),
            ..marker.clone()
        };
        store.mark_read(moved).await.unwrap();
        let channel = "b".into();
        let unread = time(CALLS, |_| async {
            store.unread_count(&id, &channel).await.unwrap()
        });
        let unread = unread.await;
        let search = EventSearch::new(format!("unheard{round}"), 10).room(room);
        let found = time(CALLS, |_| async {
            store.search_events(&search).await.unwrap()
        })
        .await;
        for ((_, _, figures), figure) in all.iter_mut().zip([committed, seen, last, unread, found])
        {
            figures.push(figure);
        }
    }
    all.into_iter()
        .map(|(name, goal, figures)| (name, goal, median(figures)))
        .collect()
}

fn rows(name: &str, of: &str, size: u64, figures: &Figures, smallest: &Figures) {
    for ((figure, goal, at), (_, _, floor)) in figures.iter().zip(smallest) {
        report(&format!("{name}_{figure}_{size}_{of}"), *at, *floor, *goal);
    }
}
