//! Which room a message gets that names none; the answer is never a guess.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::hook::{BeforeBroadcast, HookResult};
use roomkit_core::model::{ChannelId, ChannelType, InboundMessage, RoomId, TextContent};
use roomkit_core::router::{InboundRoomRouter, RouteRequest};
use roomkit_core::{Channel, EventDraft, Result, RoomContext, RoomKit, RoomOptions, WeakKit};

use super::support::Transport;

async fn kit_of(rooms: &[(&str, &[&str])]) -> RoomKit {
    let kit = RoomKit::new();
    for channel in ["sms", "sms-2", "ws"] {
        let channel_type = if channel == "ws" {
            ChannelType::Websocket
        } else {
            ChannelType::Sms
        };
        kit.register_channel(Transport::new(channel).of_type(channel_type))
            .unwrap();
    }
    for (room, channels) in rooms {
        kit.create_room(*room).await.unwrap();
        for channel in *channels {
            kit.attach_channel(*room, *channel).await.unwrap();
        }
    }
    kit
}

async fn room_of(kit: &RoomKit, channel: &str, sender: &str) -> RoomId {
    let message = InboundMessage::text(channel, sender, "hi");
    let result = kit.process_inbound(message).await.unwrap();
    result.event.unwrap().room_id.clone()
}

async fn speak_in(kit: &RoomKit, room: &str, channel: &str, sender: &str) {
    let message = InboundMessage::text(channel, sender, "hi").in_room(room);
    kit.process_inbound(message).await.unwrap();
}

#[tokio::test]
async fn the_one_room_where_the_sender_spoke_comes_before_the_one_that_is_bound() {
    let kit = kit_of(&[("x", &["sms"]), ("y", &["sms-2"])]).await;
    speak_in(&kit, "y", "sms-2", "+1").await;
    assert_eq!(room_of(&kit, "sms", "+2").await, *"x");
    // The same type of channel, another channel: it joins the room where +1 is known.
    assert_eq!(room_of(&kit, "sms", "+1").await, *"y");
}

#[tokio::test]
async fn several_rooms_of_either_make_a_new_one() {
    let kit = kit_of(&[("x", &["sms"]), ("y", &["sms"])]).await;
    let new = room_of(&kit, "sms", "+1").await;
    assert!(new != *"x" && new != *"y");
    assert_eq!(
        room_of(&kit, "sms", "+1").await,
        new,
        "where +1 spoke since"
    );
    speak_in(&kit, "x", "sms", "+1").await;
    let newer = room_of(&kit, "sms", "+1").await;
    assert!(newer != new && newer != *"x");
}

#[tokio::test]
async fn closed_rooms_are_not_candidates() {
    let kit = kit_of(&[("x", &["sms"]), ("y", &["sms"])]).await;
    speak_in(&kit, "x", "sms", "+1").await;
    kit.close_room("x").await.unwrap();
    assert_eq!(
        room_of(&kit, "sms", "+1").await,
        *"y",
        "the one open room that is bound"
    );
}

#[tokio::test]
async fn a_detached_channel_stays_out_until_it_is_attached_by_hand() {
    let kit = kit_of(&[("x", &["sms"])]).await;
    speak_in(&kit, "x", "sms", "+1").await;
    kit.detach_channel("x", "sms").await.unwrap();
    let message = InboundMessage::text("sms", "+1", "hi");
    let result = kit.process_inbound(message).await.unwrap();
    assert_eq!(result.reason.as_deref(), Some("source_unbound"));
    kit.attach_channel("x", "sms").await.unwrap();
    assert_eq!(room_of(&kit, "sms", "+1").await, *"x");
}

#[tokio::test]
async fn who_is_kept_out_of_a_room_takes_no_part_in_it() {
    let kit = kit_of(&[("x", &["sms"]), ("y", &["sms-2"])]).await;
    speak_in(&kit, "x", "sms", "+1").await;
    kit.detach_channel("y", "sms-2").await.unwrap();
    for sender in ["+1", "+2"] {
        speak_in(&kit, "y", "sms-2", sender).await;
    }
    assert_eq!(kit.participants("y").await.unwrap(), []);
    assert_eq!(
        room_of(&kit, "sms", "+1").await,
        *"x",
        "where +1 spoke, not where they tried to"
    );
}

#[tokio::test]
async fn rooms_of_an_organisation_are_found_by_its_own_handle_alone() {
    let kit = kit_of(&[]).await;
    let acme = kit.org("acme");
    acme.create_room("x").await.unwrap();
    acme.attach_channel("x", "sms").await.unwrap();
    let message = || InboundMessage::text("sms", "+1", "hi");
    let inside = acme
        .process_inbound(message())
        .await
        .unwrap()
        .event
        .unwrap();
    assert_eq!(inside.room_id, *"x");
    let other = kit
        .org("other")
        .process_inbound(message())
        .await
        .unwrap()
        .event
        .unwrap();
    assert!(other.room_id != *"x");
    let room = kit.room(other.room_id.clone()).await.unwrap();
    assert_eq!(room.organization_id.as_ref().unwrap(), "other");
}

#[tokio::test]
async fn the_application_may_route_itself() {
    #[derive(Debug)]
    struct Fixed;
    #[async_trait]
    impl InboundRoomRouter for Fixed {
        async fn route(&self, request: &RouteRequest) -> roomkit_core::Result<Option<RoomId>> {
            assert_eq!(request.channel_type, ChannelType::Sms);
            Ok(Some("fixed".into()))
        }
    }
    let kit = RoomKit::builder().router(Arc::new(Fixed)).build().unwrap();
    kit.register_channel(Transport::new("sms").of_type(ChannelType::Sms))
        .unwrap();
    assert_eq!(room_of(&kit, "sms", "+1").await, *"fixed");
}

#[tokio::test]
async fn a_thread_reply_points_at_the_root_whatever_it_was_given() {
    let kit = kit_of(&[]).await;
    kit.create_room(RoomOptions::new().id("r")).await.unwrap();
    let send = |text: &str| kit.send_event("r", "system", TextContent::new(text));
    let root = send("root").await.unwrap();
    let reply = send("reply").parent(&root.id).await.unwrap();
    let deeper = send("deeper").parent(&reply.id).await.unwrap();
    let lost = send("lost").parent("nowhere").await.unwrap();
    assert_eq!(reply.parent_event_id.as_ref(), Some(&root.id));
    assert_eq!(deeper.parent_event_id.as_ref(), Some(&root.id));
    assert_eq!(lost.parent_event_id, None);
}

#[tokio::test]
async fn a_message_makes_no_room_without_a_name() {
    let kit = RoomKit::new();
    kit.register_channel(Transport::new("a")).unwrap();
    for id in ["", "  "] {
        let message = InboundMessage::text("a", "u", "hi").in_room(id);
        let error = kit.process_inbound(message).await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid_input: room_id: must not be empty"
        );
        assert_eq!(kit.room(id).await.unwrap_err().code(), "room_not_found");
    }
}

/// Brings in a message of the sender whose message is being taken in.
async fn bring_in_another(kit: &WeakKit) {
    let another = InboundMessage::text("batch", "u", "another");
    let refused = kit.upgrade().unwrap().process_inbound(another).await;
    assert_eq!(refused.unwrap_err().code(), "inside_room_lock");
}

/// A channel that finds several messages in one.
struct Batch(ChannelId, WeakKit);

#[async_trait]
impl Channel for Batch {
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
        bring_in_another(&self.1).await;
        let channel_type = self.channel_type();
        Ok(EventDraft::inbound(message, channel_type, None, context))
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_the_turn_of_a_sender_whose_turn_it_is() {
    let kit = RoomKit::new();
    kit.register_channel(Batch("batch".into(), kit.downgrade()))
        .unwrap();
    let weak = kit.downgrade();
    kit.hook(BeforeBroadcast, "bring_in", move |_, _| {
        let weak = weak.clone();
        async move {
            bring_in_another(&weak).await;
            HookResult::allow()
        }
    });
    let started = tokio::time::Instant::now();
    let message = InboundMessage::text("batch", "u", "one");
    let result = kit.process_inbound(message).await.unwrap();
    assert_eq!(result.event.unwrap().text(), Some("one"));
    assert_eq!(started.elapsed().as_secs(), 0);
}
