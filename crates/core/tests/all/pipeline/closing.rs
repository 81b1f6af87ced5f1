//! Closing and dropping a kit: what is under way ends, or is named; no task is left behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use roomkit_core::hook::AfterBroadcast;
use roomkit_core::{ChannelOutput, RoomKit};

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
