//! What is refused, with which code, and what is stored of it.

use roomkit_core::model::{
    Access, ChannelType, CompositeContent, EventContent, EventStatus, EventType, InboundMessage,
    LocationContent, MediaContent, RoomStatus, TextContent,
};
use roomkit_core::store::{RoomCommit, RoomUpdate};
use roomkit_core::{ErrorKind, RoomKit, RoomOptions};

use super::support::{Transport, room_of, say, shared, timeline_texts};

async fn kit_of_two() -> (RoomKit, Transport) {
    let kit = RoomKit::new();
    let b = Transport::new("b");
    room_of(&kit, vec![shared(&Transport::new("a")), shared(&b)]).await;
    (kit, b)
}

async fn set_status(kit: &RoomKit, status: RoomStatus) {
    let room = kit.room("r").await.unwrap();
    let mut commit = RoomCommit::new("r".into(), None, room.created_at);
    let mut update = RoomUpdate::default();
    update.status = Some(status);
    commit.room = Some(Box::new(update));
    kit.store().commit(commit.into()).await.unwrap();
}

#[tokio::test]
async fn closed_and_archived_rooms_refuse_at_every_entry_and_can_be_read() {
    for status in [RoomStatus::Closed, RoomStatus::Archived] {
        let (kit, b) = kit_of_two().await;
        kit.process_inbound(say("a", "u", "before")).await.unwrap();
        set_status(&kit, status).await;
        let refused = kit.process_inbound(say("a", "u", "x")).await.unwrap();
        assert_eq!(refused.reason.as_deref(), Some("room_closed"));
        assert!(refused.event.is_none());
        let code = |error: roomkit_core::Error| error.code();
        let text = || TextContent::new("x");
        assert_eq!(
            kit.send_event("r", "a", text())
                .await
                .map_err(code)
                .unwrap_err(),
            "room_closed"
        );
        assert_eq!(
            kit.send_event("r", "system", text())
                .await
                .map_err(code)
                .unwrap_err(),
            "room_closed"
        );
        kit.register_channel(Transport::new("c")).unwrap();
        assert_eq!(
            kit.attach_channel("r", "c")
                .await
                .map_err(code)
                .unwrap_err(),
            "room_closed"
        );
        assert_eq!(
            kit.mute("r", "a").await.map_err(code).unwrap_err(),
            "room_closed"
        );
        assert_eq!(
            kit.detach_channel("r", "a")
                .await
                .map_err(code)
                .unwrap_err(),
            "room_closed"
        );
        let unbound = kit.process_inbound(say("c", "u", "x")).await.unwrap();
        assert_eq!(unbound.reason.as_deref(), Some("room_closed"));
        assert_eq!(timeline_texts(&kit).await, ["before"]);
        assert_eq!(kit.bindings("r").await.unwrap().len(), 2);
        assert_eq!(b.texts(), ["before"]);
    }
}

#[tokio::test]
async fn a_message_to_a_paused_room_is_taken_and_wakes_it() {
    let (kit, b) = kit_of_two().await;
    set_status(&kit, RoomStatus::Paused).await;
    let result = kit.process_inbound(say("a", "u", "hello?")).await.unwrap();
    assert!(!result.blocked);
    assert_eq!(kit.room("r").await.unwrap().status, RoomStatus::Active);
    assert_eq!(b.texts(), ["hello?"]);
}

#[tokio::test]
async fn what_may_not_write_is_stored_blocked_and_delivered_to_nobody() {
    for (access, muted, reason) in [
        (Access::ReadOnly, false, "source_read_only"),
        (Access::None, false, "source_read_only"),
        (Access::ReadWrite, true, "source_muted"),
        (Access::ReadOnly, true, "source_muted"),
    ] {
        let (kit, b) = kit_of_two().await;
        kit.set_access("r", "a", access).await.unwrap();
        if muted {
            kit.mute("r", "a").await.unwrap();
        }
        let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
        assert_eq!(result.reason.as_deref(), Some(reason));
        let stored = result.event.unwrap();
        assert_eq!(stored.status, EventStatus::Blocked);
        assert_eq!(stored.blocked_by.as_deref(), Some(reason));
        assert_eq!(
            kit.room("r").await.unwrap().latest_index,
            Some(stored.index)
        );
        assert!(b.texts().is_empty());
    }
}

#[tokio::test]
async fn a_repeat_gets_the_first_result_blocked_or_not_and_nothing_else_happens() {
    let (kit, b) = kit_of_two().await;
    let once = || say("a", "u", "once").idempotency_key("k");
    let first = kit.process_inbound(once()).await.unwrap();
    let again = kit.process_inbound(once()).await.unwrap();
    assert_eq!((again.blocked, again.event), (false, first.event));
    assert_eq!(b.texts(), ["once"]);
    kit.mute("r", "a").await.unwrap();
    let blocked = || say("a", "u", "muted").idempotency_key("m");
    let first = kit.process_inbound(blocked()).await.unwrap();
    kit.unmute("r", "a").await.unwrap();
    let again = kit.process_inbound(blocked()).await.unwrap();
    assert_eq!((again.blocked, again.reason), (true, first.reason));
    assert_eq!(again.event, first.event);
    let sent = || {
        kit.send_event("r", "a", TextContent::new("s"))
            .idempotency_key("s")
    };
    let first = sent().await.unwrap();
    assert_eq!(sent().await.unwrap(), first);
}

#[tokio::test]
async fn what_was_refused_unstored_may_come_again_under_its_key() {
    let (kit, _b) = kit_of_two().await;
    set_status(&kit, RoomStatus::Closed).await;
    let message = || say("a", "u", "x").idempotency_key("k");
    assert!(kit.process_inbound(message()).await.unwrap().blocked);
    set_status(&kit, RoomStatus::Active).await;
    assert!(!kit.process_inbound(message()).await.unwrap().blocked);
}

/// Bad input is an error that names the field, whichever way it comes.
#[tokio::test]
async fn bad_content_is_an_error_that_names_the_field() {
    let nested = (0..6).fold(EventContent::text("x"), |content, _| {
        CompositeContent {
            parts: vec![content],
        }
        .into()
    });
    let cases: Vec<(EventContent, &str)> = vec![
        (MediaContent::new("ftp://x", "image/png").into(), "url"),
        (LocationContent::new(91.0, 0.0).into(), "latitude"),
        (LocationContent::new(0.0, f64::NAN).into(), "longitude"),
        (CompositeContent { parts: vec![] }.into(), "parts"),
        (nested, "parts"),
    ];
    for (content, field) in cases {
        let (kit, _b) = kit_of_two().await;
        let inbound = InboundMessage::new("a", "u", content.clone()).in_room("r");
        let error = kit.process_inbound(inbound).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        assert!(error.to_string().contains(field), "{error} names {field}");
        let error = kit.send_event("r", "a", content).await.unwrap_err();
        assert!(error.to_string().contains(field), "{error} names {field}");
        assert!(timeline_texts(&kit).await.is_empty());
    }
    let (kit, _b) = kit_of_two().await;
    let plain = say("a", "u", "x").event_type(EventType::Edit);
    assert_eq!(
        kit.process_inbound(plain).await.unwrap_err().code(),
        "invalid_input"
    );
}

#[tokio::test]
async fn ids_are_checked_where_they_are_given() {
    let kit = RoomKit::new();
    for id in ["", " ", "a,b", "all", "none", "system", "internal", " a"] {
        let error = kit.register_channel(Transport::new(id)).unwrap_err();
        assert!(error.to_string().contains("channel_id"), "{error}");
    }
    kit.register_channel(Transport::new("a")).unwrap();
    let twice = kit.register_channel(Transport::new("a")).unwrap_err();
    assert_eq!(twice.code(), "channel_already_registered");
    assert_eq!(
        kit.create_room("").await.unwrap_err().code(),
        "invalid_input"
    );
    kit.create_room("r").await.unwrap();
    assert_eq!(
        kit.create_room("r").await.unwrap_err().code(),
        "room_already_exists"
    );
    let generated = kit.create_room(RoomOptions::new()).await.unwrap();
    assert_eq!(generated.latest_index, None);
    assert_eq!(
        kit.attach_channel("r", "ghost").await.unwrap_err().code(),
        "channel_not_registered"
    );
    assert_eq!(
        kit.attach_channel("nowhere", "a").await.unwrap_err().code(),
        "room_not_found"
    );
    assert_eq!(
        kit.mute("r", "a").await.unwrap_err().code(),
        "channel_not_found"
    );
    assert_eq!(
        kit.binding("r", "a").await.unwrap_err().code(),
        "channel_not_found"
    );
    assert!(!kit.detach_channel("r", "a").await.unwrap());
    let sent = kit.send_event("r", "a", TextContent::new("x")).await;
    assert_eq!(sent.unwrap_err().code(), "channel_not_found");
}

#[tokio::test]
async fn a_channel_that_panics_on_a_message_is_an_error_and_the_room_goes_on() {
    use async_trait::async_trait;
    use roomkit_core::model::{ChannelBinding, ChannelId, DeliveryOutcome, RoomEvent};
    use roomkit_core::{Channel, EventDraft, RoomContext};
    use std::sync::Arc;
    struct Broken(ChannelId);
    #[async_trait]
    impl Channel for Broken {
        fn id(&self) -> &ChannelId {
            &self.0
        }
        fn channel_type(&self) -> ChannelType {
            ChannelType::Webhook
        }
        async fn handle_inbound(
            &self,
            _message: InboundMessage,
            _context: &RoomContext,
        ) -> roomkit_core::Result<EventDraft> {
            panic!("broken parser")
        }
        async fn deliver(
            &self,
            _event: &Arc<RoomEvent>,
            _binding: &ChannelBinding,
            _context: &RoomContext,
        ) -> DeliveryOutcome {
            panic!("broken sender")
        }
    }
    let (kit, b) = kit_of_two().await;
    kit.register_channel(Broken("broken".into())).unwrap();
    kit.attach_channel("r", "broken").await.unwrap();
    let error = kit
        .process_inbound(say("broken", "u", "x"))
        .await
        .unwrap_err();
    assert_eq!(error.code(), "channel_failed");
    let result = kit.process_inbound(say("a", "u", "y")).await.unwrap();
    let outcome = &result.delivery("broken").unwrap().outcome;
    assert!(
        matches!(outcome, DeliveryOutcome::Unknown(_)),
        "{outcome:?}"
    );
    assert_eq!(b.texts(), ["y"]);
}
