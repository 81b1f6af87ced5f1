//! Hooks: order, failure, side effects, what they may change, and where they may call.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::{
    AfterBroadcast, BeforeBroadcast, FailurePolicy, Hook, HookOptions, HookPoint, HookResult,
    HookTrigger, HookVerdict, InjectedEvent, OnChannelAttached, OnChannelMuted, OnRoomClosed,
    OnRoomCreated, OnTaskCreated, RoomHooks,
};
use roomkit_core::model::{ChannelType, EventContent, InboundMessage, Metadata, Room, TextContent};
use roomkit_core::store::{ConversationStore, MemoryStore};
use roomkit_core::{Error, ErrorKind, Result, RoomKit, RoomOptions, WeakKit};

use super::support::{Agent, Transport, room_of, say, shared, timeline_texts};

type Log = Arc<Mutex<Vec<String>>>;

fn note(log: &Log, what: impl Into<String>) {
    log.lock().unwrap().push(what.into());
}

async fn kit_of_two() -> (RoomKit, Transport) {
    let kit = RoomKit::new();
    let b = Transport::new("b");
    room_of(&kit, vec![shared(&Transport::new("a")), shared(&b)]).await;
    (kit, b)
}

#[derive(Clone, Copy)]
struct Withholds;
impl HookPoint for Withholds {
    type Payload = String;
    type Returns = HookResult<String>;
    const TRIGGER: HookTrigger = HookTrigger::Custom("withholds");
    const FAILURE: FailurePolicy = FailurePolicy::Block;
}

#[tokio::test]
async fn global_room_and_provided_hooks_run_as_one_list_by_priority_then_registration() {
    #[derive(Debug)]
    struct Provided(Log);
    #[async_trait]
    impl RoomHooks for Provided {
        async fn hooks_of(&self, room: &Room) -> roomkit_core::Result<Vec<Hook>> {
            assert_eq!(room.id, *"r");
            Ok(vec![logging(&self.0, "provided", 1)])
        }
    }
    fn logging(log: &Log, name: &'static str, priority: i32) -> Hook {
        let log = Arc::clone(log);
        let options = HookOptions::new(name).priority(priority);
        Hook::new(BeforeBroadcast, options, move |_, _| {
            note(&log, name);
            async { HookResult::allow() }
        })
    }
    let log = Log::default();
    let kit = RoomKit::builder()
        .room_hooks(Arc::new(Provided(Arc::clone(&log))))
        .build()
        .unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    kit.add_hook(logging(&log, "late", 5));
    kit.add_room_hook("r", logging(&log, "room", 1))
        .await
        .unwrap();
    kit.add_hook(logging(&log, "first", -1));
    kit.add_hook(logging(&log, "global", 1));
    kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert_eq!(
        *log.lock().unwrap(),
        ["first", "room", "global", "provided", "late"]
    );
    assert!(kit.remove_room_hook("r", "room").await.unwrap());
    assert!(kit.remove_hook("late"));
    assert!(!kit.remove_hook("late"));
    log.lock().unwrap().clear();
    kit.process_inbound(say("a", "u", "y")).await.unwrap();
    assert_eq!(*log.lock().unwrap(), ["first", "global", "provided"]);
}

/// Every way to fail, at a point that lets through and at one that withholds.
#[tokio::test(start_paused = true)]
async fn a_failing_hook_lets_through_or_blocks_as_its_point_says() {
    for failure in ["error", "panic", "timeout"] {
        let (kit, b) = kit_of_two().await;
        let broken = || HookOptions::new("broken").timeout(Duration::from_secs(1));
        kit.hook(BeforeBroadcast, broken(), move |_, _| async move {
            match failure {
                "error" => Err("broken"),
                "panic" => panic!("broken"),
                _ => {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    Ok(HookResult::block("too late"))
                }
            }
        });
        kit.hook(Withholds, broken(), move |_, _| async move {
            match failure {
                "error" => Err("broken"),
                "panic" => panic!("broken"),
                _ => {
                    tokio::time::sleep(Duration::from_secs(5)).await;
                    Ok(HookResult::allow())
                }
            }
        });
        let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
        assert!(!result.blocked, "{failure}");
        assert_eq!(b.texts(), ["x"], "{failure}");
        let verdict = kit
            .run_hooks(Withholds, "r", "secret".to_owned())
            .await
            .unwrap();
        assert_eq!(
            verdict,
            HookVerdict::Blocked {
                reason: "hook_failed".into(),
                blocked_by: "broken".into()
            },
            "{failure}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_times_out_before_the_event_does_is_passed_over() {
    let (kit, b) = kit_of_two().await;
    let events = Log::default();
    let heard = Arc::clone(&events);
    kit.on_any(move |event| {
        note(&heard, event.event_type.as_str());
        async {}
    });
    let options = HookOptions::new("slow").timeout(Duration::from_secs(1));
    kit.hook(BeforeBroadcast, options, |_, _| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        HookResult::block("never")
    });
    kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert_eq!(b.texts(), ["x"]);
    kit.wait_idle().await;
    assert!(events.lock().unwrap().contains(&"hook_timeout".to_owned()));
}

/// Hooks that answer at once and hooks that wait are one order, and a panic is the hook's own in both.
#[tokio::test(start_paused = true)]
async fn a_hook_that_waits_keeps_its_turn() {
    let (kit, b) = kit_of_two().await;
    for (name, waits) in [("1", false), ("2", true), ("3", false), ("4", true)] {
        kit.hook(BeforeBroadcast, name, move |mut event, _| async move {
            if waits {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let texts = event.content.texts().concat();
            event.set_content(TextContent::new(format!("{texts} {name}")));
            HookResult::modify(event)
        });
        kit.hook(BeforeBroadcast, "broken", move |_, _| async move {
            if waits {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            assert!(name.is_empty(), "broken");
            HookResult::allow()
        });
    }
    kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert_eq!(b.texts(), ["x 1 2 3 4"]);
}

/// A message attaches its channel under the lock; what was known before is not what hooks see.
#[tokio::test]
async fn hooks_see_the_room_as_it_is_under_the_lock() {
    let (kit, _b) = kit_of_two().await;
    kit.register_channel(Transport::new("c")).unwrap();
    let log = Log::default();
    let seen = Arc::clone(&log);
    kit.hook(BeforeBroadcast, "looks", move |_, room| {
        note(&seen, room.bindings().len().to_string());
        async { HookResult::allow() }
    });
    for channel in ["a", "c", "c"] {
        let message = say(channel, "u", "x").in_room("r");
        kit.process_inbound(message).await.unwrap();
    }
    assert_eq!(*log.lock().unwrap(), ["2", "3", "3"]);
}

#[tokio::test]
async fn the_application_may_let_before_broadcast_fail_closed() {
    let kit = RoomKit::builder()
        .fail_closed([HookTrigger::BeforeBroadcast])
        .build()
        .unwrap();
    let b = Transport::new("b");
    room_of(&kit, vec![shared(&Transport::new("a")), shared(&b)]).await;
    kit.hook(BeforeBroadcast, "broken", |_, _| async {
        Err::<HookResult<_>, _>("moderation is down")
    });
    let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert_eq!(result.reason.as_deref(), Some("hook_failed"));
    assert_eq!(result.event.unwrap().blocked_by.as_deref(), Some("broken"));
    assert!(b.texts().is_empty());
}

#[tokio::test]
async fn a_hook_changes_content_and_nothing_that_is_fixed() {
    let (kit, b) = kit_of_two().await;
    kit.hook(BeforeBroadcast, "redact", |mut event, _| async move {
        event.set_text("[redacted]");
        event.insert_metadata("redacted", true);
        HookResult::modify(event)
    });
    let result = kit.process_inbound(say("a", "u", "secret")).await.unwrap();
    let event = result.event.unwrap();
    assert_eq!(event.text(), Some("[redacted]"));
    assert_eq!(event.metadata.get("redacted"), Some(&true.into()));
    assert_eq!(event.source.participant_id.as_ref().unwrap(), "u");
    assert_eq!(b.texts(), ["[redacted]"]);
}

#[tokio::test]
async fn content_that_is_not_acceptable_is_not_taken_from_a_hook() {
    let (kit, b) = kit_of_two().await;
    kit.hook(BeforeBroadcast, "broken", |mut event, _| async move {
        event.set_content(roomkit_core::model::MediaContent::new(
            "ftp://x",
            "image/png",
        ));
        HookResult::modify(event)
    });
    kit.process_inbound(say("a", "u", "as it was"))
        .await
        .unwrap();
    assert_eq!(b.texts(), ["as it was"]);
}

#[tokio::test]
async fn side_effects_are_kept_whether_the_event_is_or_not() {
    let (kit, _b) = kit_of_two().await;
    let created = Log::default();
    let heard = Arc::clone(&created);
    kit.hook(OnTaskCreated, "watch", move |event, _| {
        note(
            &heard,
            event.metadata.get("task_title").unwrap().as_str().unwrap(),
        );
        async {}
    });
    kit.hook(BeforeBroadcast, "tasks", |event, ctx| async move {
        let text = event.text().unwrap_or_default().to_owned();
        let result = if text == "bad" {
            HookResult::block("no")
        } else {
            HookResult::allow()
        };
        result
            .task(ctx.task(format!("check {text}")))
            .observation(ctx.observation("seen", text))
    });
    kit.process_inbound(say("a", "u", "good")).await.unwrap();
    kit.process_inbound(say("a", "u", "bad")).await.unwrap();
    let tasks: Vec<_> = kit
        .tasks("r")
        .await
        .unwrap()
        .into_iter()
        .map(|task| task.title)
        .collect();
    assert_eq!(tasks, ["check good", "check bad"]);
    assert_eq!(kit.observations("r").await.unwrap().len(), 2);
    kit.wait_idle().await;
    assert_eq!(*created.lock().unwrap(), ["check good", "check bad"]);
}

#[tokio::test]
async fn injected_events_pass_hooks_go_where_they_name_and_inject_no_more() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let agent = Agent::says("agent", "hm");
    room_of(&kit, vec![shared(&a), shared(&b), shared(&agent)]).await;
    kit.hook(BeforeBroadcast, "inject", |mut event, _| async move {
        let text = event.text().unwrap_or_default().to_owned();
        if text == "quiet" {
            event.set_text("QUIET");
            let again = InjectedEvent::new(TextContent::new("dropped"), ["a"]);
            return HookResult::modify(event).inject(again);
        }
        if text == "hello" {
            return HookResult::allow()
                .inject(InjectedEvent::new(
                    TextContent::new("quiet"),
                    ["a", "agent"],
                ))
                .inject(InjectedEvent::new(
                    TextContent::new("kept"),
                    Vec::<&str>::new(),
                ));
        }
        HookResult::allow()
    });
    kit.process_inbound(say("a", "u", "hello")).await.unwrap();
    assert_eq!(timeline_texts(&kit).await, ["hello", "QUIET", "kept", "hm"]);
    assert_eq!(a.texts(), ["QUIET", "hm"]);
    assert_eq!(b.texts(), ["hello", "hm"]);
    assert_eq!(agent.heard().len(), 1, "an injected event asks nobody");
    let stored = kit.timeline("r", 5, 1).await.unwrap().remove(0);
    assert_eq!(stored.visibility.as_str(), "none");
}

#[tokio::test]
async fn observers_see_what_was_committed_and_cannot_hold_it_up() {
    let (kit, b) = kit_of_two().await;
    let log = Log::default();
    for name in ["one", "two"] {
        let log = Arc::clone(&log);
        kit.observe(BeforeBroadcast, name, move |event, _| {
            note(
                &log,
                format!("{name} {} {}", event.index, event.text().unwrap()),
            );
            async move {
                if name == "one" {
                    panic!("an observer")
                }
            }
        });
    }
    let after = Arc::clone(&log);
    kit.hook(AfterBroadcast, "after", move |event, _| {
        note(&after, format!("after {}", event.index));
        async { Err::<(), _>("ignored") }
    });
    let types = HookOptions::new("other").channel_types([ChannelType::Sms]);
    let other = Arc::clone(&log);
    kit.observe(BeforeBroadcast, types, move |_, _| {
        note(&other, "sms only");
        async {}
    });
    kit.process_inbound(say("a", "u", "x")).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(*log.lock().unwrap(), ["one 2 x", "two 2 x", "after 2"]);
    assert_eq!(b.texts(), ["x"]);
}

#[tokio::test]
async fn lifecycle_points_fire_with_their_events() {
    let kit = RoomKit::new();
    let log = Log::default();
    let (rooms, channels) = (Arc::clone(&log), Arc::clone(&log));
    kit.hook(OnRoomCreated, "rooms", move |event, ctx| {
        note(&rooms, format!("room {}", ctx.room_id()));
        assert_eq!(event.room_id, *ctx.room_id());
        async {}
    });
    kit.hook(OnChannelAttached, "channels", move |event, _| {
        note(&channels, format!("attached at {}", event.index));
        async {}
    });
    kit.register_channel(Transport::new("a")).unwrap();
    kit.create_room(RoomOptions::new().id("r")).await.unwrap();
    kit.attach_channel("r", "a").await.unwrap();
    kit.wait_idle().await;
    assert_eq!(*log.lock().unwrap(), ["room r", "attached at 0"]);
}

/// A hook that sends into its own room would wait for itself; it is told so at once.
#[tokio::test]
async fn a_hook_that_calls_into_its_own_room_is_refused_and_into_another_is_not() {
    let (kit, _b) = kit_of_two().await;
    kit.create_room("other").await.unwrap();
    let log = Log::default();
    let (weak, codes) = (kit.downgrade(), Arc::clone(&log));
    kit.hook(BeforeBroadcast, "calls", move |event, _| {
        let (kit, codes) = (weak.upgrade().unwrap(), Arc::clone(&codes));
        async move {
            if event.room_id == *"r" {
                let own = kit.send_event("r", "system", TextContent::new("x")).await;
                note(&codes, own.unwrap_err().code());
                let muted = kit.mute("r", "b").await;
                note(&codes, muted.unwrap_err().code());
                kit.send_event("other", "system", TextContent::new("y"))
                    .await
                    .unwrap();
            }
            HookResult::allow()
        }
    });
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert!(!result.blocked);
    assert_eq!(
        *log.lock().unwrap(),
        ["inside_room_lock", "inside_room_lock"]
    );
    assert_eq!(kit.timeline("other", 0, 9).await.unwrap().len(), 1);
}

/// Failures of the hooks of an answer are in the log; the framework event is for what comes in.
#[tokio::test]
async fn hook_error_tells_of_events_from_outside_alone() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(
        &kit,
        vec![shared(&user), shared(&Agent::says("agent", "hm"))],
    )
    .await;
    let log = Log::default();
    let heard = Arc::clone(&log);
    kit.on("hook_error", move |event| {
        note(&heard, event.data.get_str("hook_name").unwrap());
        async {}
    });
    kit.hook(BeforeBroadcast, "broken", |_, _| async {
        Err::<HookResult<_>, _>("broken")
    });
    kit.process_inbound(say("user", "u", "hi")).await.unwrap();
    kit.wait_idle().await;
    assert_eq!(user.texts(), ["hm"]);
    assert_eq!(*log.lock().unwrap(), ["broken"]);
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_fails_at_a_point_of_a_channels_own_is_told_of() {
    let (kit, _) = kit_of_two().await;
    let log = Log::default();
    let heard = Arc::clone(&log);
    kit.on_any(move |event| {
        let data = |key| event.data.get_str(key).unwrap_or_default();
        let line = [
            event.event_type.as_str(),
            data("hook_name"),
            data("trigger"),
            data("error"),
        ];
        if event.event_type.as_str().starts_with("hook_") {
            note(&heard, line.join(" "));
        }
        async {}
    });
    kit.hook(Withholds, "broken", |_, _| async {
        Err::<HookResult<String>, _>("no power")
    });
    let verdict = kit.run_hooks(Withholds, "r", "secret".to_owned()).await;
    assert!(matches!(verdict.unwrap(), HookVerdict::Blocked { .. }));
    kit.remove_hook("broken");
    let slow = HookOptions::new("slow").timeout(Duration::from_secs(1));
    kit.hook(Withholds, slow, |_, _| async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        HookResult::allow()
    });
    kit.run_hooks(Withholds, "r", "secret".to_owned())
        .await
        .unwrap();
    kit.wait_idle().await;
    let trigger = Withholds::TRIGGER;
    assert_eq!(
        *log.lock().unwrap(),
        [
            format!("hook_error broken {trigger} no power"),
            format!("hook_error slow {trigger} took longer than 1000 ms"),
            format!("hook_timeout slow {trigger} took longer than 1000 ms"),
        ]
    );
}

/// The hooks that a room has of its own: observers of its life.
#[derive(Debug)]
struct Diary(Arc<Mutex<Vec<&'static str>>>);

#[async_trait]
impl RoomHooks for Diary {
    async fn hooks_of(&self, _room: &Room) -> Result<Vec<Hook>> {
        let entry = |name: &'static str| {
            let diary = Arc::clone(&self.0);
            move |_, _| {
                diary.lock().unwrap().push(name);
                async {}
            }
        };
        Ok(vec![
            Hook::new(OnRoomCreated, "diary", entry("created")),
            Hook::new(OnChannelAttached, "diary", entry("attached")),
            Hook::new(OnChannelMuted, "diary", entry("muted")),
            Hook::new(OnRoomClosed, "diary", entry("closed")),
        ])
    }
}

#[tokio::test]
async fn a_rooms_own_observers_see_its_life_before_its_first_event_too() {
    let store: Arc<dyn ConversationStore> = Arc::new(MemoryStore::new());
    let diary = Arc::new(Mutex::new(Vec::new()));
    let kit = || {
        let kit = RoomKit::builder()
            .store(Arc::clone(&store))
            .room_hooks(Arc::new(Diary(Arc::clone(&diary))))
            .build()
            .unwrap();
        for channel in ["a", "b", "c"] {
            kit.register_channel(Transport::new(channel)).unwrap();
        }
        kit
    };
    let first = kit();
    first.create_room("r").await.unwrap();
    first.attach_channel("r", "a").await.unwrap();
    first.wait_idle().await;
    let restarted = kit();
    restarted.mute("r", "a").await.unwrap();
    restarted.wait_idle().await;
    let restarted = kit();
    restarted
        .process_inbound(say("b", "u", "hi"))
        .await
        .unwrap();
    restarted.wait_idle().await;
    let restarted = kit();
    restarted.close_room("r").await.unwrap();
    restarted.wait_idle().await;
    let expected = ["created", "attached", "muted", "attached", "closed"];
    assert_eq!(*diary.lock().unwrap(), expected);
}

/// Is asked under the room's lock, and asks its kit for what it would wait for.
#[derive(Debug, Default)]
struct Entangled(Mutex<Option<WeakKit>>);

#[async_trait]
impl RoomHooks for Entangled {
    async fn hooks_of(&self, room: &Room) -> Result<Vec<Hook>> {
        let kit = self.0.lock().unwrap().clone();
        let Some(kit) = kit.and_then(|kit| kit.upgrade()) else {
            return Err(Error::new(ErrorKind::StoreFailed, "not yet"));
        };
        let set = kit.update_room_metadata(room.id.clone(), Metadata::new().with("seen", true));
        assert_eq!(set.await.unwrap_err().code(), "inside_room_lock");
        Ok(Vec::new())
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_of_hooks_does_not_wait_for_the_lock_that_it_is_asked_under() {
    let provider = Arc::new(Entangled::default());
    let kit = RoomKit::builder()
        .room_hooks(Arc::clone(&provider) as Arc<dyn RoomHooks>)
        .build()
        .unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    *provider.0.lock().unwrap() = Some(kit.downgrade());
    let started = tokio::time::Instant::now();
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert!(!result.blocked);
    assert_eq!(started.elapsed().as_secs(), 0);
}

/// A hook that replaces words finds them in an edit too, and changes nobody's copy but the event's.
#[tokio::test]
async fn a_hook_that_replaces_words_is_not_passed_by_with_an_edit() {
    let (kit, b) = kit_of_two().await;
    kit.hook(BeforeBroadcast, "redactor", |mut event, _| async move {
        let before = event.clone();
        let redact = |text: &str| {
            let redacted = text.replace("555-0100", "[number]");
            (redacted != text).then_some(redacted)
        };
        if !event.map_texts(redact) {
            assert_eq!(event, before);
            return HookResult::allow();
        }
        assert_ne!(event, before);
        HookResult::modify(event)
    });
    let said = kit.process_inbound(say("a", "u", "call me")).await.unwrap();
    let id = said.event.unwrap().id.clone();
    let edit = EventContent::edit(id.clone(), "call 555-0100");
    let edit = InboundMessage::new("a", "u", edit).in_room("r");
    assert!(!kit.process_inbound(edit).await.unwrap().blocked);
    let stored = kit.event("r", id).await.unwrap();
    assert_eq!(stored.text(), Some("call [number]"));
    assert_eq!(b.texts(), ["call me", "Correction: call [number]"]);
}
