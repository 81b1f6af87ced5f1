//! The audit notices: one change of what was acknowledged or of what is there is a violation.

use std::sync::Arc;

use roomkit_core::RoomKit;
use roomkit_core::model::InboundMessage;
use roomkit_core::store::{
    ConversationStore, EventQuery, EventStore, MemoryStore, ParticipantStore,
};
use roomkit_durability::audit::{Acknowledged, audit};
use roomkit_durability::protocol::{Send, room_id};
use roomkit_testkit::MockChannel;

async fn violations(store: &dyn ConversationStore, acknowledged: &Acknowledged) -> Vec<String> {
    audit(store, 2, acknowledged).await.unwrap()
}

fn message(room: usize, key: &str) -> Send {
    Send {
        room,
        key: key.into(),
        sender: "ann".into(),
    }
}

/// A store with two rooms and three messages, and what was acknowledged of them.
async fn sample() -> (Arc<MemoryStore>, Acknowledged) {
    let store = Arc::new(MemoryStore::new());
    let kit = RoomKit::builder().store(store.clone()).build().unwrap();
    kit.register_channel(MockChannel::new("in")).unwrap();
    let mut acknowledged = Acknowledged::default();
    for (room, keys) in [(0, ["a", "b"]), (1, ["c", "d"])] {
        let id = room_id(room);
        kit.create_room(id.as_str()).await.unwrap();
        kit.attach_channel(id.as_str(), "in").await.unwrap();
        for key in keys {
            let message = message(room, key);
            let inbound = InboundMessage::text("in", "ann", message.text())
                .in_room(id.as_str())
                .idempotency_key(key);
            let stored = kit.process_inbound(inbound).await.unwrap().event.unwrap();
            acknowledged.note(message, stored.index).unwrap();
        }
    }
    (store, acknowledged)
}

#[tokio::test]
async fn what_is_right_has_no_violation() {
    let (store, acknowledged) = sample().await;
    assert_eq!(
        violations(&*store, &acknowledged).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_lost_message_and_a_gap_are_noticed() {
    let (store, acknowledged) = sample().await;
    let room = room_id(0).as_str().into();
    let last = store.events(&room, &EventQuery::last(1)).await.unwrap();
    store
        .delete_events(&room, &[last[0].id.clone()])
        .await
        .unwrap();
    let found = violations(&*store, &acknowledged).await.join("; ");
    assert!(found.contains("b: acknowledged and lost"), "{found}");
    assert!(found.contains("the counters say"), "{found}");
    let (store, acknowledged) = sample().await;
    let first = store.events(&room, &EventQuery::first(1)).await.unwrap();
    store
        .delete_events(&room, &[first[0].id.clone()])
        .await
        .unwrap();
    let found = violations(&*store, &acknowledged).await.join("; ");
    assert!(found.contains("a gap or a repeat"), "{found}");
}

#[tokio::test]
async fn a_lost_speaker_and_a_lost_room_are_noticed() {
    let (store, acknowledged) = sample().await;
    let room = room_id(0).as_str().into();
    store
        .delete_participant(&room, &"ann".into())
        .await
        .unwrap();
    let found = violations(&*store, &acknowledged).await;
    assert_eq!(found.len(), 2, "{found:?}");
    let empty = MemoryStore::new();
    assert_eq!(violations(&empty, &acknowledged).await.len(), 4);
}

#[tokio::test]
async fn another_index_and_an_unknown_key_are_noticed() {
    let (store, mut acknowledged) = sample().await;
    assert!(acknowledged.note(message(0, "a"), 7).is_err());
    let found = violations(&*store, &acknowledged).await;
    assert_eq!(found, ["room-0: a: acknowledged at 7, is at 1"]);
    let (store, mut acknowledged) = sample().await;
    acknowledged.note(message(1, "never"), 9).unwrap();
    let found = violations(&*store, &acknowledged).await;
    assert_eq!(found, ["room-1: never: acknowledged and lost"]);
}
