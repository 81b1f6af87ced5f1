//! The memory store: what every store promises, and what it alone does.

use std::error::Error as _;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use chrono::{DateTime, Utc};
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelType, EventSource, Room, RoomEvent, TextContent,
};
use roomkit_core::store::{
    BindingChange, ConversationStore, MemoryStore, RoomCommit, RoomStore, Speaker, export_room,
    import_room,
};
use roomkit_testkit::store::TestStore;
use tokio::io::{AsyncRead, AsyncWrite, BufReader, ReadBuf};

async fn make_store() -> TestStore {
    TestStore::new(Arc::new(MemoryStore::new()))
}

roomkit_testkit::store_conformance!(make_store);

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 0).unwrap()
}

fn commit(room: &str, version: u64, index: u64) -> RoomCommit {
    let source = EventSource::new("a", ChannelType::Sms);
    let mut event = RoomEvent::new(room, source, TextContent::new("x"), now());
    event.index = index;
    let mut commit = RoomCommit::new(room.into(), Some(version), now());
    commit.event = Some(Arc::new(event));
    commit
}

/// Deleting a room costs what the room holds, whatever else there is.
#[tokio::test]
async fn a_room_goes_without_a_look_at_all_others() {
    let store = MemoryStore::new();
    let rooms: Vec<String> = (0..20_000).map(|number| format!("r{number}")).collect();
    for room in &rooms {
        store
            .create_room(Room::new(room.as_str(), now()))
            .await
            .unwrap();
        let mut commit = commit(room, 0, 0);
        commit.speaker = Some(Speaker {
            participant_id: room.as_str().into(),
            sender_id: room.as_str().into(),
            channel_id: "a".into(),
            channel_type: ChannelType::Sms,
        });
        store.commit(commit.into()).await.unwrap();
    }
    let started = std::time::Instant::now();
    for room in &rooms {
        assert!(store.delete_room(&room.as_str().into()).await.unwrap());
    }
    let seconds = started.elapsed().as_secs();
    assert!(seconds < 20, "{seconds} s, one is plenty");
}

/// A message of a new sender asks for the rooms of its channel, of which there may be any number.
#[tokio::test]
async fn rooms_of_a_channel_are_not_counted_to_give_two() {
    let store = MemoryStore::new();
    for number in 0..20_000 {
        let room = format!("r{number:05}");
        let created = Room::new(room.as_str(), now());
        store.create_room(created).await.unwrap();
        let (kind, category) = (ChannelType::Sms, ChannelCategory::Transport);
        let binding = ChannelBinding::new("a", room.as_str(), kind, category, now());
        let mut commit = RoomCommit::new(room.into(), None, now());
        commit.bindings.push(BindingChange::Put(Arc::new(binding)));
        store.commit(commit.into()).await.unwrap();
    }
    let started = std::time::Instant::now();
    for _ in 0..2_000 {
        let rooms = store.rooms_of_channel(None, &"a".into(), 2).await.unwrap();
        assert_eq!(rooms, ["r00000", "r00001"]);
    }
    let seconds = started.elapsed().as_secs();
    assert!(seconds < 5, "{seconds} s, a hundredth of one is plenty");
}

/// Reads a few bytes and then fails, and writes none.
struct Broken(&'static [u8]);

impl AsyncRead for Broken {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if self.0.is_empty() {
            return Poll::Ready(Err(std::io::Error::other("the disk is gone")));
        }
        buffer.put_slice(std::mem::take(&mut self.0));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Broken {
    fn poll_write(
        self: Pin<&mut Self>,
        _cx: &mut Context<'_>,
        _bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Err(std::io::Error::other("the disk is full")))
    }

    fn poll_flush(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

#[tokio::test]
async fn an_export_or_import_that_cannot_go_on_says_why() {
    let store = MemoryStore::new();
    store.create_room(Room::new("r", now())).await.unwrap();
    let error = export_room(&store, &"r".into(), &mut Broken(b"")).await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "store_failed");
    assert_eq!(error.source().unwrap().to_string(), "the disk is full");

    let other = MemoryStore::new();
    let input = BufReader::new(Broken(b"{\"ki"));
    let error = import_room(&other, input).await.unwrap_err();
    assert_eq!(error.code(), "store_failed");
    assert_eq!(error.message(), "line 1 cannot be read");
    assert!(other.room(&"r".into()).await.unwrap().is_none());
}
