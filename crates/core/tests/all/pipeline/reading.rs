//! How far channels have read, and what they have not.

use roomkit_core::model::{
    ChannelType, DeleteContent, EventContent, EventSource, EventStatus, InboundMessage, RoomEvent,
};
use roomkit_core::store::RoomCommit;
use roomkit_core::{EventDraft, RoomKit};

use super::support::{Transport, room_of, say, shared};

async fn kit_of_two() -> RoomKit {
    let kit = RoomKit::new();
    room_of(
        &kit,
        vec![shared(&Transport::new("a")), shared(&Transport::new("b"))],
    )
    .await;
    kit
}

async fn unread(kit: &RoomKit) -> (u64, u64) {
    (
        kit.unread_count("r", "a").await.unwrap(),
        kit.unread_count("r", "b").await.unwrap(),
    )
}

#[tokio::test]
async fn a_marker_moves_forward_only_and_own_events_never_count() {
    let kit = kit_of_two().await;
    assert_eq!(unread(&kit).await, (0, 0), "notices are not theirs to read");
    let mut said = Vec::new();
    for (channel, text) in [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")] {
        let result = kit.process_inbound(say(channel, "u", text)).await.unwrap();
        said.push(result.event.unwrap());
    }
    assert_eq!(unread(&kit).await, (1, 3));
    kit.mark_read("r", "b", &said[2].id).await.unwrap();
    assert_eq!(unread(&kit).await, (1, 1));
    kit.mark_read("r", "b", &said[0].id).await.unwrap();
    assert_eq!(unread(&kit).await, (1, 1), "not back");
    kit.mark_all_read("r", "b").await.unwrap();
    assert_eq!(unread(&kit).await, (1, 0));
    kit.process_inbound(say("b", "u", "5")).await.unwrap();
    assert_eq!(unread(&kit).await, (2, 0));
    let markers = kit.read_markers("r").await.unwrap();
    let markers: Vec<_> = markers
        .iter()
        .map(|marker| (marker.channel_id.to_string(), marker.index))
        .collect();
    assert_eq!(markers, [("b".to_owned(), said[3].index)]);
}

#[tokio::test]
async fn what_a_channel_may_not_see_and_what_was_deleted_is_not_unread() {
    use roomkit_core::hook::{BeforeBroadcast, HookResult};
    let kit = kit_of_two().await;
    kit.hook(BeforeBroadcast, "no", |event: EventDraft, _| async move {
        if event.text() == Some("blocked") {
            return HookResult::block("no");
        }
        HookResult::allow()
    });
    kit.process_inbound(say("a", "u", "blocked")).await.unwrap();
    kit.process_inbound(say("a", "u", "whisper").visibility("none"))
        .await
        .unwrap();
    assert_eq!(unread(&kit).await, (0, 0));
    let said = kit.process_inbound(say("a", "u", "gone")).await.unwrap();
    let said = said.event.unwrap();
    assert_eq!(unread(&kit).await, (0, 1));
    let delete = DeleteContent::new(said.id.clone());
    let delete = InboundMessage::new("a", "u", delete).in_room("r");
    kit.process_inbound(delete).await.unwrap();
    assert_eq!(unread(&kit).await, (0, 1), "the delete, not the deleted");
    kit.delete_event("r", &said.id).await.unwrap();
    assert_eq!(unread(&kit).await, (0, 0));
}

/// Stores this many events of channel `a`, without their pass.
async fn fill(kit: &RoomKit, events: u64) {
    for _ in 0..events {
        let room = kit.store().room(&"r".into()).await.unwrap().unwrap();
        let source = EventSource::new("a", ChannelType::Websocket);
        let mut event = RoomEvent::new("r", source, EventContent::text("x"), kit.now());
        event.index = room.room.next_index();
        event.status = EventStatus::Delivered;
        let mut commit = RoomCommit::new("r".into(), Some(room.version), kit.now());
        commit.event = Some(event.into());
        kit.store().commit(commit.into()).await.unwrap();
    }
}

#[tokio::test]
async fn many_unread_events_are_counted_over_pages_up_to_a_bound() {
    let kit = kit_of_two().await;
    fill(&kit, 1_203).await;
    assert_eq!(unread(&kit).await, (0, 1_203));
    let fifth = kit.timeline("r", 4, 1).await.unwrap().remove(0);
    kit.mark_read("r", "b", &fifth.id).await.unwrap();
    assert_eq!(unread(&kit).await, (0, 1_200));
    fill(&kit, 900).await;
    assert_eq!(unread(&kit).await, (0, 2_000), "no more are looked at");
}

#[tokio::test]
async fn unknown_channels_and_events_are_refused_and_a_closed_room_is_readable() {
    let kit = kit_of_two().await;
    let said = kit.process_inbound(say("a", "u", "x")).await.unwrap();
    let said = said.event.unwrap();
    kit.create_room("empty").await.unwrap();
    kit.attach_channel("empty", "a").await.unwrap();
    macro_rules! fails {
        ($($call:expr => $code:literal),+ $(,)?) => {$(
            assert_eq!($call.await.map(drop).unwrap_err().code(), $code, "{}", stringify!($call));
        )+};
    }
    fails!(
        kit.mark_read("r", "ghost", &said.id) => "channel_not_found",
        kit.mark_all_read("r", "ghost") => "channel_not_found",
        kit.unread_count("r", "ghost") => "channel_not_found",
        kit.mark_read("r", "a", "nothing") => "event_not_found",
        kit.mark_read("empty", "a", &said.id) => "event_not_found",
        kit.mark_read("gone", "a", &said.id) => "room_not_found",
    );
    assert!(kit.read_markers("r").await.unwrap().is_empty());
    kit.close_room("r").await.unwrap();
    kit.mark_all_read("r", "b").await.unwrap();
    assert_eq!(unread(&kit).await, (0, 0));
}
