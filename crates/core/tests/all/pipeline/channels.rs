//! Attaching and its timeline, transcoding that skips, realtime events, direct sending.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelId, ChannelType, EphemeralEventType, EventContent, EventStatus,
    Metadata, TextContent,
};
use roomkit_core::router::ContentTranscoder;
use roomkit_core::{Channel, RoomKit, RoomOptions, WeakKit};

use super::support::{Agent, Transport, room_of, say, shared};

#[tokio::test]
async fn a_transcoder_that_returns_nothing_skips_that_delivery() {
    #[derive(Debug)]
    struct NotForB;
    #[async_trait]
    impl ContentTranscoder for NotForB {
        async fn transcode(
            &self,
            content: &EventContent,
            source: Option<&ChannelBinding>,
            target: &ChannelBinding,
        ) -> roomkit_core::Result<Option<EventContent>> {
            assert_eq!(source.unwrap().channel_id, *"a");
            Ok((target.channel_id != *"b").then(|| content.clone()))
        }
    }
    let kit = RoomKit::builder()
        .transcoder(Arc::new(NotForB))
        .build()
        .unwrap();
    let (a, b, c) = (
        Transport::new("a"),
        Transport::new("b"),
        Transport::new("c"),
    );
    room_of(&kit, vec![shared(&a), shared(&b), shared(&c)]).await;
    let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
    assert_eq!(result.delivery_results.len(), 1);
    assert!(b.texts().is_empty());
    assert_eq!(c.texts(), ["x"]);
}

#[tokio::test]
async fn binding_metadata_and_room_metadata_are_merged_quietly() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let mut one = Metadata::new();
    one.insert("temperature", 0.9);
    let mut two = Metadata::new();
    two.insert("tone", "formal");
    kit.update_binding_metadata("r", "a", one.clone())
        .await
        .unwrap();
    let binding = kit
        .update_binding_metadata("r", "a", two.clone())
        .await
        .unwrap();
    assert_eq!(binding.metadata.len(), 2);
    kit.update_room_metadata("r", one).await.unwrap();
    let room = kit.update_room_metadata("r", two).await.unwrap();
    assert_eq!(room.metadata.len(), 2);
    assert_eq!(room.event_count, 1, "no event but the attaching");
}

#[tokio::test]
async fn a_closed_room_is_closed_once_and_metadata_can_still_be_set() {
    let kit = RoomKit::new();
    room_of(&kit, vec![]).await;
    let closed = Arc::new(Mutex::new(0));
    let count = Arc::clone(&closed);
    kit.on("room_closed", move |_| {
        *count.lock().unwrap() += 1;
        async {}
    });
    let first = kit.close_room("r").await.unwrap();
    let second = kit.close_room("r").await.unwrap();
    assert_eq!(first, second);
    assert!(first.closed_at.is_some());
    kit.update_room_metadata("r", Metadata::new())
        .await
        .unwrap();
    kit.wait_idle().await;
    assert_eq!(*closed.lock().unwrap(), 1);
}

#[tokio::test]
async fn ephemeral_events_reach_listeners_of_their_room_and_no_timeline() {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    kit.create_room("other").await.unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    let subscription = kit
        .subscribe_room("r", move |event| {
            log.lock().unwrap().push(event.event_type);
            async {}
        })
        .await
        .unwrap();
    kit.publish_typing("r", "alice", true).await.unwrap();
    kit.publish_typing("other", "alice", true).await.unwrap();
    kit.publish_presence("r", "alice", EphemeralEventType::PresenceAway)
        .await
        .unwrap();
    kit.publish_reaction("r", "alice", "e1", "👍")
        .await
        .unwrap();
    kit.publish_read_receipt("r", "alice", "e1").await.unwrap();
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    assert_eq!(
        *heard.lock().unwrap(),
        [
            EphemeralEventType::TypingStart,
            EphemeralEventType::PresenceAway,
            EphemeralEventType::Reaction,
            EphemeralEventType::ReadReceipt
        ]
    );
    assert!(kit.unsubscribe_room(&subscription).await.unwrap());
    assert!(!kit.unsubscribe_room(&subscription).await.unwrap());
    assert!(kit.timeline("r", 0, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn direct_events_come_from_their_channel_or_from_the_system() {
    let kit = RoomKit::new();
    let (a, b) = (Transport::new("a"), Transport::new("b"));
    let agent = Agent::says("agent", "hm");
    room_of(&kit, vec![shared(&a), shared(&b), shared(&agent)]).await;
    let sent = kit
        .send_event("r", "a", TextContent::new("from a"))
        .participant("p")
        .addressed_to(Vec::<&str>::new())
        .await
        .unwrap();
    assert_eq!(sent.status, EventStatus::Delivered);
    assert_eq!(sent.source.participant_id.as_ref().unwrap(), "p");
    let note = kit
        .send_event("r", "system", TextContent::new("note"))
        .await
        .unwrap();
    assert_eq!(note.source.channel_id, *"system");
    assert_eq!(a.texts(), ["note", "hm"]);
    assert_eq!(b.texts(), ["from a", "note", "hm"]);
    assert_eq!(agent.heard().len(), 1, "an empty address asks nobody");
}

#[tokio::test(start_paused = true)]
async fn a_policy_set_on_a_live_room_holds_for_what_comes_after() {
    use roomkit_core::model::AgentResponsePolicy;
    let kit = RoomKit::builder().max_chain_depth(2).build().unwrap();
    let (user, x, y) = (
        Transport::new("user"),
        Agent::says("x", "x"),
        Agent::says("y", "y"),
    );
    room_of(&kit, vec![shared(&user), shared(&x), shared(&y)]).await;
    kit.process_inbound(say("user", "u", "1")).await.unwrap();
    assert_eq!((x.heard().len(), y.heard().len()), (2, 2));
    kit.set_agent_response_policy("r", AgentResponsePolicy::AddressedOnly)
        .await
        .unwrap();
    kit.process_inbound(say("user", "u", "2")).await.unwrap();
    assert_eq!((x.heard().len(), y.heard().len()), (3, 3));
    let own = RoomOptions::new()
        .id("own")
        .agent_response_policy(AgentResponsePolicy::AddressedOnly);
    let room = kit.create_room(own).await.unwrap();
    assert_eq!(
        room.agent_response_policy,
        AgentResponsePolicy::AddressedOnly
    );
    tokio::time::sleep(Duration::from_secs(1)).await;
}

/// A channel that uses its kit while it is registered.
struct Curious {
    id: ChannelId,
    breaks: bool,
}

#[async_trait]
impl Channel for Curious {
    fn id(&self) -> &ChannelId {
        &self.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Webhook
    }

    fn registered(&self, kit: WeakKit) {
        assert!(!self.breaks, "broken channel");
        let kit = kit.upgrade().unwrap();
        assert!(kit.channel("curious").is_none(), "nobody can find it yet");
        let again = kit.register_channel(Transport::new("curious"));
        assert_eq!(again.unwrap_err().code(), "channel_already_registered");
        assert!(kit.unregister_channel("curious").is_none());
        kit.register_channel(Transport::new("helper")).unwrap();
        assert_eq!(kit.channels().len(), 1);
    }
}

#[test]
fn a_channel_may_use_its_kit_while_it_is_registered() {
    let (sender, done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let kit = RoomKit::new();
        let channel = |breaks| Curious {
            id: "curious".into(),
            breaks,
        };
        let broken = std::panic::AssertUnwindSafe(|| kit.register_channel(channel(true)));
        assert!(std::panic::catch_unwind(broken).is_err());
        kit.register_channel(channel(false)).unwrap();
        sender.send(kit.channels().len()).unwrap();
    });
    assert_eq!(done.recv_timeout(Duration::from_secs(60)), Ok(2));
}

/// A kit may be put together before there is a runtime.
#[test]
fn a_listener_hears_what_happened_before_there_was_a_runtime_once_there_is_one() {
    let kit = RoomKit::new();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&heard);
    kit.on_any(move |event| {
        let log = Arc::clone(&log);
        async move { log.lock().unwrap().push(event.event_type.to_string()) }
    });
    kit.register_channel(Transport::new("a")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        kit.create_room("r").await.unwrap();
        kit.wait_idle().await;
    });
    assert_eq!(
        *heard.lock().unwrap(),
        ["channel_registered", "room_created"]
    );
}
