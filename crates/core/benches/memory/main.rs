//! What a message allocates, what a room takes while nothing happens in it, and what a hundred
//! thousand rooms do to the price of a message. One JSON line a row.

#![allow(
    clippy::unwrap_used,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a benchmark fails by panicking, and its figures are small"
)]

#[path = "../core/support.rs"]
#[allow(dead_code, reason = "the other benchmark prints other rows")]
mod support;

use std::alloc::System;
use std::sync::Arc;

use roomkit_core::RoomKit;
use roomkit_core::model::{InboundMessage, RoomEvent};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use support::{Parrot, Sink, block_on, median, time};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const ROOMS: usize = 100_000;
const MESSAGES: u32 = 1_000;
const ROUNDS: usize = 9;

fn main() {
    block_on(async {
        allocations("allocations_per_message", false).await;
        allocations("allocations_per_message_with_agent", true).await;
        many_rooms().await;
    });
}

async fn kit_of(with_agent: bool) -> RoomKit {
    let kit = RoomKit::new();
    kit.register_channel(Sink("a".into())).unwrap();
    if with_agent {
        kit.register_channel(Parrot("b".into())).unwrap();
    } else {
        kit.register_channel(Sink("b".into())).unwrap();
    }
    add_room(&kit, "r").await;
    kit
}

async fn add_room(kit: &RoomKit, room: &str) {
    kit.create_room(room).await.unwrap();
    for channel in ["a", "b"] {
        kit.attach_channel(room, channel).await.unwrap();
    }
}

async fn hello(kit: &RoomKit, room: &str) {
    let message = InboundMessage::text("a", "alice", "Hello everyone!").in_room(room);
    assert!(!kit.process_inbound(message).await.unwrap().blocked);
}

/// Allocations of a message, what it leaves in the store included.
async fn allocations(row: &str, with_agent: bool) {
    let kit = kit_of(with_agent).await;
    for _ in 0..MESSAGES {
        hello(&kit, "r").await;
    }
    let region = Region::new(ALLOCATOR);
    for _ in 0..MESSAGES {
        hello(&kit, "r").await;
    }
    let change = region.change();
    let per_message = |count: usize| count as f64 / f64::from(MESSAGES);
    println!(
        "{}",
        serde_json::json!({
            "row": row,
            "allocations": per_message(change.allocations + change.reallocations),
            "bytes_allocated": per_message(change.bytes_allocated).round(),
            "bytes_kept": per_message(change.bytes_allocated - change.bytes_deallocated).round(),
        })
    );
}

/// A room of two channels and ten events, two of them of how the channels came; and a message in a
/// room beside a hundred thousand such rooms.
async fn many_rooms() {
    let alone = kit_of(false).await;
    let kit = kit_of(false).await;
    let region = Region::new(ALLOCATOR);
    for number in 0..ROOMS {
        let room = format!("room-{number}");
        add_room(&kit, &room).await;
        for _ in 0..8 {
            hello(&kit, &room).await;
        }
    }
    kit.wait_idle().await;
    let change = region.change();
    let total = (change.bytes_allocated - change.bytes_deallocated) as f64 / ROOMS as f64;
    let events = kit.timeline("room-7", 0, 100).await.unwrap();
    assert_eq!(events.len(), 10);
    let own = bytes_of(&events);
    let beyond = total - own;
    println!(
        "{}",
        serde_json::json!({
            "row": "idle_room_bytes",
            "rooms": ROOMS,
            "bytes": total.round(),
            "events_own_bytes": own,
            "bytes_beyond_events": beyond.round(),
            "goal_bytes": 6144,
            "met": beyond <= 6144.0,
        })
    );
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floors.push(time(MESSAGES, |_| hello(&alone, "r")).await);
        figures.push(time(MESSAGES, |_| hello(&kit, "r")).await);
    }
    support::report(
        "message_beside_100000_rooms",
        median(figures),
        median(floors),
        1.5,
    );
}

/// What events take by themselves; ids and texts that a copy shares count for nothing, which is to
/// the disadvantage of the room.
fn bytes_of(events: &[Arc<RoomEvent>]) -> f64 {
    let region = Region::new(ALLOCATOR);
    let copies: Vec<Arc<RoomEvent>> = events
        .iter()
        .map(|event| Arc::new(RoomEvent::clone(event)))
        .collect();
    let bytes = region.change().bytes_allocated as f64;
    drop(copies);
    bytes
}
