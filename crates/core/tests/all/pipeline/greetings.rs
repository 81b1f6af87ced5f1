//! Sessions that begin, and agents that greet.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::{
    BeforeBroadcast, HookResult, OnRoomCreated, OnSessionStarted, SessionStarted,
};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, DeliveryOutcome, EventType,
    InboundMessage, PersistencePolicy, RoomEvent,
};
use roomkit_core::store::{ConversationStore, MemoryStore};
use roomkit_core::{Channel, ChannelOutput, Result, RoomContext, RoomKit};
use roomkit_testkit::ManualClock;
use tokio::sync::Notify;

use super::support::{Transport, room_of, say, shared, timeline_texts};

/// An agent with a greeting. A clone is the same channel.
#[derive(Clone)]
struct Greeter {
    id: ChannelId,
    greeting: Option<&'static str>,
    by_itself: bool,
    asked: Arc<AtomicUsize>,
}

impl Greeter {
    fn new(id: &str, greeting: &'static str) -> Self {
        Self {
            id: id.into(),
            greeting: Some(greeting),
            by_itself: true,
            asked: Arc::default(),
        }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Channel for Greeter {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    fn greeting(&self) -> Option<String> {
        self.greeting.map(str::to_owned)
    }

    fn greets_by_itself(&self) -> bool {
        self.by_itself
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if event.source.channel_type == ChannelType::Ai {
            return Ok(ChannelOutput::none());
        }
        Ok(ChannelOutput::text("answer"))
    }
}

/// A transport that delivers when it is told to.
#[derive(Clone)]
struct Gated {
    inside: Transport,
    go: Arc<Notify>,
}

impl Gated {
    fn new(id: &str) -> Self {
        Self {
            inside: Transport::new(id),
            go: Arc::new(Notify::new()),
        }
    }
}

#[async_trait]
impl Channel for Gated {
    fn id(&self) -> &ChannelId {
        self.inside.id()
    }

    fn channel_type(&self) -> ChannelType {
        self.inside.channel_type()
    }

    async fn deliver(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        context: &RoomContext,
    ) -> DeliveryOutcome {
        self.go.notified().await;
        self.inside.deliver(event, binding, context).await
    }
}

async fn turns() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

/// Lets the application attach an agent to every new room.
fn attaching(kit: &RoomKit, agent: &'static str) {
    let weak = kit.downgrade();
    kit.hook(OnRoomCreated, "attach", move |event, _| {
        let kit = weak.upgrade();
        async move {
            tokio::task::yield_now().await;
            if let Some(kit) = kit {
                kit.attach_channel(&event.room_id, agent).await.unwrap();
            }
        }
    });
}

fn told(kit: &RoomKit) -> Arc<Mutex<Vec<String>>> {
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (hook, events) = (Arc::clone(&told), Arc::clone(&told));
    kit.hook(OnSessionStarted, "session", move |session, context| {
        assert_eq!(session.room_id, *context.room_id());
        let SessionStarted {
            channel_id,
            channel_type,
            participant_id,
            session_id,
            ..
        } = session;
        let id = session_id.unwrap_or_default();
        hook.lock()
            .unwrap()
            .push(format!("{channel_id} {channel_type} {participant_id} {id}"));
        async {}
    });
    kit.on("session_started", move |event| {
        let word = |key| event.data.get_str(key).unwrap_or_default().to_owned();
        let line = format!(
            "!{} {} {}",
            word("channel_id"),
            word("channel_type"),
            word("session_id")
        );
        events.lock().unwrap().push(line);
        async {}
    });
    told
}

async fn take(kit: &RoomKit, told: &Mutex<Vec<String>>) -> Vec<String> {
    kit.wait_idle().await;
    let mut told = std::mem::take(&mut *told.lock().unwrap());
    told.sort();
    told
}

#[tokio::test]
async fn a_text_session_starts_with_the_message_that_makes_its_room_and_never_again() {
    let kit = RoomKit::new();
    kit.register_channel(Transport::new("sms").of_type(ChannelType::Sms))
        .unwrap();
    kit.register_channel(Transport::new("call").of_type(ChannelType::Voice))
        .unwrap();
    let told = told(&kit);
    kit.create_room("made").await.unwrap();
    let made = InboundMessage::text("sms", "u", "hi").in_room("made");
    kit.process_inbound(made).await.unwrap();
    assert!(
        take(&kit, &told).await.is_empty(),
        "the application made the room"
    );
    let first = InboundMessage::text("sms", "v", "hi").in_room("new");
    kit.process_inbound(first.clone()).await.unwrap();
    assert_eq!(take(&kit, &told).await, ["!sms sms ", "sms sms v "]);
    kit.process_inbound(first).await.unwrap();
    assert!(take(&kit, &told).await.is_empty());
    kit.process_inbound(InboundMessage::text("call", "v", "hi").in_room("call"))
        .await
        .unwrap();
    assert!(
        take(&kit, &told).await.is_empty(),
        "a call tells of its session itself"
    );
    kit.session_started(SessionStarted {
        room_id: "call".into(),
        channel_id: "call".into(),
        channel_type: ChannelType::Voice,
        participant_id: "v".into(),
        timestamp: kit.now(),
        session_id: Some("s1".to_owned()),
    })
    .await
    .unwrap();
    assert_eq!(
        take(&kit, &told).await,
        ["!call voice s1", "call voice v s1"]
    );
}

#[tokio::test]
async fn a_session_starts_though_its_first_message_is_blocked() {
    let kit = RoomKit::new();
    kit.register_channel(Transport::new("sms").of_type(ChannelType::Sms))
        .unwrap();
    kit.hook(BeforeBroadcast, "no", |_, _| async {
        HookResult::block("no")
    });
    let told = told(&kit);
    assert!(
        kit.process_inbound(InboundMessage::text("sms", "u", "hi"))
            .await
            .unwrap()
            .blocked
    );
    assert_eq!(take(&kit, &told).await.len(), 2);
}

#[tokio::test]
async fn an_agent_that_greets_does_so_before_the_first_message_is_stored_and_answered() {
    let kit = RoomKit::new();
    let (sms, agent) = (
        Transport::new("sms").of_type(ChannelType::Sms),
        Greeter::new("bot", "welcome"),
    );
    kit.register_channel(sms.clone()).unwrap();
    kit.register_channel(agent.clone()).unwrap();
    attaching(&kit, "bot");
    let result = kit.process_inbound(say("sms", "u", "hi")).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(timeline_texts(&kit).await, ["welcome", "hi", "answer"]);
    assert_eq!(
        sms.texts(),
        ["welcome", "answer"],
        "it hears the greeting, which comes first"
    );
    let events = kit.timeline("r", 0, 99).await.unwrap();
    let greeting = events
        .iter()
        .find(|event| event.text() == Some("welcome"))
        .unwrap();
    assert_eq!(greeting.source.channel_id, "bot");
    assert_eq!(greeting.metadata.get("auto_greeting"), Some(&true.into()));
    assert_eq!(
        (greeting.chain_depth, greeting.addressed_to.as_deref()),
        (0, Some(&[][..]))
    );
    assert!(result.event.unwrap().index > greeting.index);
    assert_eq!(agent.asked(), 1, "a greeting asks nobody");
    kit.process_inbound(say("sms", "u", "more")).await.unwrap();
    assert_eq!(timeline_texts(&kit).await.len(), 5);
}

#[tokio::test]
async fn no_agent_begins_to_answer_before_the_greeting_is_delivered() {
    let kit = RoomKit::new();
    let (web, agent) = (Gated::new("web"), Greeter::new("bot", "welcome"));
    room_of(&kit, vec![shared(&web), shared(&agent)]).await;
    let greeted = tokio::spawn({
        let kit = kit.clone();
        async move { kit.send_greeting("r").await }
    });
    turns().await;
    let (_, handle) = kit
        .process_inbound_deferred(say("web", "u", "hi"))
        .await
        .unwrap();
    turns().await;
    assert_eq!(
        timeline_texts(&kit).await,
        ["welcome", "hi"],
        "the message is taken"
    );
    assert_eq!(agent.asked(), 0, "and not answered");
    web.go.notify_one();
    greeted.await.unwrap().unwrap().unwrap();
    turns().await;
    assert_eq!(agent.asked(), 1);
    web.go.notify_one();
    handle.wait().await.unwrap();
    assert_eq!(web.inside.texts(), ["welcome", "answer"]);
}

#[tokio::test]
async fn a_greeting_that_is_not_delivered_holds_answers_up_for_thirty_seconds_at_most() {
    let clock = ManualClock::new();
    let kit = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let (web, agent) = (Gated::new("web"), Greeter::new("bot", "welcome"));
    let other = Transport::new("other");
    room_of(&kit, vec![shared(&web), shared(&other), shared(&agent)]).await;
    let _greeted = tokio::spawn({
        let kit = kit.clone();
        async move { kit.send_greeting("r").await }
    });
    turns().await;
    let _deferred = kit
        .process_inbound_deferred(say("other", "u", "hi"))
        .await
        .unwrap();
    turns().await;
    clock.advance(Duration::from_millis(29_999));
    turns().await;
    assert_eq!(agent.asked(), 0);
    clock.advance(Duration::from_millis(1));
    turns().await;
    assert_eq!(agent.asked(), 1);
    let _deferred = kit
        .process_inbound_deferred(say("other", "u", "more"))
        .await
        .unwrap();
    turns().await;
    assert_eq!(agent.asked(), 2, "whoever comes later does not wait");
}

#[tokio::test]
async fn a_message_that_meets_the_making_of_its_room_is_not_answered_before_the_greeting() {
    let kit = RoomKit::new();
    let (web, agent) = (Gated::new("web"), Greeter::new("bot", "welcome"));
    kit.register_channel(web.clone()).unwrap();
    kit.register_channel(agent.clone()).unwrap();
    attaching(&kit, "bot");
    let mut calls = Vec::new();
    for sender in ["u", "v", "w"] {
        let kit = kit.clone();
        calls.push(tokio::spawn(async move {
            kit.process_inbound(say("web", sender, "hi")).await
        }));
    }
    turns().await;
    assert_eq!(agent.asked(), 0);
    for _ in 0..4 {
        web.go.notify_one();
        turns().await;
    }
    for call in calls {
        call.await.unwrap().unwrap();
    }
    let told = web.inside.texts();
    assert_eq!(told[0], "welcome", "{told:?}");
    assert_eq!(told.iter().filter(|text| *text == "welcome").count(), 1);
}

#[tokio::test]
async fn an_agent_greets_a_room_once_however_often_and_after_a_restart() {
    let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::new());
    let web = Transport::new("web");
    let open = || {
        let kit = RoomKit::builder()
            .store(Arc::clone(&store))
            .build()
            .unwrap();
        kit.register_channel(web.clone()).unwrap();
        kit.register_channel(Greeter::new("bot", "welcome"))
            .unwrap();
        kit.register_channel(Greeter::new("guide", "look here"))
            .unwrap();
        kit
    };
    let kit = open();
    kit.create_room("r").await.unwrap();
    for channel in ["web", "bot", "guide"] {
        kit.attach_channel("r", channel).await.unwrap();
    }
    let all = (0..8).map(|_| kit.send_greeting("r").into_future());
    let ids: Vec<_> = futures_util::future::join_all(all).await;
    let first = ids[0].as_ref().unwrap().as_ref().unwrap().id.clone();
    assert!(
        ids.iter()
            .all(|event| event.as_ref().unwrap().as_ref().unwrap().id == first)
    );
    kit.close(Duration::from_secs(1)).await.unwrap();
    let kit = open();
    let again = kit
        .send_greeting("r")
        .text("hello again")
        .await
        .unwrap()
        .unwrap();
    assert_eq!(again.id, first);
    assert_eq!(timeline_texts(&kit).await, ["welcome"]);
    kit.send_greeting("r").channel("guide").await.unwrap();
    kit.send_greeting("r")
        .session("call-2")
        .text("hello again")
        .await
        .unwrap();
    kit.send_greeting("r").session("call-2").await.unwrap();
    assert_eq!(
        timeline_texts(&kit).await,
        ["welcome", "look here", "hello again"]
    );
    assert_eq!(web.texts(), ["welcome", "look here", "hello again"]);
}

#[tokio::test]
async fn a_greeting_is_given_once_though_messages_are_not_kept() {
    let policy = PersistencePolicy {
        exclude_types: [EventType::Message].into(),
        ..PersistencePolicy::default()
    };
    let kit = RoomKit::builder()
        .persistence_policy(policy)
        .build()
        .unwrap();
    let web = Transport::new("web");
    room_of(
        &kit,
        vec![shared(&web), shared(&Greeter::new("bot", "welcome"))],
    )
    .await;
    kit.send_greeting("r").await.unwrap();
    kit.send_greeting("r").await.unwrap();
    assert_eq!(web.texts(), ["welcome"]);
}

#[tokio::test]
async fn a_greeting_asks_for_an_agent_that_may_speak() {
    let kit = RoomKit::new();
    let silent = Greeter {
        greeting: None,
        ..Greeter::new("silent", "")
    };
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&silent)]).await;
    assert!(
        kit.send_greeting("r").await.unwrap().is_none(),
        "nobody has anything to say"
    );
    assert!(kit.send_greeting("r").text(" ").await.unwrap().is_none());
    let code = async |call: roomkit_core::SendGreeting| call.await.unwrap_err().code();
    assert_eq!(
        code(kit.send_greeting("r").channel("web").text("x")).await,
        "invalid_input"
    );
    assert_eq!(
        code(kit.send_greeting("r").channel("gone").text("x")).await,
        "channel_not_found"
    );
    kit.mute_output("r", "silent").await.unwrap();
    let blocked = kit.send_greeting("r").text("psst").await.unwrap().unwrap();
    assert_eq!(blocked.blocked_by.as_deref(), Some("source_muted"));
    kit.close_room("r").await.unwrap();
    assert_eq!(code(kit.send_greeting("r").text("x")).await, "room_closed");
}

#[tokio::test]
async fn an_agent_that_does_not_greet_by_itself_is_silent_until_it_is_asked_to() {
    let kit = RoomKit::new();
    let agent = Greeter {
        by_itself: false,
        ..Greeter::new("bot", "welcome")
    };
    kit.register_channel(Transport::new("web")).unwrap();
    kit.register_channel(agent).unwrap();
    attaching(&kit, "bot");
    kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    kit.wait_idle().await;
    assert!(!timeline_texts(&kit).await.contains(&"welcome".to_owned()));
    kit.send_greeting("r").await.unwrap().unwrap();
    assert!(timeline_texts(&kit).await.contains(&"welcome".to_owned()));
}

#[tokio::test]
async fn each_call_is_greeted_once() {
    let kit = RoomKit::new();
    let call = Transport::new("call").of_type(ChannelType::Voice);
    room_of(
        &kit,
        vec![shared(&call), shared(&Greeter::new("bot", "welcome"))],
    )
    .await;
    let began = |id: &str| SessionStarted {
        room_id: "r".into(),
        channel_id: "call".into(),
        channel_type: ChannelType::Voice,
        participant_id: "u".into(),
        timestamp: kit.now(),
        session_id: Some(id.to_owned()),
    };
    for id in ["one", "one", "two"] {
        kit.session_started(began(id)).await.unwrap();
    }
    kit.wait_idle().await;
    assert_eq!(call.texts(), ["welcome", "welcome"]);
}

#[tokio::test]
async fn a_hook_of_a_new_room_that_hangs_does_not_lose_the_message() {
    let clock = ManualClock::new();
    let kit = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    kit.register_channel(Transport::new("web")).unwrap();
    kit.register_channel(Greeter::new("bot", "welcome"))
        .unwrap();
    kit.hook(OnRoomCreated, "hangs", |_, _| std::future::pending::<()>());
    let call = tokio::spawn({
        let kit = kit.clone();
        async move { kit.process_inbound(say("web", "u", "hi")).await }
    });
    turns().await;
    clock.advance(Duration::from_secs(15));
    let result = call.await.unwrap().unwrap();
    assert!(!result.blocked && result.event.is_some());
}
