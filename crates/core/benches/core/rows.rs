//! The rows of the performance table.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chrono::Utc;
use roomkit_core::RoomKit;
use roomkit_core::hook::{BeforeBroadcast, HookResult};
use roomkit_core::model::{ChannelType, EventSource, InboundMessage, RoomEvent, TextContent};
use roomkit_core::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, TranscriptEvent};

use crate::support::{Parrot, Sink, block_on, median, nanos, report, time};

const ROUNDS: usize = 15;
const CALLS: u32 = 10_000;

/// Measures a row and prints it under its name.
type Row = fn(&str);

/// Every row by name.
pub(crate) const ALL: &[(&str, Row)] = &[
    ("message", message),
    ("message_with_agent", message_with_agent),
    ("ten_hooks", ten_hooks),
    ("plan_next", plan_next),
    ("two_cores", two_cores),
];

type Boxed = Pin<Box<dyn Future<Output = bool> + Send>>;

#[inline(never)]
fn boxed_call(event: &Arc<RoomEvent>) -> Boxed {
    let event = Arc::clone(event);
    Box::pin(async move { event.index == 0 })
}

fn bare_event() -> RoomEvent {
    let source = EventSource::new("a", ChannelType::Websocket);
    RoomEvent::new("r", source, TextContent::new("Hello everyone!"), Utc::now())
}

/// The bare loop: make the event, lock, push, one boxed call; `events` times.
async fn floor(timeline: &tokio::sync::Mutex<Vec<Arc<RoomEvent>>>, events: u32) {
    for _ in 0..events {
        let event = Arc::new(bare_event());
        timeline.lock().await.push(Arc::clone(&event));
        std::hint::black_box(boxed_call(&event).await);
    }
}

async fn kit_of(with_agent: bool) -> RoomKit {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    kit.register_channel(Sink("a".into())).unwrap();
    kit.attach_channel("r", "a").await.unwrap();
    if with_agent {
        kit.register_channel(Parrot("bot".into())).unwrap();
        kit.attach_channel("r", "bot").await.unwrap();
    } else {
        kit.register_channel(Sink("b".into())).unwrap();
        kit.attach_channel("r", "b").await.unwrap();
    }
    kit
}

fn hello() -> InboundMessage {
    InboundMessage::text("a", "alice", "Hello everyone!").in_room("r")
}

fn message(name: &str) {
    block_on(async {
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let timeline = tokio::sync::Mutex::new(Vec::new());
            floors.push(time(CALLS, |_| floor(&timeline, 1)).await);
            let kit = kit_of(false).await;
            figures.push(
                time(CALLS, |_| async {
                    assert!(!kit.process_inbound(hello()).await.unwrap().blocked);
                })
                .await,
            );
        }
        report(name, median(figures), median(floors), 6.0);
    });
}

fn message_with_agent(name: &str) {
    block_on(async {
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let timeline = tokio::sync::Mutex::new(Vec::new());
            floors.push(time(CALLS, |_| floor(&timeline, 2)).await);
            let kit = kit_of(true).await;
            figures.push(
                time(CALLS, |_| async {
                    assert!(!kit.process_inbound(hello()).await.unwrap().blocked);
                })
                .await,
            );
        }
        report(name, median(figures), median(floors), 12.5);
    });
}

fn ten_hooks(name: &str) {
    block_on(async {
        let (mut figures, mut floors) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let event = Arc::new(bare_event());
            floors.push(
                time(CALLS, |_| async {
                    for _ in 0..10 {
                        std::hint::black_box(boxed_call(&event).await);
                    }
                })
                .await,
            );
            let mut added = 0.0;
            for (hooks, sign) in [(0, -1.0), (10, 1.0)] {
                let kit = kit_of(false).await;
                for number in 0..hooks {
                    kit.hook(BeforeBroadcast, format!("hook-{number}"), |_, _| async {
                        HookResult::allow()
                    });
                }
                let per_call = time(CALLS, |_| async {
                    kit.process_inbound(hello()).await.unwrap();
                });
                added += sign * per_call.await;
            }
            figures.push(added);
        }
        report(name, median(figures), median(floors), 3.0);
    });
}

fn plan_next(name: &str) {
    let roster: Vec<String> = ["planner", "coder", "reviewer"].map(str::to_owned).into();
    let mut transcript: Vec<TranscriptEvent> = (0..1_000_000)
        .map(|number| TranscriptEvent::new(if number % 4 == 0 { "user" } else { "coder" }, "ok"))
        .collect();
    transcript.push(TranscriptEvent::new("user", "build a login form"));
    transcript.push(TranscriptEvent::new(
        "planner",
        "step 1: form. @coder please.",
    ));
    let planner = RoundRobinRoomPlanner::default();
    let figures = (0..ROUNDS)
        .map(|_| {
            let started = std::time::Instant::now();
            for _ in 0..CALLS {
                let next = planner.plan_next(&roster, std::hint::black_box(&transcript));
                assert_eq!(next, Some("coder"));
            }
            nanos(started.elapsed()) / f64::from(CALLS)
        })
        .collect();
    report(name, median(figures), 5_000.0, 1.0);
}

/// Messages into many rooms from two threads beside the same from one: the floor is half of what one
/// thread takes.
fn two_cores(name: &str) {
    let (mut figures, mut floors) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        floors.push(rooms_at_once(1) / 2.0);
        figures.push(rooms_at_once(2));
    }
    report(name, median(figures), median(floors), 1.3);
}

/// Nanoseconds a message where `threads` threads send into eight rooms each.
fn rooms_at_once(threads: u32) -> f64 {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads as usize)
        .enable_time()
        .build()
        .unwrap();
    let elapsed = runtime.block_on(async move {
        let kit = kit_of(false).await;
        let rooms = (0..threads).flat_map(|thread| (0..8).map(move |room| (thread, room)));
        for (thread, room) in rooms {
            let room = format!("room-{thread}-{room}");
            kit.create_room(room.as_str()).await.unwrap();
            for channel in ["a", "b"] {
                kit.attach_channel(room.as_str(), channel).await.unwrap();
            }
        }
        let started = std::time::Instant::now();
        let senders = (0..threads).map(|thread| {
            let kit = kit.clone();
            tokio::spawn(async move {
                for number in 0..CALLS {
                    let room = format!("room-{thread}-{}", number % 8);
                    let message = InboundMessage::text("a", "alice", "Hello everyone!");
                    let result = kit.process_inbound(message.in_room(room)).await;
                    assert!(!result.unwrap().blocked);
                }
            })
        });
        for sender in senders.collect::<Vec<_>>() {
            sender.await.unwrap();
        }
        started.elapsed()
    });
    nanos(elapsed) / f64::from(threads * CALLS)
}
