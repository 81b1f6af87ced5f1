//! Events of types that are not kept: they pass, and leave no trace in the timeline.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::hook::{AfterBroadcast, BeforeBroadcast, HookResult, InjectedEvent};
use roomkit_core::model::{
    EventContent, EventType, PersistencePolicy, RoomStatus, RoomTimers, TextContent,
};
use roomkit_core::{RoomKit, RoomOptions};
use roomkit_testkit::ManualClock;

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

fn without(types: impl IntoIterator<Item = EventType>) -> PersistencePolicy {
    PersistencePolicy {
        exclude_types: types.into_iter().collect(),
        ..PersistencePolicy::default()
    }
}

fn kit_without(types: impl IntoIterator<Item = EventType>) -> RoomKit {
    RoomKit::builder()
        .persistence_policy(without(types))
        .build()
        .unwrap()
}

#[tokio::test]
async fn an_event_that_is_not_kept_is_delivered_and_answered_and_takes_no_place() {
    let kit = kit_without([EventType::Typing]);
    let (web, other) = (Transport::new("web"), Transport::new("other"));
    let agent = Agent::says("bot", "I see");
    room_of(&kit, vec![shared(&web), shared(&other), shared(&agent)]).await;
    let done = Arc::new(Mutex::new(0));
    let count = Arc::clone(&done);
    kit.hook(AfterBroadcast, "after", move |_, _| {
        *count.lock().unwrap() += 1;
        async {}
    });
    let before = kit.room("r").await.unwrap();
    let typing = say("web", "u", "…").event_type(EventType::Typing);
    let result = kit.process_inbound(typing).await.unwrap();
    kit.wait_idle().await;
    let event = result.event.unwrap();
    assert_eq!((result.blocked, event.index), (false, 0));
    assert!(result.delivery_results[0].outcome.is_sent());
    assert_eq!(
        kit.event("r", &event.id).await.unwrap_err().code(),
        "event_not_found"
    );
    assert_eq!(other.texts(), ["…", "I see"]);
    assert_eq!(timeline_texts(&kit).await, ["I see"]);
    let after = kit.room("r").await.unwrap();
    assert_eq!(
        after.latest_index,
        Some(before.latest_index.unwrap() + 1),
        "the answer's"
    );
    assert_eq!(after.event_count, before.event_count + 1);
    assert_eq!(*done.lock().unwrap(), 2, "both are told to observers");
    assert_eq!(
        kit.participants("r").await.unwrap()[0].id,
        "u",
        "who spoke is known"
    );
}

#[tokio::test(start_paused = true)]
async fn kept_and_passing_events_reach_a_channel_in_the_order_in_which_they_came() {
    let kit = kit_without([EventType::Typing]);
    let slow = Transport::new("slow").slow(Duration::from_millis(1));
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&slow)]).await;
    let mut handles = Vec::new();
    let texts: Vec<String> = (0..20).map(|number| number.to_string()).collect();
    for (number, text) in texts.iter().enumerate() {
        let kind = if number % 3 == 0 {
            EventType::Typing
        } else {
            EventType::Message
        };
        let message = say("web", "u", text).event_type(kind);
        handles.push(kit.process_inbound_deferred(message).await.unwrap().1);
    }
    for handle in handles {
        handle.wait().await.unwrap();
    }
    assert_eq!(slow.texts(), texts);
    let indexes: Vec<_> = kit
        .timeline("r", 0, 99)
        .await
        .unwrap()
        .iter()
        .map(|event| event.index)
        .collect();
    assert_eq!(
        indexes,
        (0..indexes.len() as u64).collect::<Vec<_>>(),
        "without a gap"
    );
}

#[tokio::test]
async fn a_repeat_of_what_was_not_kept_is_known_and_does_nothing() {
    let kit = kit_without([EventType::Message]);
    let other = Transport::new("other");
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&other)]).await;
    let message = || say("web", "u", "once").idempotency_key("k");
    let first = kit.process_inbound(message()).await.unwrap();
    assert!(first.event.is_some());
    let repeat = kit.process_inbound(message()).await.unwrap();
    assert_eq!((repeat.blocked, repeat.event), (false, None));
    assert_eq!(other.texts(), ["once"]);
    let send = || {
        kit.send_event("r", "web", TextContent::new("x"))
            .idempotency_key("s")
    };
    send().await.unwrap();
    assert_eq!(send().await.unwrap_err().code(), "event_not_found");
    assert_eq!(other.texts(), ["once", "x"]);
}

#[tokio::test]
async fn what_is_blocked_or_added_by_a_hook_is_kept_whatever_its_type() {
    let kit = kit_without([EventType::Message, EventType::System]);
    let web = Transport::new("web");
    room_of(&kit, vec![shared(&web), shared(&Transport::new("other"))]).await;
    kit.hook(BeforeBroadcast, "censor", |event, _| async move {
        match event.text() {
            Some("bad") => HookResult::block("bad").inject(InjectedEvent::new(
                EventContent::text("mind your words"),
                ["web"],
            )),
            _ => HookResult::allow(),
        }
    });
    let good = kit.process_inbound(say("web", "u", "good")).await.unwrap();
    let bad = kit.process_inbound(say("web", "u", "bad")).await.unwrap();
    assert!(!good.blocked && bad.blocked);
    assert_eq!(timeline_texts(&kit).await, ["bad", "mind your words"]);
    assert_eq!(web.texts(), ["mind your words"]);
}

#[tokio::test]
async fn only_the_types_that_are_listed_are_kept_where_there_is_a_list() {
    let policy = PersistencePolicy {
        persist_types: Some([EventType::Message, EventType::Edit].into()),
        exclude_types: [EventType::Edit].into(),
    };
    let kit = RoomKit::builder()
        .persistence_policy(policy)
        .build()
        .unwrap();
    let other = Transport::new("other");
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&other)]).await;
    assert_eq!(
        kit.room("r").await.unwrap().latest_index,
        None,
        "no events of channels"
    );
    assert_eq!(
        kit.bindings("r").await.unwrap().len(),
        2,
        "the channels are attached"
    );
    kit.add_member("r", "web", "u").await.unwrap();
    let message = kit
        .process_inbound(say("web", "u", "helo"))
        .await
        .unwrap()
        .event
        .unwrap();
    let edit = serde_json::from_value::<roomkit_core::model::EditContent>(serde_json::json!({
        "target_event_id": message.id, "new_content": { "type": "text", "body": "hello" },
    }));
    let edit = EventContent::from(edit.unwrap());
    let edit = roomkit_core::model::InboundMessage::new("web", "u", edit).in_room("r");
    assert!(!kit.process_inbound(edit).await.unwrap().blocked);
    assert_eq!(
        timeline_texts(&kit).await,
        ["hello"],
        "the edit holds and is no event"
    );
    assert_eq!(kit.event_versions("r", &message.id).await.unwrap().len(), 2);
    assert_eq!(other.calls(), 2);
}

#[tokio::test]
async fn a_room_whose_messages_are_not_kept_is_in_use_all_the_same() {
    let clock = ManualClock::new();
    let kit = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .without_timer_sweeper()
        .persistence_policy(without([EventType::Message]))
        .build()
        .unwrap();
    kit.register_channel(Transport::new("web")).unwrap();
    let timers = RoomTimers::pause_after(60);
    kit.create_room(RoomOptions::new().id("r").timers(timers))
        .await
        .unwrap();
    let status = async |kit: &RoomKit| kit.check_room_timers("r").await.unwrap().status;
    for _ in 0..3 {
        kit.process_inbound(say("web", "u", "hi")).await.unwrap();
        clock.advance(Duration::from_secs(50));
        assert_eq!(status(&kit).await, RoomStatus::Active);
    }
    clock.advance(Duration::from_secs(10));
    assert_eq!(status(&kit).await, RoomStatus::Paused);
    kit.process_inbound(say("web", "u", "back")).await.unwrap();
    assert_eq!(kit.room("r").await.unwrap().status, RoomStatus::Active);
}
