//! One event to ten thousand connections of a room, beside writing it once and queueing it ten
//! thousand times. One JSON line.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark fails by panicking, and its figures are small"
)]

use std::time::{Duration, Instant};

use bytes::Bytes;
use roomkit_core::RoomKit;
use roomkit_core::model::InboundMessage;
use roomkit_websocket::{Connection, WebSocketChannel};
use tokio::sync::mpsc;

const CONNECTIONS: usize = 10_000;
const ROUNDS: usize = 31;
const GOAL: f64 = 2.0;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(run());
}

async fn run() {
    let kit = RoomKit::new();
    let (speaker, room) = (
        WebSocketChannel::new("speaker"),
        WebSocketChannel::new("room"),
    );
    kit.register_channel(speaker).unwrap();
    kit.register_channel(room.clone()).unwrap();
    kit.create_room("r").await.unwrap();
    for channel in ["speaker", "room"] {
        kit.attach_channel("r", channel).await.unwrap();
    }
    let mut connections: Vec<Connection> = (0..CONNECTIONS)
        .map(|number| room.connect(format!("c{number}"), "r"))
        .collect();
    let (senders, mut receivers): (Vec<_>, Vec<_>) = (0..CONNECTIONS)
        .map(|_| mpsc::channel::<Bytes>(256))
        .unzip();

    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let message = InboundMessage::text("speaker", "alice", "Hello everyone!").in_room("r");
        let started = Instant::now();
        let result = kit.process_inbound(message).await.unwrap();
        let mut frames = connections.iter_mut().map(|c| c.try_recv().unwrap());
        let first = frames.next().unwrap().json();
        figures.push(started.elapsed());
        // All others share the bytes of the first.
        assert!(frames.all(|frame| frame.json().as_ptr() == first.as_ptr()));

        let event = result.event.unwrap();
        let started = Instant::now();
        let bytes = Bytes::from(serde_json::to_vec(&*event).unwrap());
        for sender in &senders {
            sender.try_send(bytes.clone()).unwrap();
        }
        receivers[0].try_recv().unwrap();
        floors.push(started.elapsed());
        for receiver in &mut receivers[1..] {
            receiver.try_recv().unwrap();
        }
    }
    let (figure, floor) = (median(figures), median(floors));
    let ratio = figure / floor;
    println!(
        "{}",
        serde_json::json!({
            "row": "fan_out_10000_connections",
            "figure_ns": figure.round(),
            "floor_ns": floor.round(),
            "ratio": (ratio * 100.0).round() / 100.0,
            "goal_ratio": GOAL,
            "met": ratio <= GOAL,
        })
    );
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e9
}
