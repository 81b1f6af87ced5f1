//! The memory store through the store traits: what a commit holds together, and what it refuses.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use roomkit_core::ErrorKind;
use roomkit_core::model::{
    ChannelBinding, ChannelCategory, ChannelType, EventFilter, EventSource, EventType, Identity,
    ReadMarker, Room, RoomEvent, RoomStatus, TextContent,
};
use roomkit_core::store::{
    BindingChange, BindingStore, CommitBatch, ConversationStore, DeliveryStore, EventQuery,
    EventStore, IdempotentOutcome, IdentityStore, MemoryStore, OwedDelivery, OwedKind, Page,
    ParticipantStore, ReadStore, RoomCommit, RoomFilter, RoomStore, Speaker,
};
use roomkit_core::sync::FencingToken;

fn now() -> DateTime<Utc> {
    DateTime::from_timestamp(1_780_000_000, 0).unwrap()
}

fn event(room: &str, index: u64) -> Arc<RoomEvent> {
    let source = EventSource::new("a", ChannelType::Sms);
    let mut event = RoomEvent::new(room, source, TextContent::new(index.to_string()), now());
    event.index = index;
    Arc::new(event)
}

fn commit(room: &str, version: u64, index: u64) -> RoomCommit {
    let mut commit = RoomCommit::new(room.into(), Some(version), now());
    commit.event = Some(event(room, index));
    commit
}

async fn store_of(rooms: &[&str]) -> MemoryStore {
    let store = MemoryStore::new();
    for room in rooms {
        store.create_room(Room::new(*room, now())).await.unwrap();
    }
    store
}

async fn indexes(store: &MemoryStore, query: EventQuery) -> Vec<u64> {
    let events = store.events(&"r".into(), &query).await.unwrap();
    events.iter().map(|event| event.index).collect()
}

#[tokio::test]
async fn an_event_and_the_counters_of_its_room_are_one_commit() {
    let store = store_of(&["r"]).await;
    let created = store.room(&"r".into()).await.unwrap().unwrap();
    assert_eq!(
        (created.room.event_count, created.room.latest_index),
        (0, None)
    );
    for index in 0..3 {
        let receipt = store
            .commit(commit("r", index, index).into())
            .await
            .unwrap();
        let room = receipt.into_first();
        assert_eq!(room.version, index + 1);
        assert_eq!(
            (room.room.event_count, room.room.latest_index),
            (index + 1, Some(index))
        );
        assert_eq!(room.room.timers.last_activity_at, Some(now()));
    }
    assert_eq!(indexes(&store, EventQuery::first(9)).await, [0, 1, 2]);
}

#[tokio::test]
async fn what_was_decided_on_an_older_room_is_refused_whole() {
    let store = store_of(&["r", "s"]).await;
    store.commit(commit("r", 0, 0).into()).await.unwrap();
    for stale in [commit("r", 0, 1), commit("r", 1, 0), commit("r", 1, 2)] {
        // The other room's part is in the same batch and must not be kept either.
        let batch = CommitBatch::from(commit("s", 0, 0)).and(stale);
        let error = store.commit(batch).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionConflict);
        assert!(error.is_retryable());
    }
    assert_eq!(store.room(&"s".into()).await.unwrap().unwrap().version, 0);
    let batch = CommitBatch::from(commit("s", 0, 0)).and(commit("r", 1, 1));
    assert_eq!(store.commit(batch).await.unwrap().rooms().count(), 2);
    let gone = store.commit(commit("gone", 0, 0).into()).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::RoomNotFound);
}

#[tokio::test]
async fn a_holder_that_has_lost_its_lock_can_no_longer_commit() {
    let store = store_of(&["r"]).await;
    let fenced = |version, index, token| {
        let mut commit = commit("r", version, index);
        commit.fencing = Some(FencingToken(token));
        commit
    };
    store.commit(fenced(0, 0, 7).into()).await.unwrap();
    let stale = store.commit(fenced(1, 1, 6).into()).await.unwrap_err();
    assert_eq!(stale.kind(), ErrorKind::StaleFencingToken);
    store.commit(fenced(1, 1, 7).into()).await.unwrap();
    store.commit(fenced(2, 2, 8).into()).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_that_race_with_one_key_one_is_stored() {
    let store = Arc::new(store_of(&["r"]).await);
    let racers: Vec<_> = (0..200)
        .map(|_| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                loop {
                    if let Some(first) = store.idempotent_outcome(&"r".into(), "k").await.unwrap() {
                        return first.event_id;
                    }
                    let room = store.room(&"r".into()).await.unwrap().unwrap();
                    let mut commit = commit("r", room.version, room.room.next_index());
                    let event_id = commit.event.as_ref().unwrap().id.clone();
                    commit.idempotency = Some(IdempotentOutcome {
                        key: "k".into(),
                        event_id: event_id.clone(),
                        blocked: false,
                        reason: None,
                    });
                    match store.commit(commit.into()).await {
                        Ok(_) => return event_id,
                        Err(error) => assert_eq!(error.kind(), ErrorKind::VersionConflict),
                    }
                }
            })
        })
        .collect();
    let mut ids = Vec::new();
    for racer in racers {
        ids.push(racer.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "all got the first one's outcome");
    assert_eq!(indexes(&store, EventQuery::first(9)).await, [0]);
}

#[tokio::test]
async fn a_deleted_event_leaves_a_hole_and_its_index_is_not_used_again() {
    let store = store_of(&["r"]).await;
    for index in 0..3 {
        store
            .commit(commit("r", index, index).into())
            .await
            .unwrap();
    }
    let last = store
        .events(&"r".into(), &EventQuery::last(1))
        .await
        .unwrap()
        .remove(0);
    assert_eq!(
        store
            .delete_events(&"r".into(), std::slice::from_ref(&last.id))
            .await
            .unwrap(),
        1
    );
    assert_eq!(
        store
            .delete_events(&"r".into(), std::slice::from_ref(&last.id))
            .await
            .unwrap(),
        0
    );
    assert_eq!(store.event(&"r".into(), &last.id).await.unwrap(), None);
    let version = store.room(&"r".into()).await.unwrap().unwrap().version;
    assert_eq!(
        store
            .commit(commit("r", version, 2).into())
            .await
            .unwrap_err()
            .kind(),
        ErrorKind::VersionConflict
    );
    store.commit(commit("r", version, 3).into()).await.unwrap();
    assert_eq!(indexes(&store, EventQuery::first(9)).await, [0, 1, 3]);
    assert_eq!(indexes(&store, EventQuery::first(9).after(1)).await, [3]);
    let room = store.room(&"r".into()).await.unwrap().unwrap();
    assert_eq!(
        (room.room.event_count, room.room.latest_index),
        (4, Some(3))
    );
}

#[tokio::test]
async fn queries_take_from_either_end_and_answer_in_index_order() {
    let store = store_of(&["r"]).await;
    for index in 0..10 {
        let mut commit = commit("r", index, index);
        if index % 3 == 0 {
            let mut event = RoomEvent::clone(commit.event.as_ref().unwrap());
            event.event_type = EventType::System;
            commit.event = Some(Arc::new(event));
        }
        store.commit(commit.into()).await.unwrap();
    }
    let messages = || EventFilter {
        event_types: Some(vec![EventType::Message]),
        ..EventFilter::default()
    };
    for (query, expected) in [
        (EventQuery::first(3), vec![0, 1, 2]),
        (EventQuery::last(3), vec![7, 8, 9]),
        (EventQuery::first(3).offset(2), vec![2, 3, 4]),
        (EventQuery::last(3).offset(2), vec![5, 6, 7]),
        (EventQuery::first(9).after(6), vec![7, 8, 9]),
        (EventQuery::last(2).before(5), vec![3, 4]),
        (EventQuery::first(9).after(2).before(5), vec![3, 4]),
        (EventQuery::first(9).after(9), vec![]),
        (EventQuery::first(9).before(0), vec![]),
        (EventQuery::first(0), vec![]),
        (EventQuery::last(3).filter(messages()), vec![5, 7, 8]),
        (
            EventQuery::first(2).offset(1).filter(messages()),
            vec![2, 4],
        ),
        (EventQuery::first(9).after(u64::MAX), vec![]),
    ] {
        assert_eq!(indexes(&store, query.clone()).await, expected, "{query:?}");
    }
}

#[tokio::test]
async fn bindings_keep_their_order_and_detached_ones_are_remembered() {
    let store = store_of(&["r"]).await;
    let binding = |channel: &str| {
        let category = ChannelCategory::Transport;
        Arc::new(ChannelBinding::new(
            channel,
            "r",
            ChannelType::Sms,
            category,
            now(),
        ))
    };
    let change = async |change| {
        let version = store.room(&"r".into()).await.unwrap().unwrap().version;
        let mut commit = RoomCommit::new("r".into(), Some(version), now());
        commit.bindings.push(change);
        store.commit(commit.into()).await.unwrap().into_first()
    };
    for channel in ["a", "b", "c"] {
        change(BindingChange::Put(binding(channel))).await;
    }
    let mut muted = ChannelBinding::clone(&binding("b"));
    muted.muted = true;
    let room = change(BindingChange::Put(Arc::new(muted))).await;
    let ids = |bindings: &[Arc<ChannelBinding>]| {
        bindings
            .iter()
            .map(|binding| binding.channel_id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&room.bindings), ["a", "b", "c"]);
    let room = change(BindingChange::Detach("b".into())).await;
    assert_eq!(ids(&room.bindings), ["a", "c"]);
    assert!(room.detached.contains("b"));
    assert_eq!(store.binding(&"r".into(), &"b".into()).await.unwrap(), None);
    assert!(
        store
            .rooms_of_channel(None, &"b".into(), 9)
            .await
            .unwrap()
            .is_empty()
    );
    let room = change(BindingChange::Put(binding("b"))).await;
    assert_eq!(ids(&room.bindings), ["a", "c", "b"]);
    assert!(room.detached.is_empty());
    assert_eq!(
        store.rooms_of_channel(None, &"b".into(), 9).await.unwrap(),
        ["r"]
    );
}

#[tokio::test]
async fn speakers_are_one_record_however_many_channels_they_use() {
    let store = store_of(&["r"]).await;
    for (version, channel) in [(0, "sms"), (1, "email"), (2, "sms")] {
        let mut commit = commit("r", version, version);
        commit.speaker = Some(Speaker {
            participant_id: "p".into(),
            sender_id: "+1".into(),
            channel_id: channel.into(),
            channel_type: ChannelType::Sms,
        });
        store.commit(commit.into()).await.unwrap();
    }
    let participants = store.participants(&"r".into()).await.unwrap();
    assert_eq!(participants.len(), 1);
    assert_eq!(participants[0].channel_id, *"sms");
    assert_eq!(participants[0].connected_via, ["sms", "email"]);
    let rooms = store
        .rooms_of_sender(None, &ChannelType::Sms, &"+1".into(), 9)
        .await
        .unwrap();
    assert_eq!(rooms, ["r"]);
    assert!(store.delete_room(&"r".into()).await.unwrap());
    assert!(!store.delete_room(&"r".into()).await.unwrap());
    let rooms = store
        .rooms_of_sender(None, &ChannelType::Sms, &"+1".into(), 9)
        .await
        .unwrap();
    assert!(rooms.is_empty());
}

#[tokio::test]
async fn rooms_are_listed_by_age_within_their_filter() {
    let store = MemoryStore::new();
    for (age, name, organization) in [
        (3, "c", Some("acme")),
        (1, "a", None),
        (2, "b", Some("acme")),
    ] {
        let mut room = Room::new(name, now() + chrono::TimeDelta::seconds(age));
        room.organization_id = organization.map(Into::into);
        store.create_room(room).await.unwrap();
    }
    let names = async |filter: RoomFilter, page| {
        let rooms = store.list_rooms(&filter, page).await.unwrap();
        rooms
            .iter()
            .map(|room| room.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(RoomFilter::default(), Page::first(9)).await,
        ["a", "b", "c"]
    );
    assert_eq!(
        names(
            RoomFilter::default(),
            Page {
                offset: 1,
                limit: 1
            }
        )
        .await,
        ["b"]
    );
    let mut acme = RoomFilter::default();
    acme.organization_id = Some("acme".into());
    assert_eq!(names(acme, Page::first(9)).await, ["b", "c"]);
    let mut closed = RoomFilter::default();
    closed.statuses = vec![RoomStatus::Closed];
    assert!(names(closed, Page::first(9)).await.is_empty());
    let twice = store.create_room(Room::new("a", now())).await.unwrap_err();
    assert_eq!(twice.kind(), ErrorKind::RoomAlreadyExists);
}

#[tokio::test]
async fn identities_are_found_by_address_within_their_organisation() {
    let store = MemoryStore::new();
    for (id, organization, address) in [
        ("x", "acme", "+1"),
        ("y", "acme", "+1"),
        ("z", "other", "+1"),
    ] {
        let mut identity = Identity::new(id);
        identity.organization_id = Some(organization.into());
        identity
            .channel_addresses
            .insert("sms".into(), vec![address.into()]);
        store.put_identity(identity).await.unwrap();
    }
    let acme = "acme".into();
    let found = store
        .identities_by_address(Some(&acme), &ChannelType::Sms, "+1")
        .await
        .unwrap();
    assert_eq!(
        found
            .iter()
            .map(|one| one.id.to_string())
            .collect::<Vec<_>>(),
        ["x", "y"]
    );
    assert!(
        store
            .identities_by_address(None, &ChannelType::Sms, "+1")
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .identity(Some(&acme), &"z".into())
            .await
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn read_markers_only_move_forward() {
    let store = store_of(&["r"]).await;
    for index in 0..5 {
        store
            .commit(commit("r", index, index).into())
            .await
            .unwrap();
    }
    let unread = async || store.unread_count(&"r".into(), &"b".into()).await.unwrap();
    assert_eq!(unread().await, 5);
    for (index, left) in [(2, 2), (1, 2), (4, 0)] {
        let marker = ReadMarker {
            room_id: "r".into(),
            channel_id: "b".into(),
            index,
            read_at: now(),
        };
        store.mark_read(marker).await.unwrap();
        assert_eq!(unread().await, left);
    }
    assert_eq!(
        store.unread_count(&"r".into(), &"a".into()).await.unwrap(),
        0,
        "its own"
    );
    assert_eq!(store.read_markers(&"r".into()).await.unwrap()[0].index, 4);
}

#[tokio::test]
async fn what_is_owed_is_listed_per_lane_in_order_until_it_is_settled() {
    let store = store_of(&["r"]).await;
    for index in 0..2 {
        let mut commit = commit("r", index, index);
        let event = Arc::clone(commit.event.as_ref().unwrap());
        for channel in ["z", "a"] {
            commit.owed.push(OwedDelivery::new(
                &event,
                channel.into(),
                OwedKind::Delivery,
            ));
        }
        store.commit(commit.into()).await.unwrap();
    }
    let owed = store.owed(Some(&"r".into()), 9).await.unwrap();
    let lanes: Vec<_> = owed
        .iter()
        .map(|one| (one.channel_id.to_string(), one.index))
        .collect();
    let expected = [("a", 0), ("a", 1), ("z", 0), ("z", 1)];
    assert!(
        lanes
            .iter()
            .map(|(channel, index)| (channel.as_str(), *index))
            .eq(expected)
    );
    let mut first = owed[0].clone();
    first.attempts = 3;
    assert!(store.update_owed(first.clone()).await.unwrap());
    assert_eq!(store.owed(None, 1).await.unwrap(), [first.clone()]);
    assert!(store.settle_owed(&first.delivery_id).await.unwrap());
    assert!(!store.settle_owed(&first.delivery_id).await.unwrap());
    assert!(!store.update_owed(first).await.unwrap());
    assert_eq!(store.owed(None, 9).await.unwrap().len(), 3);
}

#[tokio::test]
async fn a_batch_with_two_parts_of_one_room_is_refused_whole() {
    let store = store_of(&["r", "s"]).await;
    let batch = CommitBatch::from(commit("r", 0, 0))
        .and(commit("s", 0, 0))
        .and(commit("r", 0, 0));
    let error = store.commit(batch).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    for room in ["r", "s"] {
        let room = store.room(&room.into()).await.unwrap().unwrap();
        assert_eq!((room.version, room.room.event_count), (0, 0));
    }
}

/// Deleting a room costs what the room holds, whatever else there is.
#[tokio::test]
async fn a_room_goes_without_a_look_at_all_others() {
    let store = store_of(&[]).await;
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

/// What a message is routed by holds open rooms, whatever changed while they were closed.
#[tokio::test]
async fn rooms_that_open_again_are_found_by_what_was_attached_meanwhile() {
    let store = store_of(&["r"]).await;
    let update = |status| {
        let mut commit = RoomCommit::new("r".into(), None, now());
        commit.room.get_or_insert_default().status = Some(status);
        commit
    };
    let attach = |channel: &str| {
        let (kind, category) = (ChannelType::Sms, ChannelCategory::Transport);
        let binding = ChannelBinding::new(channel, "r", kind, category, now());
        BindingChange::Put(Arc::new(binding))
    };
    let found = async |channel: &str| {
        let rooms = store.rooms_of_channel(None, &channel.into(), 9).await;
        rooms.unwrap().len()
    };
    let spoken = async || {
        let sender = "u".into();
        let rooms = store.rooms_of_sender(None, &ChannelType::Sms, &sender, 9);
        rooms.await.unwrap().len()
    };
    let mut first = RoomCommit::new("r".into(), None, now());
    first.bindings = vec![attach("a"), attach("b")];
    store.commit(first.into()).await.unwrap();
    assert_eq!((found("a").await, found("b").await), (1, 1));

    let mut close = update(RoomStatus::Closed);
    close.bindings.push(attach("c"));
    store.commit(close.into()).await.unwrap();
    let mut meanwhile = RoomCommit::new("r".into(), None, now());
    meanwhile.bindings = vec![BindingChange::Detach("a".into()), attach("d")];
    meanwhile.speaker = Some(Speaker {
        participant_id: "u".into(),
        sender_id: "u".into(),
        channel_id: "b".into(),
        channel_type: ChannelType::Sms,
    });
    store.commit(meanwhile.into()).await.unwrap();
    for channel in ["a", "b", "c", "d"] {
        assert_eq!(found(channel).await, 0, "{channel}");
    }
    assert_eq!(spoken().await, 0);

    store
        .commit(update(RoomStatus::Active).into())
        .await
        .unwrap();
    for (channel, rooms) in [("a", 0), ("b", 1), ("c", 1), ("d", 1)] {
        assert_eq!(found(channel).await, rooms, "{channel}");
    }
    assert_eq!(spoken().await, 1);
    store.delete_room(&"r".into()).await.unwrap();
    assert_eq!((found("b").await, spoken().await), (0, 0));
}

/// A message of a new sender asks for the rooms of its channel, of which there may be any number.
#[tokio::test]
async fn rooms_of_a_channel_are_not_counted_to_give_two() {
    let store = store_of(&[]).await;
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
