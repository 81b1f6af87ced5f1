//! The spans of one message, one answer, one delivery that fails: names, fields, and what is in what.

use std::sync::Arc;

use roomkit_core::hook::{
    AfterBroadcast, BeforeBroadcast, BoxError, HookPoint, HookResult, HookTrigger,
};
use roomkit_core::model::{DeliveryOutcome, Identity, TextContent};
use roomkit_core::telemetry::SpanName;
use roomkit_core::{ChannelOutput, Error, RoomKit};
use roomkit_testkit::{ManualClock, MockIdentityResolver};

use super::subscriber::{Ear, Heard};
use crate::pipeline::support::{Agent, Transport, room_of, say, shared};

async fn kit_with(agent: &Agent, other: &Transport) -> RoomKit {
    let resolver = MockIdentityResolver::new().knows("alice", Identity::new("i"));
    let kit = RoomKit::builder()
        .clock(Arc::new(ManualClock::new()))
        .identity(Arc::new(resolver))
        .build()
        .unwrap();
    kit.hook(BeforeBroadcast, "first", |event, _| async move {
        let mut event = event;
        event.insert_metadata("seen", true);
        HookResult::modify(event)
    });
    kit.hook(BeforeBroadcast, "slow", |_, _| async {
        tokio::task::yield_now().await;
        HookResult::allow()
    });
    kit.hook(AfterBroadcast, "audit", |_, _| async {});
    room_of(
        &kit,
        vec![shared(&Transport::new("a")), shared(other), shared(agent)],
    )
    .await;
    kit
}

/// The only span of a name with this field, where a field is asked for.
fn only<'a>(spans: &'a [Heard], name: &str, field: Option<(&str, &str)>) -> &'a Heard {
    let found: Vec<_> = spans
        .iter()
        .filter(|span| span.name == name)
        .filter(|span| field.is_none_or(|(field, value)| span.get(field) == Some(value)))
        .collect();
    let [span] = found[..] else {
        panic!("{name} {field:?}: {found:?}")
    };
    span
}

#[tokio::test]
async fn a_message_and_its_answer_are_one_tree() {
    let agent = Agent::new("bot", |event, _| async move {
        Ok(match event.source.channel_id.as_str() {
            "a" => ChannelOutput::text("hello"),
            _ => ChannelOutput::none(),
        })
    });
    let kit = kit_with(&agent, &Transport::new("b")).await;
    let (ear, _guard) = Ear::listen();
    let result = kit.process_inbound(say("a", "alice", "hi")).await.unwrap();
    kit.wait_idle().await;

    assert_eq!(
        ear.tree(),
        "\
process_inbound
  identity_resolve
  hook_execution
  hook_execution
  store_event
  broadcast
    deliver
    ai_generate
    hook_execution
  process_reply
    hook_execution
    hook_execution
    store_event
  broadcast
    deliver
    deliver
    hook_execution
"
    );
    let spans = ear.spans();
    let event = result.event.unwrap();
    let root = only(&spans, "process_inbound", None);
    assert_eq!(root.get("room_id"), Some("r"));
    assert_eq!(root.get("channel_id"), Some("a"));
    assert_eq!(root.get("event_id"), Some(event.id.as_str()));
    assert_eq!(root.get("status"), Some("ok"));
    assert_eq!(root.get("latency_ms"), Some("0.0"), "by the kit's clock");
    let identity = only(&spans, "identity_resolve", None);
    assert_eq!(identity.get("identification"), Some("identified"));
    let modified = spans
        .iter()
        .find(|span| span.get("hook") == Some("first"))
        .unwrap();
    assert_eq!(modified.get("result"), Some("modify"));
    assert_eq!(modified.get("execution"), Some("sync"));
    assert_eq!(modified.get("trigger"), Some("before_broadcast"));
    let turn = only(&spans, "ai_generate", None);
    assert_eq!(turn.get("channel_id"), Some("bot"));
    assert_eq!(turn.get("event_id"), Some(event.id.as_str()));
    let reply = only(&spans, "process_reply", None);
    assert_eq!(reply.get("trigger_id"), Some(event.id.as_str()));
    assert_eq!(reply.get("chain_depth"), Some("1"));
    let to_b = only(&spans, "deliver", Some(("event_id", event.id.as_str())));
    assert_eq!(to_b.get("attempts"), Some("1"));
    assert_eq!(to_b.get("wait_ms"), Some("0.0"));
    for span in &spans {
        assert_eq!(span.get("status"), Some("ok"), "{span:?}");
        assert!(span.get("latency_ms").is_some(), "{span:?}");
    }
}

#[tokio::test]
async fn what_fails_says_so_in_its_span() {
    let agent = Agent::new("bot", |_, _| async { Err(Error::channel("no answer")) });
    let failing = Transport::new("b").outcomes(|_| DeliveryOutcome::failed("no_route", "gone"));
    let kit = kit_with(&agent, &failing).await;
    kit.hook(BeforeBroadcast, "broken", |_, _| async {
        Err::<HookResult<_>, BoxError>("broken".into())
    });
    let (ear, _guard) = Ear::listen();
    kit.process_inbound(say("a", "alice", "hi")).await.unwrap();
    kit.wait_idle().await;
    let spans = ear.spans();
    let deliver = only(&spans, "deliver", None);
    assert_eq!(deliver.get("status"), Some("error"));
    assert_eq!(deliver.get("error_code"), Some("no_route"));
    let turn = only(&spans, "ai_generate", None);
    assert_eq!(turn.get("error_code"), Some("channel_failed"));
    let hook = only(&spans, "hook_execution", Some(("hook", "broken")));
    assert_eq!(hook.get("error_code"), Some("hook_failed"));
    let broadcast = only(&spans, "broadcast", None);
    assert_eq!(broadcast.get("targets"), Some("2"));
    assert_eq!(broadcast.get("failed"), Some("2"));
    assert_eq!(
        only(&spans, "process_inbound", None).get("status"),
        Some("ok")
    );

    let unknown = kit.process_inbound(say("nowhere", "u", "x")).await;
    assert_eq!(unknown.unwrap_err().code(), "channel_not_registered");
    let refused = only(
        &ear.spans(),
        "process_inbound",
        Some(("channel_id", "nowhere")),
    )
    .clone();
    assert_eq!(refused.get("error_code"), Some("channel_not_registered"));
    kit.close_room("r").await.unwrap();
    kit.process_inbound(say("a", "alice", "late"))
        .await
        .unwrap();
    let closed = only(
        &ear.spans(),
        "process_inbound",
        Some(("reason", "room_closed")),
    )
    .clone();
    assert_eq!(closed.get("status"), Some("ok"));
}

#[tokio::test]
async fn an_event_of_the_application_and_a_deferred_message_have_spans_to_their_end() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    room_of(&kit, vec![shared(&a), shared(&b)]).await;
    let (ear, _guard) = Ear::listen();
    kit.send_event("r", "a", TextContent::new("x"))
        .await
        .unwrap();
    let (_, handle) = kit
        .process_inbound_deferred(say("a", "u", "y"))
        .await
        .unwrap();
    let open = only(&ear.spans(), "process_inbound", None).clone();
    assert_eq!(open.get("status"), None, "its deliveries are still to come");
    handle.wait().await.unwrap();
    assert_eq!(
        ear.tree(),
        "\
send_event
  store_event
  broadcast
    deliver
process_inbound
  store_event
  broadcast
    deliver
"
    );
    assert!(
        ear.spans()
            .iter()
            .all(|span| span.get("status") == Some("ok"))
    );
}

/// A span says what its name promises, and nothing else.
#[tokio::test]
async fn fields_are_those_of_the_list() {
    let agent = Agent::says("bot", "hello");
    let kit = kit_with(&agent, &Transport::new("b")).await;
    let (ear, _guard) = Ear::listen();
    kit.process_inbound(say("a", "alice", "hi")).await.unwrap();
    kit.wait_idle().await;
    let spans = ear.spans();
    for span in &spans {
        let name = SpanName::ALL.iter().find(|name| name.as_str() == span.name);
        let known = name.unwrap().fields();
        assert!(
            span.fields.keys().all(|field| known.contains(field)),
            "{span:?}"
        );
    }
    let mut names: Vec<_> = spans.iter().map(|span| span.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(
        names.len(),
        SpanName::ALL.len() - 1,
        "all but send_event: {names:?}"
    );
}

/// A point as a channel of voice fires it many times a second.
struct Level;

impl HookPoint for Level {
    type Payload = u8;
    type Returns = ();
    const TRIGGER: HookTrigger = HookTrigger::OnInputAudioLevel;
}

#[tokio::test]
async fn levels_of_audio_have_no_spans() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    let (heard, mut hears) = tokio::sync::mpsc::unbounded_channel();
    kit.hook(Level, "level", move |level, _| {
        let heard = heard.clone();
        async move { heard.send(level).unwrap() }
    });
    let (ear, _guard) = Ear::listen();
    kit.run_hooks(Level, "r", 7).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(hears.try_recv().unwrap(), 7);
    assert!(ear.spans().is_empty());
}

#[tokio::test]
async fn nobody_listens_and_nothing_is_made() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    room_of(&kit, vec![shared(&a), shared(&b)]).await;
    kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert!(!kit.telemetry().is_enabled());
    assert!(!kit.trace_emitter("a").is_enabled());
}
