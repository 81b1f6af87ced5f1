//! A message and no more, committed on what is known of the room and no longer holds.

use roomkit_core::ErrorKind;
use roomkit_core::model::{ChannelType, Room, RoomStatus};
use roomkit_core::store::{
    ConversationStore, ParticipantStore, RoomCommit, RoomStore, RoomUpdate, Speaker,
};
use roomkit_core::sync::FencingToken;

use crate::support::{TestSchema, commit, now, say, whole_timeline};

/// A message of `alice` on a room that is at `version`.
fn by_alice(version: u64, index: u64) -> RoomCommit {
    let mut commit = commit("r", version, index, &format!("e{index}"));
    commit.speaker = Some(Speaker {
        participant_id: "alice".into(),
        sender_id: "+1".into(),
        channel_id: "a".into(),
        channel_type: ChannelType::Sms,
    });
    commit
}

#[tokio::test]
async fn a_room_that_another_process_changed_is_not_taken_for_what_it_was() {
    let schema = TestSchema::new();
    let (here, there) = (schema.open().await, schema.open().await);
    here.create_room(Room::new("r", now())).await.unwrap();
    here.room(&"r".into()).await.unwrap();
    let mut change = RoomCommit::new("r".into(), Some(0), now());
    let mut update = RoomUpdate::default();
    update.status = Some(RoomStatus::Paused);
    change.room = Some(update.into());
    there.commit(change.into()).await.unwrap();
    let receipt = here.commit(by_alice(1, 0).into()).await.unwrap();
    let snapshot = receipt.into_first();
    assert_eq!(snapshot.room.status, RoomStatus::Paused);
    assert_eq!((snapshot.version, snapshot.room.event_count), (2, 1));
    let read = there.room(&"r".into()).await.unwrap().unwrap();
    assert_eq!(snapshot.room, read.room);
}

#[tokio::test]
async fn who_was_removed_and_speaks_again_is_a_participant_again() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    for turn in 0..3 {
        store.commit(by_alice(turn, turn).into()).await.unwrap();
        let there = store.participants(&"r".into()).await.unwrap();
        assert_eq!(there.len(), 1);
        if turn == 1 {
            let alice = "alice".into();
            assert!(store.delete_participant(&"r".into(), &alice).await.unwrap());
        }
    }
}

#[tokio::test]
async fn what_is_refused_says_why_and_changes_nothing() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    let mut first = by_alice(0, 0);
    first.fencing = Some(FencingToken(7));
    store.commit(first.into()).await.unwrap();
    let mut late = by_alice(1, 1);
    late.fencing = Some(FencingToken(6));
    let refused = [
        (late, ErrorKind::StaleFencingToken),
        (by_alice(0, 1), ErrorKind::VersionConflict),
        (by_alice(1, 2), ErrorKind::VersionConflict),
        (commit("r", 1, 1, "e0"), ErrorKind::VersionConflict),
    ];
    for (commit, kind) in refused {
        let error = store.commit(commit.into()).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
    }
    assert_eq!(whole_timeline(&store, "r").await, ["e0"]);
    let snapshot = say(&store, "r", "e1").await.unwrap();
    assert_eq!((snapshot.version, snapshot.room.event_count), (2, 2));
}
