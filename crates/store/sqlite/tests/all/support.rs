//! Stores in temporary folders, and rooms to put into them.

use std::path::PathBuf;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::StreamExt;
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelType, EventSource, Metadata, Observation, ReadMarker,
    Room, RoomEvent, Task, TextContent,
};
use roomkit_core::store::{
    ArchiveStore, BindingChange, ConversationStore, IdempotentOutcome, OwedDelivery, OwedKind,
    RoomCommit, RoomPart, Speaker,
};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use tempfile::TempDir;

/// A folder with a database, removed at the end.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn config(&self) -> SqliteConfig {
        SqliteConfig::new(self.0.path().join("rooms.db"))
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) async fn open(&self) -> SqliteStore {
        SqliteStore::open(self.config()).await.unwrap()
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

/// A file of `tests/data`.
pub(crate) fn sample(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// A room in which there is something of everything, as the databases of `tests/data` hold it.
pub(crate) async fn full_room(store: &dyn ConversationStore) {
    let mut room = Room::new("full", now());
    room.organization_id = Some("acme".into());
    room.metadata = Metadata::new().with("topic", "billing");
    store.create_room(room).await.unwrap();
    for index in 0..8 {
        let mut said = event(
            "full",
            index,
            &format!("Can't find invoice №{index}, Grüße"),
        );
        said.id = format!("event-{index}").into();
        said.source.raw_payload = Metadata::new().with("n", index);
        said.parent_event_id = (index > 4).then(|| "event-1".into());
        let mut commit = say("full", index, "");
        commit.idempotency = Some(IdempotentOutcome {
            key: format!("key-{index}"),
            event_id: said.id.clone(),
            blocked: index == 3,
            reason: (index == 3).then(|| "why".into()),
        });
        commit.speaker = Some(Speaker {
            participant_id: "alice".into(),
            sender_id: "+1".into(),
            channel_id: "a".into(),
            channel_type: ChannelType::Sms,
        });
        let owed = OwedDelivery::new(&said, "b".into(), OwedKind::Delivery);
        commit.owed.push(owed);
        commit.event = Some(Arc::new(said));
        if index == 0 {
            let category = ChannelCategory::Transport;
            for channel in ["a", "b", "c"] {
                let binding =
                    ChannelBinding::new(channel, "full", ChannelType::Sms, category, now());
                commit.bindings.push(BindingChange::Put(Arc::new(binding)));
            }
            commit.bindings.push(BindingChange::Detach("c".into()));
            let mut task = Task::new("full", "call back", now());
            task.id = "task".into();
            commit.tasks.push(task);
            let mut seen = Observation::new("full", "a", "mood", "fine", now());
            seen.id = "observation".into();
            commit.observations.push(seen);
        }
        store.commit(commit.into()).await.unwrap();
    }
    let mut edit = RoomCommit::new("full".into(), Some(8), now());
    let mut edited = event("full", 2, "Never mind");
    edited.id = "event-2".into();
    edit.edited = Some(Arc::new(edited));
    store.commit(edit.into()).await.unwrap();
    store
        .delete_events(&"full".into(), &["event-6".into()])
        .await
        .unwrap();
    let marker = ReadMarker {
        room_id: "full".into(),
        channel_id: "b".into(),
        index: 4,
        read_at: now(),
    };
    store.mark_read(marker).await.unwrap();
}
