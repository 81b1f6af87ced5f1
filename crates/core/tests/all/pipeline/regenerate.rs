//! Messages that are answered again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use roomkit_core::hook::{AfterBroadcast, BeforeBroadcast, HookResult, OnEventUpdated};
use roomkit_core::model::{
    DeleteContent, EditContent, EventContent, InboundMessage, RoomEvent, TextContent,
};
use roomkit_core::{ChannelOutput, Error, RoomKit};
use tokio::sync::Notify;

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

/// An agent that counts its answers, and keeps what it was shown of the history.
fn counting(id: &'static str, seen: &Arc<Mutex<Vec<Vec<String>>>>) -> Agent {
    let (seen, turns) = (Arc::clone(seen), Arc::new(AtomicUsize::new(0)));
    Agent::new(id, move |event, context| {
        let (seen, turn) = (Arc::clone(&seen), turns.fetch_add(1, Ordering::SeqCst) + 1);
        async move {
            if event.source.channel_id != "web" {
                return Ok(ChannelOutput::none());
            }
            let history = context.recent_events(50).await?;
            let texts = history.events.iter().filter_map(|event| event.text());
            seen.lock()
                .unwrap()
                .push(texts.map(str::to_owned).collect());
            let body = event.text().unwrap_or_default();
            Ok(ChannelOutput::text(format!("{id} {turn}: {body}")))
        }
    })
}

async fn answered() -> (RoomKit, Transport, Arc<Mutex<Vec<Vec<String>>>>) {
    let kit = RoomKit::new();
    let (web, seen) = (Transport::new("web"), Arc::default());
    let other = Transport::new("other");
    let channels = vec![
        shared(&web),
        shared(&other),
        shared(&counting("bot", &seen)),
    ];
    room_of(&kit, channels).await;
    kit.process_inbound(say("web", "u", "first")).await.unwrap();
    (kit, web, seen)
}

async fn events(kit: &RoomKit) -> Vec<Arc<RoomEvent>> {
    kit.timeline("r", 0, 1_000).await.unwrap()
}

fn change(kind: &str, target: &RoomEvent, text: &str) -> EventContent {
    let mut value = serde_json::json!({ "target_event_id": target.id });
    if kind == "edit" {
        value["new_content"] = serde_json::json!({ "type": "text", "body": text });
        return serde_json::from_value::<EditContent>(value).unwrap().into();
    }
    serde_json::from_value::<DeleteContent>(value)
        .unwrap()
        .into()
}

#[tokio::test]
async fn the_agent_answers_again_and_its_earlier_answer_is_superseded() {
    let (kit, web, seen) = answered().await;
    let (hooks, updated) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(0)));
    let noted = Arc::clone(&hooks);
    kit.hook(BeforeBroadcast, "before", move |event, _| {
        noted
            .lock()
            .unwrap()
            .push(event.text().unwrap_or_default().to_owned());
        async { HookResult::allow() }
    });
    let noted = Arc::clone(&hooks);
    kit.hook(AfterBroadcast, "after", move |event, _| {
        noted
            .lock()
            .unwrap()
            .push(format!("after {}", event.text().unwrap_or_default()));
        async {}
    });
    let count = Arc::clone(&updated);
    kit.hook(OnEventUpdated, "updated", move |event, _| {
        assert!(event.superseded_by().is_some());
        *count.lock().unwrap() += 1;
        async {}
    });
    let target = kit.regenerate_target("r").await.unwrap().unwrap();
    assert_eq!(target.text(), Some("first"));
    let again = kit
        .regenerate_response("r")
        .trigger(&target.id)
        .await
        .unwrap()
        .unwrap();
    assert!(!again.blocked);
    assert_eq!(again.event.unwrap().id, target.id);
    kit.wait_idle().await;
    assert_eq!(
        timeline_texts(&kit).await,
        ["first", "bot 1: first", "bot 2: first"]
    );
    let stored = events(&kit).await;
    let [.., old, new] = &*stored else {
        panic!("two answers")
    };
    assert_eq!(old.superseded_by().as_ref(), Some(&new.id));
    assert_eq!(
        (old.is_edited(), old.is_deleted(), new.superseded_by()),
        (false, false, None)
    );
    assert_eq!(new.chain_depth, old.chain_depth);
    assert_eq!(*updated.lock().unwrap(), 1);
    assert_eq!(
        *hooks.lock().unwrap(),
        ["bot 2: first", "after bot 2: first"],
        "those of the message do not run again"
    );
    assert_eq!(
        web.texts(),
        ["bot 1: first", "bot 2: first"],
        "nobody gets the message again"
    );
    assert_eq!(
        *seen.lock().unwrap(),
        [["first"], ["first"]],
        "the old answer is no history"
    );
    kit.regenerate_response("r").await.unwrap();
    let stored = events(&kit).await;
    let superseded = stored
        .iter()
        .filter(|event| event.superseded_by().is_some());
    assert_eq!(superseded.count(), 2);
    assert_eq!(
        stored[stored.len() - 3].superseded_by().as_ref(),
        Some(&new.id),
        "by the next"
    );
}

#[tokio::test]
async fn a_trigger_that_was_edited_is_answered_with_its_new_words() {
    let (kit, _, _) = answered().await;
    let target = kit.regenerate_target("r").await.unwrap().unwrap();
    let edit = InboundMessage::new("web", "u", change("edit", &target, "better")).in_room("r");
    assert!(!kit.process_inbound(edit).await.unwrap().blocked);
    assert_eq!(
        kit.regenerate_target("r").await.unwrap().unwrap().text(),
        Some("better")
    );
    let again = kit
        .regenerate_response("r")
        .trigger(&target.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!((again.blocked, again.reason), (false, None));
    let last = events(&kit).await.pop().unwrap();
    assert_eq!(last.text(), Some("bot 2: better"));
}

#[tokio::test]
async fn a_trigger_that_was_deleted_or_is_no_longer_the_newest_has_moved() {
    let (kit, _, seen) = answered().await;
    let first = kit.regenerate_target("r").await.unwrap().unwrap();
    kit.process_inbound(say("web", "u", "second"))
        .await
        .unwrap();
    let second = kit.regenerate_target("r").await.unwrap().unwrap();
    assert_eq!(second.text(), Some("second"));
    let asked = seen.lock().unwrap().len();
    let count = events(&kit).await.len();
    let moved = kit
        .regenerate_response("r")
        .trigger(&first.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(moved.reason.as_deref(), Some("trigger_moved"));
    assert!(moved.blocked && moved.event.is_none());
    let delete = InboundMessage::new("web", "u", change("delete", &second, "")).in_room("r");
    assert!(!kit.process_inbound(delete).await.unwrap().blocked);
    let moved = kit
        .regenerate_response("r")
        .trigger(&second.id)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(moved.reason.as_deref(), Some("trigger_moved"));
    assert_eq!(seen.lock().unwrap().len(), asked, "nobody was asked");
    assert_eq!(events(&kit).await.len(), count + 1, "the delete alone");
    assert_eq!(
        kit.regenerate_target("r").await.unwrap().unwrap().id,
        first.id
    );
    let unknown = kit
        .regenerate_response("r")
        .trigger("gone")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(unknown.reason.as_deref(), Some("trigger_moved"));
}

#[tokio::test]
async fn only_messages_that_were_accepted_from_a_transport_are_answered_again() {
    let kit = RoomKit::new();
    let seen = Arc::default();
    room_of(
        &kit,
        vec![
            shared(&Transport::new("web")),
            shared(&counting("bot", &seen)),
        ],
    )
    .await;
    assert!(kit.regenerate_target("r").await.unwrap().is_none());
    assert!(kit.regenerate_response("r").await.unwrap().is_none());
    let moved = kit
        .regenerate_response("r")
        .trigger("x")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(moved.reason.as_deref(), Some("trigger_moved"));
    kit.send_event("r", "system", TextContent::new("notice"))
        .await
        .unwrap();
    kit.send_event("r", "bot", TextContent::new("unasked"))
        .await
        .unwrap();
    assert!(kit.regenerate_target("r").await.unwrap().is_none());
    kit.process_inbound(say("web", "u", "one")).await.unwrap();
    kit.hook(BeforeBroadcast, "censor", |event, _| async move {
        if event.text() == Some("bad") {
            HookResult::block("bad")
        } else {
            HookResult::allow()
        }
    });
    kit.process_inbound(say("web", "u", "bad")).await.unwrap();
    assert_eq!(
        kit.regenerate_target("r").await.unwrap().unwrap().text(),
        Some("one")
    );
    kit.mute("r", "web").await.unwrap();
    assert!(
        kit.regenerate_target("r").await.unwrap().is_none(),
        "it may no longer write"
    );
    kit.unmute("r", "web").await.unwrap();
    kit.detach_channel("r", "web").await.unwrap();
    assert!(kit.regenerate_target("r").await.unwrap().is_none());
}

#[tokio::test]
async fn a_closed_room_answers_nothing_again() {
    let (kit, _, _) = answered().await;
    kit.close_room("r").await.unwrap();
    let target = kit.regenerate_target("r").await.unwrap_err();
    assert_eq!(target.code(), "room_closed");
    let refused = kit
        .regenerate_response("r")
        .trigger("gone")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (refused.blocked, refused.reason.as_deref()),
        (true, Some("room_closed"))
    );
    kit.reopen_room("r").await.unwrap();
    assert!(!kit.regenerate_response("r").await.unwrap().unwrap().blocked);
}

#[tokio::test]
async fn an_agent_that_fails_leaves_its_earlier_answer_as_it_is() {
    let kit = RoomKit::new();
    let turns = Arc::new(AtomicUsize::new(0));
    let agent = Agent::new("bot", move |_, _| {
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        async move {
            if turn == 0 {
                return Ok(ChannelOutput::text("answer"));
            }
            Err(Error::channel("the model is away"))
        }
    });
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&agent)]).await;
    kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    let again = kit.regenerate_response("r").await.unwrap().unwrap();
    assert_eq!(
        again.error.as_deref(),
        Some("channel_failed: the model is away")
    );
    let last = events(&kit).await.pop().unwrap();
    assert_eq!((last.text(), last.superseded_by()), (Some("answer"), None));
}

#[tokio::test]
async fn an_answer_that_is_under_way_comes_before_the_one_that_replaces_it() {
    let kit = RoomKit::new();
    let (go, turns) = (Arc::new(Notify::new()), Arc::new(AtomicUsize::new(0)));
    let waits = Arc::clone(&go);
    let agent = Agent::new("bot", move |_, _| {
        let (waits, turn) = (Arc::clone(&waits), turns.fetch_add(1, Ordering::SeqCst) + 1);
        async move {
            if turn == 1 {
                waits.notified().await;
            }
            Ok(ChannelOutput::text(format!("{turn}")))
        }
    });
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&agent)]).await;
    let (_, handle) = kit
        .process_inbound_deferred(say("web", "u", "hi"))
        .await
        .unwrap();
    let again = tokio::spawn({
        let kit = kit.clone();
        async move { kit.regenerate_response("r").await }
    });
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
    go.notify_one();
    handle.wait().await.unwrap();
    again.await.unwrap().unwrap();
    assert_eq!(timeline_texts(&kit).await, ["hi", "1", "2"]);
    let stored = events(&kit).await;
    assert_eq!(
        stored[stored.len() - 2].superseded_by(),
        Some(stored[stored.len() - 1].id.clone())
    );
}

#[tokio::test]
async fn a_caller_that_gives_up_stops_nothing() {
    use futures_util::FutureExt;

    let (kit, _, _) = answered().await;
    drop(kit.regenerate_response("r").into_future().now_or_never());
    kit.wait_idle().await;
    assert_eq!(
        timeline_texts(&kit).await,
        ["first", "bot 1: first", "bot 2: first"]
    );
}
