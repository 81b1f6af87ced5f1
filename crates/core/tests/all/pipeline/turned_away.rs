//! What is refused or blocked, by which code, and who is told: time that is up, changes that are
//! nobody's to make, rooms that are closed.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::InjectedEvent;
use roomkit_core::hook::{BeforeBroadcast, HookResult, IdentityDecision, OnIdentityUnknown};
use roomkit_core::model::{
    DeleteContent, DeleteType, EditContent, EventContent, EventId, FrameworkEvent,
    IdentificationStatus, IdentityResult, InboundMessage, InboundResult, RoomId,
};
use roomkit_core::router::{InboundRoomRouter, RouteRequest};
use roomkit_core::sync::{RoomLock, RoomLockManager};
use roomkit_core::{Error, ErrorKind, IdentityResolver, Result, RoomContext, RoomKit};

use super::scripted_store::ScriptedStore;
use super::support::{Transport, room_of, say, shared};

/// What listeners of a kit heard.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<FrameworkEvent>>>);

impl Heard {
    fn listen(kit: &RoomKit, event_type: &str) -> Self {
        let heard = Self::default();
        let list = Arc::clone(&heard.0);
        kit.on(event_type, move |event| {
            list.lock().unwrap().push(event);
            async {}
        });
        heard
    }

    async fn only(&self, kit: &RoomKit) -> FrameworkEvent {
        kit.wait_idle().await;
        let events = self.0.lock().unwrap();
        assert_eq!(events.len(), 1, "{events:?}");
        events[0].clone()
    }
}

/// Routes nothing, ever.
#[derive(Debug)]
struct Lost;

#[async_trait]
impl InboundRoomRouter for Lost {
    async fn route(&self, _request: &RouteRequest) -> Result<Option<RoomId>> {
        std::future::pending().await
    }
}

/// Locks that somebody else has for good.
#[derive(Debug)]
struct Taken;

#[async_trait]
impl RoomLockManager for Taken {
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock> {
        if *room == *"r" {
            std::future::pending::<()>().await;
        }
        Ok(RoomLock::new(()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_ready_in_time_is_refused_and_told_of() {
    let limit = Duration::from_secs(3);
    let builder = || RoomKit::builder().process_timeout(limit);
    // Before there is a room, and at its lock.
    let kits = [
        (builder().router(Arc::new(Lost)), None),
        (builder().locks(Arc::new(Taken)), Some("r")),
    ];
    for (builder, room) in kits {
        let kit = builder.build().unwrap();
        kit.register_channel(Transport::new("a")).unwrap();
        kit.create_room("r").await.unwrap();
        let told = Heard::listen(&kit, "process_timeout");
        let mut message = InboundMessage::text("a", "u", "hi");
        message.room_id = room.map(RoomId::from);
        let result = kit.process_inbound(message).await.unwrap();
        assert_eq!(reason(&result), "process_timeout");
        assert!(result.blocked && result.event.is_none());
        let event = told.only(&kit).await;
        assert_eq!(event.data.get("timeout_ms"), Some(&3_000.into()));
        assert_eq!(event.room_id, room.map(RoomId::from));
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_room_does_not_wait_for_its_lock_for_ever() {
    let kit = RoomKit::builder().locks(Arc::new(Taken)).build().unwrap();
    kit.create_room("r").await.unwrap();
    let error = kit.close_room("r").await.unwrap_err();
    assert_eq!(error.code(), "lock_timeout");
    assert!(kit.create_room("other").await.is_ok());
    assert!(kit.close_room("other").await.is_ok());
}

/// Another process changes the room before each of its commits.
#[tokio::test]
async fn an_event_that_always_comes_too_late_fails_and_says_so() {
    let is_busy = Arc::new(Mutex::new(false));
    let busy = Arc::clone(&is_busy);
    let store = ScriptedStore::new(move |call| {
        let conflicts = call == "commit" && *busy.lock().unwrap();
        async move {
            if conflicts {
                return Err(Error::new(ErrorKind::VersionConflict, "changed"));
            }
            Ok(())
        }
    });
    let kit = RoomKit::builder().store(store).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    *is_busy.lock().unwrap() = true;
    let error = kit.process_inbound(say("a", "u", "hi")).await.unwrap_err();
    assert_eq!(error.code(), "version_conflict");
    assert!(error.is_retryable());
    let error = kit.detach_channel("r", "a").await.unwrap_err();
    assert_eq!(error.code(), "version_conflict");
    *is_busy.lock().unwrap() = false;
    assert!(
        !kit.process_inbound(say("a", "u", "hi"))
            .await
            .unwrap()
            .blocked
    );
}

fn reason(result: &InboundResult) -> &str {
    result.reason.as_deref().unwrap_or_default()
}

fn edit(target: &EventId, edit_source: Option<&str>) -> EventContent {
    EventContent::Edit(EditContent {
        target_event_id: target.clone(),
        new_content: Box::new(EventContent::text("new")),
        edit_source: edit_source.map(str::to_owned),
    })
}

fn delete(target: &EventId, delete_type: DeleteType) -> EventContent {
    let mut content = DeleteContent::new(target.clone());
    content.delete_type = delete_type;
    content.into()
}

#[tokio::test]
async fn who_may_not_change_an_event_is_told_why() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let said = kit.process_inbound(say("a", "author", "hi")).await.unwrap();
    let (target, gone) = (said.event.unwrap().id.clone(), EventId::from("gone"));
    for (sender, content, code) in [
        ("author", edit(&gone, None), "target_event_not_found"),
        ("other", edit(&target, None), "not_original_author"),
        ("author", edit(&target, Some("system")), "not_authorized"),
        (
            "other",
            delete(&target, DeleteType::Sender),
            "not_original_author",
        ),
        (
            "author",
            delete(&target, DeleteType::System),
            "not_authorized",
        ),
        (
            "author",
            delete(&target, DeleteType::Admin),
            "not_authorized",
        ),
        (
            "stranger",
            delete(&target, DeleteType::Admin),
            "not_authorized",
        ),
    ] {
        let message = InboundMessage::new("a", sender, content).in_room("r");
        let result = kit.process_inbound(message).await.unwrap();
        assert!(result.blocked && result.event.is_none());
        assert_eq!(reason(&result), code, "{sender}");
    }
    // Without a participant nobody can be the author.
    for (content, code) in [
        (edit(&target, None), "identity_required_for_edit"),
        (
            delete(&target, DeleteType::Sender),
            "identity_required_for_delete",
        ),
        (
            delete(&target, DeleteType::Admin),
            "identity_required_for_delete",
        ),
    ] {
        let error = kit.send_event("r", "a", content).await.unwrap_err();
        assert_eq!(error.code(), code);
    }
    let stored = kit.event("r", &target).await.unwrap();
    assert!(!stored.is_edited() && !stored.is_deleted());
}

#[tokio::test]
async fn listeners_hear_of_what_is_blocked_and_of_what_a_closed_room_refuses() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let (blocked, refused) = (
        Heard::listen(&kit, "event_blocked"),
        Heard::listen(&kit, "room_refused_event"),
    );
    kit.hook(BeforeBroadcast, "filter", |_, _| async {
        HookResult::block("rude")
    });
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    let event = blocked.only(&kit).await;
    assert_eq!(event.event_id, result.event.map(|event| event.id.clone()));
    assert_eq!(event.data.get("reason"), Some(&"rude".into()));
    assert_eq!(event.data.get("hook_name"), Some(&"filter".into()));

    kit.close_room("r").await.unwrap();
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert_eq!(reason(&result), "room_closed");
    let event = refused.only(&kit).await;
    assert_eq!(event.channel_id, Some("a".into()));
    assert_eq!(event.data.get("event_type"), Some(&"message".into()));
}

/// Fails, panics or hangs, as told.
#[derive(Debug)]
struct Useless(&'static str);

#[async_trait]
impl IdentityResolver for Useless {
    async fn resolve(
        &self,
        _message: &InboundMessage,
        _context: &RoomContext,
    ) -> Result<IdentityResult> {
        match self.0 {
            "fails" => Err(Error::channel("no directory")),
            "hangs" => std::future::pending().await,
            how => panic!("{how}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_resolver_that_gives_no_answer_leaves_the_sender_unknown() {
    for how in ["fails", "panics", "hangs"] {
        let kit = RoomKit::builder()
            .identity(Arc::new(Useless(how)))
            .identity_timeout(Duration::from_secs(2))
            .build()
            .unwrap();
        room_of(&kit, vec![shared(&Transport::new("a"))]).await;
        let late = Heard::listen(&kit, "identity_timeout");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = Arc::clone(&asked);
        kit.hook(OnIdentityUnknown, "ask", move |case, _| {
            list.lock().unwrap().push(case.result.status);
            async { None::<IdentityDecision> }
        });
        let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
        assert!(!result.blocked, "{how}");
        assert_eq!(
            *asked.lock().unwrap(),
            [IdentificationStatus::Unknown],
            "{how}"
        );
        if how == "hangs" {
            assert_eq!(late.only(&kit).await.channel_id, Some("a".into()));
        }
    }
}

#[tokio::test]
async fn who_is_challenged_is_asked_and_the_message_is_held_back() {
    let kit = RoomKit::builder()
        .identity(Arc::new(Useless("fails")))
        .build()
        .unwrap();
    let sms = Transport::new("a");
    room_of(&kit, vec![shared(&sms)]).await;
    kit.hook(OnIdentityUnknown, "challenge", |_, _| async {
        let question = InjectedEvent::new(EventContent::text("who are you?"), ["a"]);
        IdentityDecision::Challenge(question)
    });
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert_eq!(reason(&result), "identity_challenge_sent");
    kit.wait_idle().await;
    assert_eq!(sms.texts(), ["who are you?"]);
}
