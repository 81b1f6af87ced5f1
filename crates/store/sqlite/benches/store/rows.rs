//! What one commit, one message and one look at a room cost.

use std::sync::Arc;
use std::time::Instant;

use roomkit_core::RoomKit;
use roomkit_core::model::InboundMessage;
use roomkit_core::store::{ConversationStore, MemoryStore, RoomStore};
use roomkit_store_sqlite::{SqliteStore, Synchronous};

use crate::floor::ByHand;
use crate::support::{
    Place, ROUNDS, Sink, block_on, commit as commit_of, create, median, report, time,
};

/// What at least 60 % of the floor's rate is as a ratio of times.
const SIXTY_PERCENT: f64 = 1.67;

pub(crate) fn commit(name: &str) {
    commits(name, Synchronous::Normal, 4096, SIXTY_PERCENT);
}

pub(crate) fn commit_full(name: &str) {
    commits(name, Synchronous::Full, 256, SIXTY_PERCENT);
}

fn commits(name: &str, synchronous: Synchronous, calls: u64, goal: f64) {
    block_on(async {
        let by_hand = Place::new();
        let made = by_hand.open().await;
        create(&made, "r").await;
        made.close().await.unwrap();
        let mut by_hand = ByHand::on(&by_hand.path(), synchronous);
        let place = Place::new();
        let config = place.config().synchronous(synchronous);
        let store = SqliteStore::open(config).await.unwrap();
        create(&store, "r").await;
        let (mut figures, mut floors, mut next) = (Vec::new(), Vec::new(), 0);
        for _ in 0..ROUNDS {
            floors.push(by_hand.time(calls));
            let commits: Vec<_> = (next..next + calls)
                .map(|index| commit_of("r", index, index))
                .collect();
            next += calls;
            let started = Instant::now();
            for commit in commits {
                store.commit(commit.into()).await.unwrap();
            }
            figures.push(started.elapsed().as_secs_f64() * 1e9 / calls as f64);
        }
        report(name, median(figures), median(floors), goal);
    });
}

async fn kit_on(store: Arc<dyn ConversationStore>, rooms: usize) -> RoomKit {
    let kit = RoomKit::builder().store(store).build().unwrap();
    for channel in ["a", "b"] {
        kit.register_channel(Sink(channel.into())).unwrap();
    }
    for room in 0..rooms {
        let room = format!("room-{room}");
        kit.create_room(room.as_str()).await.unwrap();
        for channel in ["a", "b"] {
            kit.attach_channel(room.as_str(), channel).await.unwrap();
        }
    }
    kit
}

async fn send(kit: &RoomKit, room: usize, number: u64) {
    let message = InboundMessage::text("a", "alice", "Hello everyone! What is new?");
    let message = message
        .in_room(format!("room-{room}"))
        .idempotency_key(format!("key-{number}"));
    assert!(!kit.process_inbound(message).await.unwrap().blocked);
}

/// A message through the whole kit, beside the statements of its commit by hand.
pub(crate) fn message(name: &str) {
    block_on(async {
        let by_hand = Place::new();
        let made = by_hand.open().await;
        create(&made, "r").await;
        made.close().await.unwrap();
        let mut by_hand = ByHand::on(&by_hand.path(), Synchronous::Normal);
        let place = Place::new();
        let kit = kit_on(Arc::new(place.open().await), 1).await;
        let memory = kit_on(Arc::new(MemoryStore::new()), 1).await;
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS as u64 {
            let in_memory = time(4096, |call| send(&memory, 0, round * 4096 + call)).await;
            floors.push(by_hand.time(4096) + in_memory);
            figures.push(time(4096, |call| send(&kit, 0, round * 4096 + call)).await);
        }
        report(name, median(figures), median(floors), 2.0);
    });
}

/// Messages into sixteen rooms at once, which share transactions, beside one room alone: one writer
/// makes both, so what is held is that rooms do not get in each other's way.
pub(crate) fn sixteen_rooms(name: &str) {
    block_on(async {
        let place = Place::new();
        let kit = kit_on(Arc::new(place.open().await), 17).await;
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS as u64 {
            floors.push(time(2048, |call| send(&kit, 16, round * 2048 + call)).await);
            let started = Instant::now();
            let senders: Vec<_> = (0..16)
                .map(|room| {
                    let kit = kit.clone();
                    tokio::spawn(async move {
                        for call in 0..512 {
                            send(&kit, room, round * 512 + call).await;
                        }
                    })
                })
                .collect();
            for sender in senders {
                sender.await.unwrap();
            }
            figures.push(started.elapsed().as_secs_f64() * 1e9 / (16.0 * 512.0));
        }
        report(name, median(figures), median(floors), 1.25);
    });
}

/// A room as it is asked for with each message, beside the memory store.
pub(crate) fn room(name: &str) {
    block_on(async {
        let place = Place::new();
        let store = place.open().await;
        let memory = MemoryStore::new();
        create(&store, "r").await;
        memory
            .create_room(roomkit_core::model::Room::new("r", crate::support::now()))
            .await
            .unwrap();
        let id = "r".into();
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            floors.push(time(50_000, |_| async { memory.room(&id).await.unwrap() }).await);
            figures.push(time(50_000, |_| async { store.room(&id).await.unwrap() }).await);
        }
        report(name, median(figures), median(floors), 3.0);
    });
}
