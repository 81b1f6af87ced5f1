//! Many at once: indexes without gap, lanes in order, nobody delayed by another.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::model::{DeliveryOutcome, InboundMessage, RetryPolicy};
use roomkit_core::{ChannelOutput, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_tasks_into_one_room_leave_no_gap_and_deliver_each_once_in_order() {
    const TASKS: u64 = 64;
    const EACH: u64 = 1_000;
    let kit = RoomKit::new();
    let (a, b, c) = (
        Transport::new("a"),
        Transport::new("b"),
        Transport::new("c"),
    );
    let agent = Agent::new("agent", |_, _| async { Ok(ChannelOutput::none()) });
    room_of(
        &kit,
        vec![shared(&a), shared(&b), shared(&c), shared(&agent)],
    )
    .await;
    let attached = 4;

    let senders: Vec<_> = (0..TASKS)
        .map(|task| {
            let kit = kit.clone();
            tokio::spawn(async move {
                for number in 0..EACH {
                    let text = format!("{task}/{number}");
                    let result = kit
                        .process_inbound(say("a", "sender", &text))
                        .await
                        .unwrap();
                    assert!(!result.blocked);
                    assert_eq!(result.delivery_results.len(), 2);
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }

    let all: Vec<u64> = (attached..attached + TASKS * EACH).collect();
    let room = kit.room("r").await.unwrap();
    assert_eq!(room.event_count, attached + TASKS * EACH);
    assert_eq!(room.latest_index, Some(attached + TASKS * EACH - 1));
    let stored = kit.timeline("r", 0, usize::MAX).await.unwrap();
    assert!(
        stored
            .iter()
            .map(|event| event.index)
            .eq(0..attached + TASKS * EACH)
    );
    for channel in [&b, &c] {
        assert_eq!(channel.indexes(), all);
    }
    assert_eq!(agent.heard(), all);
    assert!(a.indexes().is_empty(), "the source does not hear itself");
    let mut texts = timeline_texts(&kit).await;
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len() as u64, TASKS * EACH, "each message once");
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_thinks_for_a_minute_delays_no_other_channel() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let thinker = Agent::new("thinker", |_, _| async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(ChannelOutput::text("hm"))
    });
    room_of(&kit, vec![shared(&a), shared(&b), shared(&thinker)]).await;
    let started = tokio::time::Instant::now();
    let mut handles = Vec::new();
    for number in 0..5 {
        let message = say("a", "alice", &number.to_string());
        let (result, handle) = kit.process_inbound_deferred(message).await.unwrap();
        assert!(!result.blocked);
        handles.push(handle);
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(b.texts(), ["0", "1", "2", "3", "4"]);
    assert!(started.elapsed() < Duration::from_secs(1));

    for handle in handles {
        let settled = handle.wait().await.unwrap();
        assert_eq!(settled.delivery_results.len(), 1, "of b alone");
    }
    assert_eq!(thinker.heard().len(), 5);
    assert_eq!(
        started.elapsed().as_secs(),
        300,
        "one thought after the other"
    );
    assert_eq!(b.texts().iter().filter(|text| *text == "hm").count(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_a_minute_delays_no_other_channel_and_keeps_its_order() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let started = tokio::time::Instant::now();
    let sms = Transport::new("sms").outcomes(move |_| {
        if started.elapsed() < Duration::from_secs(60) {
            DeliveryOutcome::failed_retryable("provider_down", "try later")
        } else {
            DeliveryOutcome::sent()
        }
    });
    kit.create_room("r").await.unwrap();
    for channel in [&a, &b, &sms] {
        kit.register_channel(channel.clone()).unwrap();
    }
    kit.attach_channel("r", "a").await.unwrap();
    kit.attach_channel("r", "b").await.unwrap();
    let retry_policy = RetryPolicy {
        max_retries: 100,
        max_delay_seconds: 2.0,
        ..RetryPolicy::default()
    };
    kit.attach_channel("r", "sms")
        .retry_policy(retry_policy)
        .await
        .unwrap();

    let sent: Vec<_> = (0..10)
        .map(|number| {
            let kit = kit.clone();
            tokio::spawn(async move {
                kit.process_inbound(say("a", "alice", &number.to_string()))
                    .await
                    .unwrap()
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(b.texts().len(), 10, "b has everything at once");
    assert!(sms.texts().is_empty());
    for sent in sent {
        let result = sent.await.unwrap();
        assert!(
            result
                .delivery_results
                .iter()
                .all(|result| result.outcome.is_sent())
        );
    }
    assert_eq!(sms.texts(), b.texts(), "each once, in order");
    assert_eq!(sms.indexes(), (3..13).collect::<Vec<_>>());
}

/// A message that arrives while an agent is busy is kept and answered next.
#[tokio::test(start_paused = true)]
async fn messages_during_a_long_turn_are_all_kept_and_answered_in_order() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |event, _| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        Ok(ChannelOutput::text(format!(
            "re: {}",
            event.text().unwrap_or_default()
        )))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let calls: Vec<_> = (0..8)
        .map(|number| {
            let kit = kit.clone();
            tokio::spawn(async move {
                kit.process_inbound(say("user", "u", &format!("m{number}")))
                    .await
                    .unwrap()
            })
        })
        .collect();
    for call in calls {
        assert!(!call.await.unwrap().blocked);
    }
    let expected: Vec<String> = (0..8).map(|number| format!("re: m{number}")).collect();
    assert_eq!(user.texts(), expected);
    assert_eq!(timeline_texts(&kit).await.len(), 16);
}

/// The wait of a message is bounded: when its room stays locked, it is refused with its reason.
#[tokio::test(start_paused = true)]
async fn a_message_that_waits_too_long_for_its_room_is_refused_and_may_come_again() {
    use roomkit_core::hook::{BeforeBroadcast, HookOptions, HookResult};
    let kit = RoomKit::builder()
        .process_timeout(Duration::from_secs(5))
        .build()
        .unwrap();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user)]).await;
    let slow = HookOptions::new("slow").timeout(Duration::from_secs(600));
    kit.hook(BeforeBroadcast, slow, |event, _| async move {
        if event.text() == Some("slow") {
            tokio::time::sleep(Duration::from_secs(4)).await;
        }
        HookResult::allow()
    });
    let first = {
        let kit = kit.clone();
        tokio::spawn(async move { kit.process_inbound(say("user", "u", "slow")).await.unwrap() })
    };
    let second = {
        let kit = kit.clone();
        tokio::spawn(async move { kit.process_inbound(say("user", "u", "slow")).await.unwrap() })
    };
    assert!(!first.await.unwrap().blocked);
    let refused = second.await.unwrap();
    assert_eq!(
        (refused.blocked, refused.reason.as_deref()),
        (true, Some("process_timeout"))
    );
    let again = kit
        .process_inbound(say("user", "u", "again"))
        .await
        .unwrap();
    assert!(!again.blocked);
    assert_eq!(timeline_texts(&kit).await, ["slow", "again"]);
}

#[tokio::test]
async fn a_lane_that_is_full_fails_visibly_and_holds_nobody() {
    let kit = RoomKit::builder().lane_capacity(1).build().unwrap();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let (release, gate) = tokio::sync::watch::channel(false);
    let stuck = Agent::new("stuck", move |_, _| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            Ok(ChannelOutput::none())
        }
    });
    room_of(&kit, vec![shared(&a), shared(&b), shared(&stuck)]).await;
    let mut handles = Vec::new();
    for number in 0..3 {
        let message = say("a", "alice", &number.to_string());
        handles.push(kit.process_inbound_deferred(message).await.unwrap().1);
        tokio::task::yield_now().await;
    }
    let third = handles.pop().unwrap();
    let result = third.wait().await.unwrap();
    let failed = result
        .delivery("stuck")
        .unwrap()
        .outcome
        .error()
        .unwrap()
        .code
        .clone();
    assert_eq!(failed, "lane_full");
    assert_eq!(b.texts(), ["0", "1", "2"]);
    release.send(true).unwrap();
    for handle in handles {
        handle.wait().await.unwrap();
    }
    assert_eq!(stuck.heard(), [3, 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_first_messages_of_one_sender_make_one_room() {
    for _ in 0..50 {
        let kit = RoomKit::new();
        let sms = Transport::new("sms");
        kit.register_channel(sms.clone()).unwrap();
        // Two other rooms hold the channel, so that the binding alone does not say where to go.
        for room in ["x", "y"] {
            kit.create_room(room).await.unwrap();
            kit.attach_channel(room, "sms").await.unwrap();
        }
        let calls: Vec<_> = (0..4)
            .map(|number| {
                let kit = kit.clone();
                tokio::spawn(async move {
                    let message = InboundMessage::text("sms", "+15550001111", number.to_string());
                    let result = kit.process_inbound(message).await.unwrap();
                    Arc::clone(&result.event.unwrap()).room_id.clone()
                })
            })
            .collect();
        let mut rooms = Vec::new();
        for call in calls {
            rooms.push(call.await.unwrap());
        }
        rooms.dedup();
        assert_eq!(rooms.len(), 1);
    }
}
