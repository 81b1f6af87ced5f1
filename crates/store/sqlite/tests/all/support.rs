//! Stores in temporary folders, and rooms to put into them.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::StreamExt;
use roomkit_core::model::{ChannelType, EventSource, Room, RoomEvent, TextContent};
use roomkit_core::store::{ArchiveStore, ConversationStore, RoomCommit, RoomPart};
use roomkit_store_sqlite::{SqliteOptions, SqliteStore};
use tempfile::TempDir;

/// A folder with a database, removed at the end.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn options(&self) -> SqliteOptions {
        SqliteOptions::new(self.0.path().join("rooms.db"))
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.options()).await.unwrap()
    }
}

pub(crate) fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 123_456_000).unwrap()
}

pub(crate) fn event(room: &str, index: u64, text: &str) -> RoomEvent {
    let source = EventSource::new("a", ChannelType::Sms);
    let at = now() + TimeDelta::seconds(i64::try_from(index).unwrap());
    let mut event = RoomEvent::new(room, source, TextContent::new(text), at);
    event.index = index;
    event
}

/// A commit of one event to a room that has only had such.
pub(crate) fn say(room: &str, index: u64, text: &str) -> RoomCommit {
    let mut commit = RoomCommit::new(room.into(), Some(index), now());
    commit.event = Some(Arc::new(event(room, index, text)));
    commit
}

pub(crate) async fn room_with(store: &dyn ConversationStore, room: &str, events: u64) {
    store.create_room(Room::new(room, now())).await.unwrap();
    for index in 0..events {
        let commit = say(room, index, &format!("word{index} hello"));
        store.commit(commit.into()).await.unwrap();
    }
}

pub(crate) async fn dump(store: &(impl ArchiveStore + ?Sized), room: &str) -> Vec<RoomPart> {
    let parts = store.dump(&room.into()).collect::<Vec<_>>().await;
    parts.into_iter().map(Result::unwrap).collect()
}
