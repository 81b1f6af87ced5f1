//! Closing and dropping a kit: what is under way ends, or is named; no task is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use roomkit_core::hook::{AfterBroadcast, OnChannelAttached, OnChannelMuted, OnRoomClosed};
use roomkit_core::model::{ChannelId, ChannelType, EventContent, RoomStatus};
use roomkit_core::{Channel, ChannelOutput, RoomKit};
use tokio::sync::Notify;

use super::scripted_store::ScriptedStore;
use super::support::{Agent, Transport, room_of, say, shared};

fn thinker(seconds: u64) -> Agent {
    Agent::new("thinker", move |_, _| async move {
        tokio::time::sleep(Duration::from_secs(seconds)).await;
        Ok(ChannelOutput::text("done"))
    })
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_what_is_under_way_and_takes_nothing_new() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user), shared(&thinker(5))]).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    let closing = {
        let kit = kit.clone();
        tokio::spawn(async move { kit.close(Duration::from_secs(60)).await.unwrap() })
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let late = kit.process_inbound(say("user", "u", "late")).await;
    assert_eq!(late.unwrap_err().code(), "kit_closed");
    assert_eq!(kit.create_room("x").await.unwrap_err().code(), "kit_closed");
    turn.wait().await.unwrap();
    assert!(closing.await.unwrap().is_clean());
    assert_eq!(
        user.texts(),
        ["done"],
        "the answer was brought in before the end"
    );
}

#[tokio::test(start_paused = true)]
async fn what_does_not_end_in_time_is_reported_and_aborted() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user), shared(&thinker(3_600))]).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    let report = kit.close(Duration::from_secs(2)).await.unwrap();
    assert_eq!(report.lanes, [("r".into(), "thinker".into())]);
    assert!(report.running >= 1);
    assert_eq!(turn.wait().await.unwrap_err().code(), "kit_closed");
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_handle_leaves_no_task_behind() {
    let metrics = tokio::runtime::Handle::current().metrics();
    let before = metrics.num_alive_tasks();
    let done = Arc::new(AtomicUsize::new(0));
    {
        let kit = RoomKit::new();
        let user = Transport::new("user");
        room_of(&kit, vec![shared(&user), shared(&thinker(3_600))]).await;
        let counter = Arc::clone(&done);
        kit.hook(AfterBroadcast, "slow", move |_, _| {
            let counter = Arc::clone(&counter);
            async move {
                tokio::time::sleep(Duration::from_secs(20)).await;
                counter.fetch_add(1, Ordering::SeqCst);
            }
        });
        kit.on("event_processed", |_| std::future::pending());
        kit.subscribe_room("r", |_| async {}).await.unwrap();
        kit.publish_typing("r", "u", true).await.unwrap();
        let org = kit.org("o");
        kit.process_inbound_deferred(say("user", "u", "hi"))
            .await
            .unwrap();
        tokio::task::yield_now().await;
        assert!(metrics.num_alive_tasks() > before);
        drop(kit);
        assert!(
            metrics.num_alive_tasks() > before,
            "another handle keeps it alive"
        );
        drop(org);
    }
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(metrics.num_alive_tasks(), before);
    assert_eq!(done.load(Ordering::SeqCst), 0);
}

/// A call that was let in before the kit closed, and gets no further until it is closed.
#[tokio::test]
async fn a_call_that_comes_to_its_pass_after_the_close_is_refused() {
    let (gate, shut) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
    let (opens, is_shut) = (Arc::clone(&gate), Arc::clone(&shut));
    let store = ScriptedStore::new(move |call| {
        let waits = call == "room" && is_shut.swap(false, Ordering::SeqCst);
        let opens = Arc::clone(&opens);
        async move {
            if waits {
                opens.notified().await;
            }
            Ok(())
        }
    });
    let kit = RoomKit::builder().store(store).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    shut.store(true, Ordering::SeqCst);
    let late = EventContent::text("late");
    let mut call = kit.send_event("r", "a", late).into_future();
    assert!((&mut call).now_or_never().is_none());
    let closed = kit.close(Duration::from_secs(1)).await.unwrap();
    assert!(closed.is_clean());
    gate.notify_one();
    assert_eq!(call.await.unwrap_err().code(), "kit_closed");
    assert_eq!(kit.mute("r", "a").await.unwrap_err().code(), "kit_closed");
    assert_eq!(kit.room("r").await.unwrap().event_count, 1);
}

/// A channel that does not let go.
struct Clinging(ChannelId);

#[async_trait::async_trait]
impl Channel for Clinging {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Webhook
    }

    async fn close(&self) {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn parts_that_do_not_close_hold_up_a_close_for_their_deadline_alone() {
    for hangs in [true, false] {
        let store = ScriptedStore::new(move |call| async move {
            if call == "close" {
                assert!(hangs, "broken store");
                std::future::pending::<()>().await;
            }
            Ok(())
        });
        let kit = RoomKit::builder().store(store).build().unwrap();
        for number in 0..50 {
            kit.register_channel(Clinging(format!("c{number}").into()))
                .unwrap();
        }
        let started = tokio::time::Instant::now();
        let error = kit.close(Duration::from_secs(5)).await.unwrap_err();
        assert_eq!(error.code(), "store_failed");
        assert!(started.elapsed() <= Duration::from_secs(10));
    }
}

/// Changes of a room are told of whatever becomes of the caller once they have begun.
#[tokio::test]
async fn a_change_whose_caller_goes_away_is_made_and_told_or_neither() {
    for polls in 0..12 {
        let store = ScriptedStore::new(|_| async {
            tokio::task::yield_now().await;
            Ok(())
        });
        let kit = RoomKit::builder().store(store).build().unwrap();
        room_of(&kit, vec![shared(&Transport::new("a"))]).await;
        kit.register_channel(Transport::new("b")).unwrap();
        let told = Arc::new(AtomicUsize::new(0));
        let tell = |amount: usize| {
            let told = Arc::clone(&told);
            move |_, _| {
                told.fetch_add(amount, Ordering::SeqCst);
                async {}
            }
        };
        kit.wait_idle().await;
        kit.hook(OnChannelAttached, "attached", tell(1));
        kit.hook(OnChannelMuted, "muted", tell(10));
        kit.hook(OnRoomClosed, "closed", tell(100));
        give_up_after(polls, kit.attach_channel("r", "b").into_future()).await;
        kit.wait_idle().await;
        give_up_after(polls, kit.mute("r", "a")).await;
        kit.wait_idle().await;
        give_up_after(polls, kit.close_room("r")).await;
        kit.wait_idle().await;
        let made = usize::from(kit.binding("r", "b").await.is_ok())
            + usize::from(kit.binding("r", "a").await.unwrap().muted) * 10
            + usize::from(kit.room("r").await.unwrap().status == RoomStatus::Closed) * 100;
        assert_eq!(told.load(Ordering::SeqCst), made, "{polls}");
        assert_eq!(made, if polls == 0 { 0 } else { 111 }, "{polls}");
    }
}

async fn give_up_after(polls: usize, call: impl Future) {
    let mut call = Box::pin(call);
    for _ in 0..polls {
        if (&mut call).now_or_never().is_some() {
            return;
        }
        tokio::task::yield_now().await;
    }
}
