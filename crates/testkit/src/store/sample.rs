//! Rooms and commits to try a store with.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelType, EventId, EventSource, Room, RoomEvent,
    TextContent,
};
use roomkit_core::store::{
    BindingChange, ConversationStore, EventQuery, IdempotentOutcome, RoomCommit, RoomSnapshot,
    Speaker,
};

use super::TestStore;

pub(super) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 0).unwrap()
}

/// A moment some seconds after [`now`].
pub(super) fn after(seconds: i64) -> DateTime<Utc> {
    now() + TimeDelta::seconds(seconds)
}

pub(super) fn event_of(room: &str, index: u64, text: &str) -> RoomEvent {
    let source = EventSource::new("a", ChannelType::Sms);
    let mut event = RoomEvent::new(room, source, TextContent::new(text), now());
    event.index = index;
    event
}

/// A commit of an event to a room at `version`.
pub(super) fn commit(room: &str, version: u64, index: u64) -> RoomCommit {
    commit_of(version, event_of(room, index, &index.to_string()))
}

pub(super) fn commit_of(version: u64, event: RoomEvent) -> RoomCommit {
    let mut commit = RoomCommit::new(event.room_id.clone(), Some(version), now());
    commit.event = Some(Arc::new(event));
    commit
}

/// A commit without an event.
pub(super) fn effects(room: &str) -> RoomCommit {
    RoomCommit::new(room.into(), None, now())
}

pub(super) fn outcome(key: &str, event: &EventId) -> IdempotentOutcome {
    IdempotentOutcome {
        key: key.into(),
        event_id: event.clone(),
        blocked: false,
        reason: None,
    }
}

pub(super) fn speaker(participant: &str, sender: &str, channel: &str) -> Speaker {
    Speaker {
        participant_id: participant.into(),
        sender_id: sender.into(),
        channel_id: channel.into(),
        channel_type: ChannelType::Sms,
    }
}

pub(super) fn binding(room: &str, channel: &str) -> Arc<ChannelBinding> {
    let (kind, category) = (ChannelType::Sms, ChannelCategory::Transport);
    Arc::new(ChannelBinding::new(channel, room, kind, category, now()))
}

pub(super) fn attach(room: &str, channel: &str) -> BindingChange {
    BindingChange::Put(binding(room, channel))
}

pub(super) async fn create(store: &dyn ConversationStore, room: &str) -> RoomSnapshot {
    store.create_room(Room::new(room, now())).await.unwrap()
}

/// A store with these rooms in it.
pub(super) async fn with_rooms(test: TestStore, rooms: &[&str]) -> TestStore {
    for room in rooms {
        create(&**test.store(), room).await;
    }
    test
}

/// Commits this many events to a room that has none.
pub(super) async fn fill(store: &dyn ConversationStore, room: &str, events: u64) {
    for index in 0..events {
        store
            .commit(commit(room, index, index).into())
            .await
            .unwrap();
    }
}

pub(super) async fn snapshot(store: &dyn ConversationStore, room: &str) -> RoomSnapshot {
    store.room(&room.into()).await.unwrap().unwrap()
}

pub(super) async fn indexes(
    store: &dyn ConversationStore,
    room: &str,
    query: &EventQuery,
) -> Vec<u64> {
    let events = store.events(&room.into(), query).await.unwrap();
    events.iter().map(|event| event.index).collect()
}

pub(super) fn texts(ids: impl IntoIterator<Item = impl ToString>) -> Vec<String> {
    ids.into_iter().map(|id| id.to_string()).collect()
}
