//! Calls that race, go away or meet a failing store at every point: nothing is lost, doubled or stuck.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::hook::{BeforeBroadcast, HookResult};
use roomkit_core::model::{EventContent, InboundMessage};
use roomkit_core::store::{Page, RoomFilter};
use roomkit_core::{ChannelOutput, RoomKit};

use super::scripted_store::ScriptedStore;
use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

/// A kit whose every call of the store, hook and agent waits once; the agent answers people.
async fn kit_that_waits() -> (RoomKit, Transport) {
    let store = ScriptedStore::new(|_| async {
        tokio::task::yield_now().await;
        Ok(())
    });
    let kit = RoomKit::builder().store(store).build().unwrap();
    let b = Transport::new("b");
    room_of(
        &kit,
        vec![shared(&Transport::new("a")), shared(&b), shared(&agent())],
    )
    .await;
    kit.hook(BeforeBroadcast, "waits", |_, _| async {
        tokio::task::yield_now().await;
        HookResult::allow()
    });
    (kit, b)
}

fn agent() -> Agent {
    Agent::new("agent", |event, _| async move {
        tokio::task::yield_now().await;
        Ok(match event.chain_depth {
            0 => ChannelOutput::text("re"),
            _ => ChannelOutput::none(),
        })
    })
}

async fn assert_no_gap(kit: &RoomKit, room: &str) {
    let events = kit.timeline(room, 0, usize::MAX).await.unwrap();
    let indexes = events.iter().map(|event| event.index);
    assert!(indexes.eq(0..events.len() as u64));
}

#[tokio::test]
async fn a_call_that_goes_away_at_any_await_neither_loses_nor_doubles_its_event() {
    for polls in 0..30 {
        for kind in ["inbound", "deferred", "send", "unrouted"] {
            let (kit, b) = kit_that_waits().await;
            let message = say("a", "u", "1").idempotency_key("k");
            let mut call: BoxFuture<'_, ()> = match kind {
                "inbound" => kit.process_inbound(message).map(drop).boxed(),
                "deferred" => kit.process_inbound_deferred(message).map(drop).boxed(),
                "send" => {
                    let sent = kit.send_event("r", "a", EventContent::text("1"));
                    sent.idempotency_key("k").into_future().map(drop).boxed()
                }
                _ => {
                    let unrouted = InboundMessage::text("a", "u", "1").idempotency_key("k");
                    kit.process_inbound(unrouted).map(drop).boxed()
                }
            };
            for _ in 0..polls {
                if (&mut call).now_or_never().is_some() {
                    break;
                }
                tokio::task::yield_now().await;
            }
            drop(call);
            kit.wait_idle().await;
            for message in [say("a", "u", "1").idempotency_key("k"), say("a", "u", "2")] {
                assert!(!kit.process_inbound(message).await.unwrap().blocked);
            }
            assert_eq!(timeline_texts(&kit).await, ["1", "re", "2", "re"]);
            assert_eq!(b.texts(), ["1", "re", "2", "re"], "{kind} {polls}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_with_one_key_are_one_event() {
    let (kit, b) = kit_that_waits().await;
    kit.register_channel(Transport::new("new")).unwrap();
    let calls: Vec<_> = (0..200)
        .map(|_| {
            let kit = kit.clone();
            let message = say("new", "u", "1").idempotency_key("k");
            tokio::spawn(async move { kit.process_inbound(message).await.unwrap() })
        })
        .collect();
    let mut ids = Vec::new();
    for call in calls {
        let result = call.await.unwrap();
        assert!(!result.blocked);
        ids.push(result.event.unwrap().id.clone());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(b.texts(), ["1", "re"]);
    assert_eq!(kit.bindings("r").await.unwrap().len(), 4);
    assert_no_gap(&kit, "r").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn first_messages_of_one_sender_that_race_make_one_room() {
    let (kit, _) = kit_that_waits().await;
    let rooms_before = 1;
    kit.close_room("r").await.unwrap();
    let calls: Vec<_> = (0..50)
        .map(|number| {
            let kit = kit.clone();
            let message = InboundMessage::text("a", "u", number.to_string());
            tokio::spawn(async move { kit.process_inbound(message).await.unwrap() })
        })
        .collect();
    for call in calls {
        assert!(!call.await.unwrap().blocked);
    }
    let rooms = kit.list_rooms(RoomFilter::default(), Page::first(9)).await;
    let rooms = rooms.unwrap();
    assert_eq!(rooms.len(), rooms_before + 1);
    assert_eq!(rooms[1].event_count, 1 + 50);
}

/// Edits, one delete and the end of the room, in whatever order they get in.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_that_race_are_versions_in_index_order_and_none_follows_the_delete() {
    for closes in [false, true] {
        let (kit, b) = kit_that_waits().await;
        let target = say("a", "u", "0").addressed_to(Vec::<&str>::new());
        let target = kit.process_inbound(target).await.unwrap().event.unwrap();
        let calls: Vec<_> = (0..60)
            .map(|number| {
                let (kit, id) = (kit.clone(), target.id.clone());
                let content = match number {
                    40 => EventContent::delete(id),
                    _ => EventContent::edit(id, EventContent::text(number.to_string())),
                };
                let change = InboundMessage::new("a", "u", content).in_room("r");
                tokio::spawn(async move { kit.process_inbound(change).await.unwrap() })
            })
            .collect();
        if closes {
            kit.close_room("r").await.unwrap();
        }
        let mut made = 0;
        for call in calls {
            let result = call.await.unwrap();
            match result.reason.as_deref() {
                None => made += 1,
                Some(reason) => {
                    assert!(["room_closed", "target_event_not_found"].contains(&reason));
                }
            }
        }
        assert_no_gap(&kit, "r").await;
        let events = kit.timeline("r", 4, usize::MAX).await.unwrap();
        assert_eq!(events.len(), made);
        let deleted = |content: &EventContent| matches!(content, EventContent::Delete(_));
        let delete = events.iter().position(|event| deleted(&event.content));
        assert!(delete.is_none_or(|at| at + 1 == made));
        let versions = kit.event_versions("r", target.id.clone()).await.unwrap();
        assert_eq!(versions.len(), 1 + made);
        assert_eq!(b.indexes(), (3..4 + made as u64).collect::<Vec<_>>());
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_at_any_call_leaves_no_lock_and_no_gap() {
    let calls = [
        "room",
        "event",
        "idempotent_outcome",
        "commit",
        "done commit",
    ];
    for (broken, nth) in calls
        .iter()
        .flat_map(|call| (1..6).map(move |n| (*call, n)))
    {
        let left = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&left);
        let store = ScriptedStore::new(move |call| {
            let counts = call == broken && counter.load(Ordering::SeqCst) > 0;
            let breaks = counts && counter.fetch_sub(1, Ordering::SeqCst) == 1;
            async move {
                assert!(!breaks, "broken store");
                Ok(())
            }
        });
        let kit = RoomKit::builder().store(store).build().unwrap();
        let channels = vec![
            shared(&Transport::new("a")),
            shared(&Transport::new("b")),
            shared(&agent()),
        ];
        room_of(&kit, channels).await;
        left.store(nth, Ordering::SeqCst);
        let broken_off = kit.process_inbound(say("a", "u", "1").idempotency_key("k"));
        drop(broken_off.await);
        left.store(0, Ordering::SeqCst);
        let started = tokio::time::Instant::now();
        let result = kit.process_inbound(say("a", "u", "2")).await.unwrap();
        assert!(!result.blocked, "{broken} {nth}");
        assert_eq!(started.elapsed().as_secs(), 0, "{broken} {nth}");
        assert_no_gap(&kit, "r").await;
    }
}
