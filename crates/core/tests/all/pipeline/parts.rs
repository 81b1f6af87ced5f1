//! Parts that are plugged in and panic, hang, fail or answer with what cannot be: they harm nothing else.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::hook::{BeforeBroadcast, Hook, HookResult, InjectedEvent};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelId, ChannelType, EventContent, InboundMessage,
    RoomEvent, RoomId,
};
use roomkit_core::router::ContentTranscoder;
use roomkit_core::sync::{InProcessLocks, RoomLock, RoomLockManager};
use roomkit_core::{
    Channel, ChannelOutput, Error, ErrorKind, EventDraft, Reply, Result, RoomContext, RoomKit,
};

use super::scripted_store::ScriptedStore;
use super::support::{Agent, Transport, room_of, say, shared};

/// Panics or hangs on whatever is for the channel `bad`.
#[derive(Debug)]
struct BadTranscoder {
    hangs: bool,
}

#[async_trait]
impl ContentTranscoder for BadTranscoder {
    async fn transcode(
        &self,
        content: &EventContent,
        _source: Option<&ChannelBinding>,
        target: &ChannelBinding,
    ) -> Result<Option<EventContent>> {
        if target.channel_id == *"bad" {
            assert!(self.hangs, "broken transcoder");
            std::future::pending::<()>().await;
        }
        Ok(Some(content.clone()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_transcoder_that_panics_or_hangs_fails_its_delivery_alone() {
    for hangs in [false, true] {
        let kit = RoomKit::builder()
            .transcoder(Arc::new(BadTranscoder { hangs }))
            .delivery_timeout(Duration::from_secs(7))
            .build()
            .unwrap();
        let (a, bad, c) = (
            Transport::new("a"),
            Transport::new("bad"),
            Transport::new("c"),
        );
        room_of(&kit, vec![shared(&a), shared(&bad), shared(&c)]).await;
        for number in ["1", "2"] {
            let result = kit.process_inbound(say("a", "u", number)).await.unwrap();
            assert!(!result.blocked);
            assert!(result.delivery("c").unwrap().outcome.is_sent());
            assert!(!result.delivery("bad").unwrap().outcome.is_sent());
        }
        assert_eq!(c.texts(), ["1", "2"], "{hangs}");
    }
}

/// An agent that does not know its provider.
struct Nameless(ChannelId);

#[async_trait]
impl Channel for Nameless {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        panic!("no provider")
    }

    async fn on_event(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        Ok(ChannelOutput::text("answer"))
    }
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_panics_about_its_provider_answers_without() {
    let kit = RoomKit::new();
    let (a, slow) = (
        Transport::new("a"),
        Transport::new("slow").slow(Duration::from_secs(1)),
    );
    let agent: Arc<dyn Channel> = Arc::new(Nameless("agent".into()));
    room_of(&kit, vec![shared(&a), shared(&slow), agent]).await;
    kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    kit.send_event("r", "agent", EventContent::text("by the way"))
        .await
        .unwrap();
    assert_eq!(a.texts(), ["answer", "by the way"]);
    assert_eq!(slow.texts(), ["hi", "answer", "by the way"]);
}

#[tokio::test]
async fn an_answer_that_is_not_acceptable_is_named_and_not_stored() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    let agent = Agent::new("agent", |_, ctx| async move {
        let nowhere = Reply::new(EventContent::location(999.0, 0.0));
        Ok(ChannelOutput::reply(nowhere).with_task(ctx.task("find the place")))
    });
    room_of(&kit, vec![shared(&user), shared(&agent)]).await;
    let result = kit.process_inbound(say("user", "u", "where?")).await;
    let error = result.unwrap().error.unwrap();
    assert!(
        error.starts_with("invalid_input: content.latitude"),
        "{error}"
    );
    assert_eq!(kit.room("r").await.unwrap().event_count, 3);
    assert_eq!(kit.tasks("r").await.unwrap().len(), 1);
    assert!(user.events().is_empty());
}

#[tokio::test]
async fn an_injected_event_that_is_not_acceptable_is_not_stored() {
    let kit = RoomKit::new();
    let user = Transport::new("user");
    room_of(&kit, vec![shared(&user)]).await;
    kit.hook(BeforeBroadcast, "guide", |_, _| async {
        let nowhere = InjectedEvent::new(EventContent::location(999.0, 0.0), ["user"]);
        let here = InjectedEvent::new(EventContent::text("here"), ["user"]);
        HookResult::allow().inject(nowhere).inject(here)
    });
    kit.process_inbound(say("user", "u", "where?"))
        .await
        .unwrap();
    assert_eq!(user.texts(), ["here"]);
    assert_eq!(kit.room("r").await.unwrap().event_count, 3);
}

#[tokio::test]
async fn a_hook_that_answers_with_the_draft_of_another_event_has_failed() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    kit.create_room("s").await.unwrap();
    let first = Arc::new(Mutex::new(None));
    kit.hook(BeforeBroadcast, "forgetful", move |event: EventDraft, _| {
        let first = Arc::clone(&first);
        async move { HookResult::modify(first.lock().unwrap().get_or_insert(event).clone()) }
    });
    for (room, text) in [("r", "1"), ("r", "2"), ("s", "3")] {
        let message = InboundMessage::text("a", "u", text).in_room(room);
        let event = kit.process_inbound(message).await.unwrap().event.unwrap();
        assert_eq!((event.room_id.as_str(), event.text()), (room, Some(text)));
    }
}

/// A channel that makes the same event of every message.
struct Forgetful(ChannelId, Mutex<Option<EventDraft>>);

#[async_trait]
impl Channel for Forgetful {
    fn id(&self) -> &ChannelId {
        &self.0
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Webhook
    }

    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        let draft = EventDraft::inbound(message, ChannelType::Webhook, None, context);
        Ok(self.1.lock().unwrap().get_or_insert(draft).clone())
    }
}

#[tokio::test]
async fn a_channel_that_makes_an_event_of_another_room_has_failed() {
    let kit = RoomKit::new();
    let channel: Arc<dyn Channel> = Arc::new(Forgetful("f".into(), Mutex::default()));
    room_of(&kit, vec![channel]).await;
    kit.create_room("s").await.unwrap();
    kit.process_inbound(say("f", "u", "1")).await.unwrap();
    let elsewhere = InboundMessage::text("f", "u", "2").in_room("s");
    let error = kit.process_inbound(elsewhere).await.unwrap_err();
    assert_eq!(error.code(), "channel_failed");
    assert_eq!(kit.room("s").await.unwrap().event_count, 0);
}

#[tokio::test]
async fn a_room_that_changes_while_a_channel_is_attached_by_a_message_is_decided_on_anew() {
    let conflicts = Arc::new(AtomicBool::new(true));
    let store = ScriptedStore::new(move |call| {
        let conflict = call == "commit" && conflicts.swap(false, Ordering::SeqCst);
        async move {
            match conflict {
                true => Err(Error::new(ErrorKind::VersionConflict, "another was faster")),
                false => Ok(()),
            }
        }
    });
    let kit = RoomKit::builder().store(store).build().unwrap();
    kit.create_room("r").await.unwrap();
    kit.register_channel(Transport::new("a")).unwrap();
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert_eq!(result.event.unwrap().index, 1);
    assert!(kit.binding("r", "a").await.is_ok());
}

#[tokio::test]
async fn a_room_that_could_not_be_deleted_keeps_its_hooks() {
    let store = ScriptedStore::new(|call| async move {
        match call {
            "delete_room" => Err(Error::new(ErrorKind::StoreFailed, "disk full")),
            _ => Ok(()),
        }
    });
    let kit = RoomKit::builder().store(store).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let moderate = Hook::new(BeforeBroadcast, "moderate", |_, _| async {
        HookResult::block("not here")
    });
    kit.add_room_hook("r", moderate).await.unwrap();
    assert!(kit.delete_room("r").await.is_err());
    let result = kit.process_inbound(say("a", "u", "hi")).await.unwrap();
    assert!(result.blocked);
}

/// Locks of this process that claim to be everybody's.
#[derive(Debug)]
struct Distributed(InProcessLocks);

#[async_trait]
impl RoomLockManager for Distributed {
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock> {
        self.0.acquire(room).await
    }

    fn is_distributed(&self) -> bool {
        true
    }
}

#[tokio::test]
async fn a_shared_store_with_locks_of_one_process_is_refused_unless_it_is_meant() {
    let builder = || RoomKit::builder().store(ScriptedStore::shared());
    let in_process = || Arc::new(InProcessLocks::new());
    for refused in [builder(), builder().locks(in_process())] {
        let error = refused.build().unwrap_err();
        assert_eq!(error.code(), "invalid_input");
        assert!(error.message().starts_with("locks: "), "{error}");
        assert!(
            error.message().contains("allow_in_process_locks"),
            "{error}"
        );
    }
    let distributed = Arc::new(Distributed(InProcessLocks::new()));
    for meant in [
        builder().locks(distributed),
        builder().allow_in_process_locks(),
        RoomKit::builder().locks(in_process()),
    ] {
        meant.build().unwrap().create_room("r").await.unwrap();
    }
}
