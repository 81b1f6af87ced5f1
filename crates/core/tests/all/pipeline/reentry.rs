//! Answers: passes of their own, in order, bounded in depth; and what a caller gets to wait for.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, stream};
use roomkit_core::channel::Delta;
use roomkit_core::model::{AgentResponsePolicy, TextContent};
use roomkit_core::{ChannelOutput, Error, Reply, RoomKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

#[tokio::test(start_paused = true)]
async fn answers_commit_as_they_come_and_a_slow_one_holds_up_no_quick_one() {
    let kit = RoomKit::builder()
        .agent_response_policy(AgentResponsePolicy::AddressedOnly)
        .build()
        .unwrap();
    let user = Transport::new("user");
    let slow = Agent::new("slow", |_, _| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ChannelOutput::text("slow"))
    });
    let quick = Agent::says("quick", "quick");
    room_of(&kit, vec![shared(&user), shared(&slow), shared(&quick)]).await;
    let (_, handle) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(user.texts(), ["quick"]);
    handle.wait().await.unwrap();
    assert_eq!(user.texts(), ["quick", "slow"]);
}

#[tokio::test]
async fn a_message_commits_between_a_question_and_its_answer() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let (open, gate) = tokio::sync::watch::channel(false);
    let agent = Agent::new("agent", move |event, _| {
        let mut gate = gate.clone();
        async move {
            gate.wait_for(|open| *open).await.unwrap();
            Ok(ChannelOutput::text(format!("re {}", event.text().unwrap())))
        }
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let first = kit
        .process_inbound_deferred(say("user", "u", "1"))
        .await
        .unwrap()
        .1;
    let second = kit
        .process_inbound_deferred(say("user", "u", "2"))
        .await
        .unwrap()
        .1;
    open.send(true).unwrap();
    first.wait().await.unwrap();
    second.wait().await.unwrap();
    assert_eq!(timeline_texts(&kit).await, ["1", "2", "re 1", "re 2"]);
}

#[tokio::test]
async fn several_answers_side_effects_and_metadata_of_one_turn_are_kept() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, ctx| async move {
        let mut output = ChannelOutput::text("one")
            .with_task(ctx.task("follow up"))
            .with_observation(ctx.observation("mood", "good"))
            .with_metadata_update("phase", "handled");
        if let roomkit_core::channel::Response::Replies(replies) = &mut output.response {
            replies.push(Reply::text("two"));
        }
        Ok(output)
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    assert_eq!(user.texts(), ["one", "two"]);
    assert_eq!(kit.tasks("r").await.unwrap().len(), 1);
    assert_eq!(kit.observations("r").await.unwrap()[0].channel_id, *"agent");
    let room = kit.room("r").await.unwrap();
    assert_eq!(room.metadata.get("phase"), Some(&"handled".into()));
}

#[tokio::test(start_paused = true)]
async fn a_room_that_closes_during_a_turn_refuses_the_answer_and_keeps_its_side_effects() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, ctx| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ChannelOutput::text("too late").with_task(ctx.task("call back")))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    kit.close_room("r").await.unwrap();
    turn.wait().await.unwrap();
    assert_eq!(timeline_texts(&kit).await, ["hi"]);
    assert!(user.texts().is_empty());
    assert_eq!(kit.tasks("r").await.unwrap()[0].title, "call back");
}

#[tokio::test(start_paused = true)]
async fn an_agent_detached_during_its_turn_is_blocked() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, _| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ChannelOutput::text("still here?"))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let (_, turn) = kit
        .process_inbound_deferred(say("user", "u", "hi"))
        .await
        .unwrap();
    kit.detach_channel("r", "agent").await.unwrap();
    turn.wait().await.unwrap();
    let last = kit.timeline("r", 4, 1).await.unwrap().remove(0);
    assert_eq!(last.blocked_by.as_deref(), Some("source_unbound"));
    assert!(user.texts().is_empty());
}

#[tokio::test]
async fn the_depth_limit_holds_whatever_the_number_and_cannot_be_zero() {
    assert_eq!(
        RoomKit::builder()
            .max_chain_depth(0)
            .build()
            .unwrap_err()
            .code(),
        "invalid_input"
    );
    for limit in 1..6 {
        let kit = RoomKit::builder().max_chain_depth(limit).build().unwrap();
        let user = Transport::new("user");
        let (x, y) = (Agent::says("x", "x"), Agent::says("y", "y"));
        room_of(&kit, vec![shared(&user), shared(&x), shared(&y)]).await;
        kit.process_inbound(say("user", "u", "go")).await.unwrap();
        let events = kit.timeline("r", 3, 1_000).await.unwrap();
        let deepest = events.iter().map(|event| event.chain_depth).max().unwrap();
        assert_eq!(deepest, limit);
        for event in events {
            assert_eq!(event.is_blocked(), event.chain_depth == limit, "{limit}");
        }
    }
}

#[tokio::test]
async fn a_streamed_answer_is_committed_whole_and_what_was_said_before_an_error_is_kept() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |event, _| async move {
        let breaks = event.text() == Some("break");
        let mut deltas = vec![
            Ok(Delta::Thinking("hm".into())),
            Ok(Delta::Text("Got ".into())),
            Ok(Delta::Text("it".into())),
        ];
        if breaks {
            deltas.push(Err(Error::channel("connection lost")));
        }
        Ok(ChannelOutput::stream(stream::iter(deltas).boxed()))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    kit.process_inbound(say("user", "u", "break"))
        .await
        .unwrap();
    assert_eq!(user.texts(), ["Got it", "Got it"]);
    let last = user.events().pop().unwrap();
    assert_eq!(
        last.metadata.get("stream_error"),
        Some(&"channel_failed".into())
    );
}

/// The caller may go away at any await; what has begun goes on to its end.
#[tokio::test(start_paused = true)]
async fn a_dropped_call_goes_on_to_its_end() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, _| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(ChannelOutput::text("done"))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let mut call = Box::pin(kit.process_inbound(say("user", "u", "hi")));
    assert!((&mut call).now_or_never().is_none());
    drop(call);
    kit.wait_idle().await;
    assert_eq!(timeline_texts(&kit).await, ["hi", "done"]);
    assert_eq!(user.texts(), ["done"]);
}

/// A call that is neither polled on nor dropped holds up nobody else.
#[tokio::test(start_paused = true)]
async fn a_call_that_is_no_longer_polled_holds_nobody_up() {
    let kit = RoomKit::new();
    let (a, b) = (
        Transport::new("a"),
        Transport::new("b").slow(Duration::from_secs(1)),
    );
    room_of(&kit, vec![shared(&a), shared(&b)]).await;
    let mut forgotten = Box::pin(kit.process_inbound(say("a", "u", "1")));
    assert!((&mut forgotten).now_or_never().is_none());
    kit.process_inbound(say("a", "u", "2")).await.unwrap();
    assert_eq!(b.texts(), ["1", "2"]);
    forgotten.await.unwrap();
}

/// A tool that sends into the agent's own room while the agent is busy does not wait for the agent.
#[tokio::test(start_paused = true)]
async fn an_agent_may_send_into_its_own_room_during_its_turn() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let weak = kit.downgrade();
    let events = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&events);
    let agent = Agent::new("agent", move |event, _| {
        let (kit, seen) = (weak.upgrade().unwrap(), Arc::clone(&seen));
        async move {
            if event.text() != Some("work") {
                return Ok(ChannelOutput::none());
            }
            let sent = kit
                .send_event("r", "user", TextContent::new("half way"))
                .await?;
            seen.lock().unwrap().push(sent.index);
            Ok(ChannelOutput::text("done"))
        }
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let started = tokio::time::Instant::now();
    kit.process_inbound(say("user", "u", "work")).await.unwrap();
    kit.wait_idle().await;
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "nobody waited for a timeout"
    );
    assert_eq!(*events.lock().unwrap(), [3]);
    assert_eq!(timeline_texts(&kit).await, ["work", "half way", "done"]);
    assert_eq!(agent.heard(), [2, 3]);
}

#[tokio::test]
async fn the_result_has_the_metadata_of_the_agent_that_replied_first() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = |id: &'static str| {
        Agent::new(id, move |event, _| async move {
            let mut output = match event.chain_depth {
                0 => ChannelOutput::text("hi"),
                _ => ChannelOutput::none(),
            };
            output.response_metadata.insert("model", id);
            output.response_metadata.insert(id, event.chain_depth);
            Ok(output)
        })
    };
    let (x, y) = (agent("x"), agent("y"));
    room_of(&kit, vec![shared(&user), shared(&x), shared(&y)]).await;
    let result = kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    let expected = [("model", "x".into()), ("x", serde_json::json!(0))];
    assert_eq!(result.response_metadata, expected.into_iter().collect());
}
