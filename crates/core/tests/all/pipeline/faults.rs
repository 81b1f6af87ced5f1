//! A store, a backend or a channel that fails, hangs or panics where others wait: whoever called is told
//! what is so, and the room goes on. Every step of every part is in the table of `tests/faults`.

use std::future::pending;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use roomkit_core::channel::Delta;
use roomkit_core::hook::{BeforeBroadcast, Hook, HookResult, InjectedEvent, OnError};
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, DeliveryOutcome, EphemeralEvent, EventContent,
    RoomEvent, RoomId, RoomStatus, RoomTimers, SubscriptionId,
};
use roomkit_core::store::EventQuery;
use roomkit_core::sync::{EphemeralHandler, RealtimeBackend};
use roomkit_core::{
    Channel, ChannelOutput, Error, ErrorKind, Result, RoomContext, RoomKit, RoomOptions,
};

use super::scripted_store::ScriptedStore;
use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    Error(ErrorKind),
    Hang,
    Panic,
}

/// What goes wrong, and at which of the next calls of a name.
type Plan = Arc<Mutex<Vec<(&'static str, usize, Fault)>>>;

/// A store that does what is planned at each call.
fn faulty(plan: &Plan) -> Arc<ScriptedStore> {
    let plan = Arc::clone(plan);
    ScriptedStore::new(move |call| {
        let mut plan = plan.lock().unwrap();
        let planned = plan.iter_mut().position(|(name, left, _)| {
            let is_it = *name == call && *left == 0;
            *left -= usize::from(*name == call && *left > 0);
            is_it
        });
        let fault = planned.map(|at| plan.remove(at).2);
        async move {
            match fault {
                None => Ok(()),
                Some(Fault::Error(kind)) => Err(Error::new(kind, "planned")),
                Some(Fault::Hang) => pending().await,
                Some(Fault::Panic) => panic!("planned"),
            }
        }
    })
}

struct Stage {
    kit: RoomKit,
    plan: Plan,
    b: Transport,
    timeouts: Arc<AtomicUsize>,
}

async fn stage() -> Stage {
    let plan = Plan::default();
    let kit = RoomKit::builder().store(faulty(&plan)).build().unwrap();
    let b = Transport::new("b");
    room_of(&kit, vec![shared(&Transport::new("a")), shared(&b)]).await;
    let timeouts = Arc::<AtomicUsize>::default();
    let heard = Arc::clone(&timeouts);
    kit.on("process_timeout", move |_| {
        heard.fetch_add(1, Ordering::SeqCst);
        async {}
    });
    kit.wait_idle().await;
    Stage {
        kit,
        plan,
        b,
        timeouts,
    }
}

impl Stage {
    fn plan(&self, call: &'static str, nth: usize, fault: Fault) {
        self.plan.lock().unwrap().push((call, nth, fault));
    }

    /// Somebody else speaks and is heard at once.
    async fn goes_on(&self) {
        let before = tokio::time::Instant::now();
        let result = self.kit.process_inbound(say("a", "v", "next")).await;
        assert!(!result.unwrap().blocked);
        assert_eq!(self.b.texts().last().map(String::as_str), Some("next"));
        assert!(before.elapsed().is_zero());
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_whose_answer_is_lost_is_looked_for_and_delivered() {
    for fault in [
        Fault::Error(ErrorKind::OutcomeUnknown),
        Fault::Error(ErrorKind::StoreFailed),
        Fault::Panic,
        Fault::Hang,
    ] {
        let stage = stage().await;
        stage.plan("done commit", 0, fault);
        let result = stage.kit.process_inbound(say("a", "u", "1")).await.unwrap();
        assert!(result.delivery("b").unwrap().outcome.is_sent(), "{fault:?}");
        stage.goes_on().await;
        assert_eq!(timeline_texts(&stage.kit).await, ["1", "next"]);
        let told = stage.timeouts.load(Ordering::SeqCst);
        assert_eq!(told, usize::from(fault == Fault::Hang));
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_without_answer_has_an_unknown_outcome_and_lets_go_of_the_room() {
    for (fault, code) in [
        (Fault::Error(ErrorKind::StoreFailed), "store_failed"),
        (Fault::Panic, "outcome_unknown"),
        (Fault::Hang, "outcome_unknown"),
    ] {
        let stage = stage().await;
        stage.plan("commit", 0, fault);
        let message = || say("a", "u", "1").idempotency_key("k");
        let error = stage.kit.process_inbound(message()).await.unwrap_err();
        assert_eq!(error.code(), code);
        stage.goes_on().await;
        stage.kit.process_inbound(message()).await.unwrap();
        stage.kit.process_inbound(message()).await.unwrap();
        assert_eq!(timeline_texts(&stage.kit).await, ["next", "1"]);
    }
}

/// The store did it, and cannot be asked.
#[tokio::test(start_paused = true)]
async fn what_cannot_be_looked_for_is_unknown_and_a_repeat_finds_it() {
    for fault in [Fault::Error(ErrorKind::StoreFailed), Fault::Hang] {
        let stage = stage().await;
        stage.plan("done commit", 0, Fault::Panic);
        stage.plan("event", 0, fault);
        let message = || say("a", "u", "1").idempotency_key("k");
        let error = stage.kit.process_inbound(message()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutcomeUnknown);
        stage.goes_on().await;
        let again = stage.kit.process_inbound(message()).await.unwrap();
        assert_eq!(again.event.unwrap().text(), Some("1"));
        assert_eq!(timeline_texts(&stage.kit).await, ["1", "next"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_hangs_or_panics_at_a_change_lets_go_of_the_room() {
    for (call, fault, code) in [
        ("room", Fault::Hang, "store_failed"),
        ("room", Fault::Panic, "store_failed"),
        ("commit", Fault::Hang, "outcome_unknown"),
        ("commit", Fault::Panic, "outcome_unknown"),
    ] {
        let stage = stage().await;
        stage.plan(call, 0, fault);
        let error = stage.kit.mute("r", "b").await.unwrap_err();
        assert_eq!(error.code(), code, "{call} {fault:?}");
        stage.goes_on().await;
        assert!(stage.kit.mute("r", "b").await.unwrap().muted);
    }
}

#[tokio::test(start_paused = true)]
async fn an_injected_event_whose_pass_panics_loses_nothing_of_what_it_follows() {
    for (call, nth, fault) in [
        ("room", 2, Fault::Panic),
        ("commit", 1, Fault::Panic),
        ("commit", 1, Fault::Hang),
    ] {
        let stage = stage().await;
        stage
            .kit
            .hook(BeforeBroadcast, "adds", |event, _| async move {
                let more = InjectedEvent::new(EventContent::text("more"), ["b"]);
                match event.text() {
                    Some("1") => HookResult::allow().inject(more),
                    _ => HookResult::allow(),
                }
            });
        stage.plan(call, nth, fault);
        let result = stage.kit.process_inbound(say("a", "u", "1")).await.unwrap();
        assert!(result.delivery("b").unwrap().outcome.is_sent());
        stage.goes_on().await;
        assert_eq!(stage.b.texts(), ["1", "next"], "{call} {fault:?}");
    }
}

/// An answer that is lost is told of, whoever waits for the message.
#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_stored_is_in_the_result_and_told_to_hooks() {
    for (call, fault, code) in [
        (
            "commit",
            Fault::Error(ErrorKind::StoreFailed),
            "store_failed",
        ),
        ("commit", Fault::Hang, "outcome_unknown"),
        ("room", Fault::Hang, "process_timeout"),
    ] {
        let stage = stage().await;
        let agent = Agent::says("agent", "re");
        stage.kit.register_channel(agent).unwrap();
        stage.kit.attach_channel("r", "agent").await.unwrap();
        let told = Arc::<Mutex<Vec<String>>>::default();
        let log = Arc::clone(&told);
        stage
            .kit
            .hook(OnError, "told", move |event: Arc<RoomEvent>, _| {
                let code = event.metadata.get("error_type").unwrap();
                log.lock().unwrap().push(code.as_str().unwrap().to_owned());
                async {}
            });
        stage.kit.wait_idle().await;
        // Of the message's own calls: two reads of the room, one commit.
        stage.plan(call, if call == "room" { 2 } else { 1 }, fault);
        let result = stage.kit.process_inbound(say("a", "u", "1")).await.unwrap();
        let error = result.error.unwrap();
        assert!(error.starts_with(&format!("{code}: ")), "{error}");
        stage.kit.wait_idle().await;
        assert_eq!(*told.lock().unwrap(), [code]);
        assert_eq!(timeline_texts(&stage.kit).await, ["1"]);
    }
}

/// A transport that panics when it is asked whether it streams.
struct Unsure(Transport);

#[async_trait]
impl Channel for Unsure {
    fn id(&self) -> &ChannelId {
        self.0.id()
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Websocket
    }

    fn supports_streaming(&self) -> bool {
        panic!("who knows")
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        context: &RoomContext,
    ) -> DeliveryOutcome {
        self.0.deliver(event, binding, context).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_cannot_be_shown_as_it_comes_comes_whole() {
    for (call, fault) in [
        ("none", Fault::Panic),
        ("room", Fault::Panic),
        ("room", Fault::Hang),
    ] {
        let stage = stage().await;
        let agent = Agent::new("agent", |event, _| async move {
            let pieces = ["one ", "two"].map(|text| Ok(Delta::Text(text.to_owned())));
            Ok(match event.chain_depth {
                0 => ChannelOutput::stream(futures_util::stream::iter(pieces).boxed()),
                _ => ChannelOutput::none(),
            })
        });
        stage.kit.register_channel(agent).unwrap();
        stage.kit.attach_channel("r", "agent").await.unwrap();
        let unsure = Transport::new("unsure");
        stage.kit.register_channel(Unsure(unsure.clone())).unwrap();
        stage.kit.attach_channel("r", "unsure").await.unwrap();
        stage.kit.wait_idle().await;
        // Read by the message's own pass twice before.
        stage.plan(call, 2, fault);
        let result = stage.kit.process_inbound(say("a", "u", "1")).await.unwrap();
        assert_eq!(result.error, None, "{call} {fault:?}");
        assert_eq!(unsure.texts(), ["1", "one two"]);
    }
}

#[tokio::test(start_paused = true)]
async fn rooms_go_quiet_by_their_timers_also_after_the_store_did_not_answer() {
    for (call, fault) in [
        ("list_rooms", Fault::Hang),
        ("list_rooms", Fault::Panic),
        ("room", Fault::Hang),
        ("commit", Fault::Hang),
        ("commit", Fault::Panic),
    ] {
        let plan = Plan::default();
        let kit = RoomKit::builder().store(faulty(&plan)).build().unwrap();
        let options = RoomOptions::new()
            .id("r")
            .timers(RoomTimers::pause_after(60));
        kit.create_room(options).await.unwrap();
        plan.lock().unwrap().push((call, 0, fault));
        // Beyond the next time at which all rooms are listed, and the time until that is tried again.
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        let room = kit.room("r").await.unwrap();
        assert_eq!(room.status, RoomStatus::Paused, "{call} {fault:?}");
        assert!(plan.lock().unwrap().is_empty(), "{call} {fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_store_that_panics_at_a_question_fails_it() {
    let stage = stage().await;
    for call in ["room", "events"] {
        stage.plan(call, 0, Fault::Panic);
        let error = stage.kit.timeline("r", 0, 9).await.unwrap_err();
        assert_eq!(error.code(), "store_failed");
    }
    stage.plan("events", 0, Fault::Panic);
    let error = stage.kit.history_for("r", "b", 9).await.unwrap_err();
    assert_eq!(error.code(), "store_failed");
    let all = EventQuery::first(9);
    assert_eq!(stage.kit.events("r", &all).await.unwrap().len(), 2);
}

/// Its hooks are not those of another room with its id.
#[tokio::test(start_paused = true)]
async fn a_room_that_was_deleted_without_an_answer_has_left_no_hooks() {
    let stage = stage().await;
    let strict = Hook::new(BeforeBroadcast, "strict", |_, _| async {
        HookResult::block("not here")
    });
    stage.kit.add_room_hook("r", strict).await.unwrap();
    stage.plan("done delete_room", 0, Fault::Hang);
    let error = stage.kit.delete_room("r").await.unwrap_err();
    assert_eq!(error.code(), "outcome_unknown");
    assert!(!stage.kit.delete_room("r").await.unwrap());
    stage.kit.create_room("r").await.unwrap();
    let result = stage.kit.process_inbound(say("a", "u", "1")).await.unwrap();
    assert!(!result.blocked);
}

#[derive(Debug)]
struct BadRealtime {
    hangs: bool,
}

impl BadRealtime {
    async fn fail(&self) {
        assert!(self.hangs, "broken backend");
        pending::<()>().await;
    }
}

#[async_trait]
impl RealtimeBackend for BadRealtime {
    async fn publish(&self, _event: EphemeralEvent) -> Result<()> {
        self.fail().await;
        Ok(())
    }

    async fn subscribe(&self, _: &RoomId, _: EphemeralHandler) -> Result<SubscriptionId> {
        self.fail().await;
        Ok(SubscriptionId::generate())
    }

    async fn unsubscribe(&self, _subscription: &SubscriptionId) -> Result<bool> {
        self.fail().await;
        Ok(true)
    }
}

#[tokio::test(start_paused = true)]
async fn a_realtime_backend_that_panics_or_hangs_has_failed() {
    for hangs in [false, true] {
        let kit = RoomKit::builder()
            .realtime(Arc::new(BadRealtime { hangs }))
            .build()
            .unwrap();
        kit.create_room("r").await.unwrap();
        let subscription = SubscriptionId::generate();
        for failed in [
            kit.publish_typing("r", "u", true).await,
            kit.subscribe_room("r", |_| async {}).await.map(drop),
            kit.unsubscribe_room(&subscription).await.map(drop),
        ] {
            assert_eq!(failed.unwrap_err().code(), "provider_failed");
        }
    }
}
