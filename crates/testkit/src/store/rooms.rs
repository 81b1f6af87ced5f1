//! Rooms: made, listed, changed, found and removed.

use std::sync::Arc;

use roomkit_core::ErrorKind;
use roomkit_core::model::{
    AgentResponsePolicy, ChannelType, Metadata, OrganizationId, Room, RoomStatus, RoomTimers,
};
use roomkit_core::store::{
    BindingChange, ConversationStore, EventQuery, EventSearch, Page, RoomCommit, RoomFilter,
    RoomUpdate,
};

use super::TestStore;
use super::sample::{
    after, attach, commit, create, effects, fill, indexes, now, outcome, snapshot, speaker, texts,
    with_rooms,
};

pub async fn a_new_room_is_empty_and_its_id_is_taken(test: TestStore) {
    let store = test.store();
    assert!(store.room(&"r".into()).await.unwrap().is_none());
    let made = create(&**store, "r").await;
    assert_eq!((made.version, made.room.event_count), (0, 0));
    assert_eq!(made.room.latest_index, None);
    assert!(made.bindings.is_empty() && made.detached.is_empty());
    assert_eq!(snapshot(&**store, "r").await, made);

    let mut again = Room::new("r", after(1));
    again.organization_id = Some("acme".into());
    let taken = store.create_room(again).await.unwrap_err();
    assert_eq!(taken.kind(), ErrorKind::RoomAlreadyExists);
    assert_eq!(snapshot(&**store, "r").await, made, "the first one stays");

    let mut with_past = Room::new("s", now());
    (with_past.event_count, with_past.latest_index) = (3, Some(2));
    let refused = store.create_room(with_past).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidInput);
    assert!(store.room(&"s".into()).await.unwrap().is_none());
}

pub async fn a_room_keeps_every_field(mut test: TestStore) {
    let mut room = Room::new("r", now() + chrono::TimeDelta::microseconds(123_456));
    room.organization_id = Some("acme".into());
    room.status = RoomStatus::Paused;
    room.updated_at = after(1);
    room.closed_at = Some(after(2));
    room.timers = RoomTimers {
        inactive_after_seconds: Some(60),
        closed_after_seconds: Some(3600),
        last_activity_at: Some(after(3)),
        paused_at: Some(after(4)),
    };
    room.agent_response_policy = AgentResponsePolicy::AddressedOnly;
    room.metadata = Metadata::new()
        .with("topic", "Grüße 👋 \u{0} \"quoted\" \\ ' % _")
        .with(
            "nested",
            serde_json::json!({"list": [1, 2.5, null, true, -0.1e-7]}),
        );
    let made = test.store().create_room(room.clone()).await.unwrap();
    assert_eq!(*made.room, room);
    test.reopen().await;
    assert_eq!(snapshot(&**test.store(), "r").await, made);
}

async fn listed(store: &dyn ConversationStore, filter: &RoomFilter, page: Page) -> Vec<String> {
    let rooms = store.list_rooms(filter, page).await.unwrap();
    texts(rooms.iter().map(|room| room.id.clone()))
}

pub async fn rooms_are_listed_by_age_within_their_filter(test: TestStore) {
    let store = &**test.store();
    for (age, name, organization, topic) in [
        (3, "c", Some("acme"), "billing"),
        (1, "a", None, "billing"),
        (2, "b", Some("acme"), "sales"),
        (2, "B", Some("other"), "sales"),
        (4, "d", Some("acme"), "billing"),
    ] {
        let mut room = Room::new(name, after(age));
        room.organization_id = organization.map(Into::into);
        room.metadata = Metadata::new().with("topic", topic).with("n", age);
        store.create_room(room).await.unwrap();
    }
    let mut close = effects("d");
    close.room.get_or_insert_default().status = Some(RoomStatus::Closed);
    store.commit(close.into()).await.unwrap();

    let all = RoomFilter::default();
    assert_eq!(
        listed(store, &all, Page::first(9)).await,
        ["a", "B", "b", "c", "d"]
    );
    let page = |offset, limit| Page { offset, limit };
    assert_eq!(listed(store, &all, page(1, 2)).await, ["B", "b"]);
    assert_eq!(listed(store, &all, page(4, 9)).await, ["d"]);
    assert!(listed(store, &all, page(5, 9)).await.is_empty());
    assert!(listed(store, &all, Page::first(0)).await.is_empty());

    let mut acme = RoomFilter::default();
    acme.organization_id = Some("acme".into());
    assert_eq!(listed(store, &acme, Page::first(9)).await, ["b", "c", "d"]);
    acme.statuses = vec![RoomStatus::Closed, RoomStatus::Archived];
    assert_eq!(listed(store, &acme, Page::first(9)).await, ["d"]);
    acme.statuses = vec![RoomStatus::Active, RoomStatus::Closed];
    acme.metadata = Metadata::new().with("topic", "billing");
    assert_eq!(listed(store, &acme, Page::first(9)).await, ["c", "d"]);
    assert_eq!(listed(store, &acme, page(1, 1)).await, ["d"]);
    acme.metadata.insert("n", 3);
    assert_eq!(listed(store, &acme, Page::first(9)).await, ["c"]);
    acme.metadata.insert("n", "3");
    assert!(
        listed(store, &acme, Page::first(9)).await.is_empty(),
        "a text is no number"
    );
}

async fn update(store: &dyn ConversationStore, at: i64, update: RoomUpdate) -> Arc<Room> {
    let version = snapshot(store, "r").await.version;
    let mut commit = RoomCommit::new("r".into(), Some(version), after(at));
    commit.room = Some(Box::new(update));
    let receipt = store.commit(commit.into()).await.unwrap().into_first();
    assert_eq!(receipt.version, version + 1);
    assert_eq!(snapshot(store, "r").await, receipt);
    receipt.room
}

pub async fn a_room_changes_as_an_update_says(test: TestStore) {
    let store = &**test.store();
    let mut room = Room::new("r", now());
    room.metadata = Metadata::new().with("a", 1).with("b", 1);
    store.create_room(room).await.unwrap();

    let mut change = RoomUpdate::default();
    change.merge_metadata = Metadata::new().with("b", 2).with("c", 3);
    let changed = update(store, 1, change).await;
    let expected = Metadata::new().with("a", 1).with("b", 2).with("c", 3);
    assert_eq!(
        (&changed.metadata, changed.updated_at),
        (&expected, after(1))
    );
    assert_eq!(
        changed.timers.last_activity_at, None,
        "no event, no activity"
    );

    let mut change = RoomUpdate::default();
    change.timers = Some(RoomTimers {
        inactive_after_seconds: Some(5),
        closed_after_seconds: None,
        last_activity_at: Some(after(9)),
        paused_at: None,
    });
    change.agent_response_policy = Some(AgentResponsePolicy::AddressedOnly);
    let changed = update(store, 2, change).await;
    assert_eq!(changed.timers.inactive_after_seconds, Some(5));
    assert_eq!(changed.timers.last_activity_at, Some(after(9)));
    assert_eq!(
        changed.agent_response_policy,
        AgentResponsePolicy::AddressedOnly
    );
    assert_eq!(changed.metadata, expected, "what is not named stays");

    let status = |status| {
        let mut change = RoomUpdate::default();
        change.status = Some(status);
        change
    };
    let closed = update(store, 3, status(RoomStatus::Closed)).await;
    assert_eq!(closed.closed_at, Some(after(3)));
    let archived = update(store, 4, status(RoomStatus::Archived)).await;
    assert_eq!(archived.closed_at, Some(after(3)), "it was closed before");
    let open = update(store, 5, status(RoomStatus::Active)).await;
    assert_eq!((open.status, open.closed_at), (RoomStatus::Active, None));
}

pub async fn a_deleted_room_takes_everything_with_it(mut test: TestStore) {
    let store = &**test.store();
    for room in ["r", "kept"] {
        create(store, room).await;
        let mut first = commit(room, 0, 0);
        let id = first.event.as_ref().unwrap().id.clone();
        first.speaker = Some(speaker("p", "s", "a"));
        first.idempotency = Some(outcome("k", &id));
        first.bindings = vec![attach(room, "a")];
        store.commit(first.into()).await.unwrap();
    }
    assert!(store.delete_room(&"r".into()).await.unwrap());
    assert!(!store.delete_room(&"r".into()).await.unwrap());
    let gone = store.commit(commit("r", 1, 1).into()).await.unwrap_err();
    assert_eq!(gone.kind(), ErrorKind::RoomNotFound);

    test.reopen().await;
    let store = &**test.store();
    let (room, key) = ("r".into(), "k");
    assert!(store.room(&room).await.unwrap().is_none());
    assert!(
        store
            .events(&room, &EventQuery::first(9))
            .await
            .unwrap()
            .is_empty()
    );
    assert!(
        store
            .idempotent_outcome(&room, key)
            .await
            .unwrap()
            .is_none()
    );
    assert!(store.bindings(&room).await.unwrap().is_empty());
    assert!(store.participants(&room).await.unwrap().is_empty());
    let found = store
        .search_events(&EventSearch::new("0", 9))
        .await
        .unwrap();
    assert_eq!(
        texts(found.iter().map(|event| event.room_id.clone())),
        ["kept"]
    );
    let by_channel = store.rooms_of_channel(None, &"a".into(), 9).await.unwrap();
    assert_eq!(texts(by_channel), ["kept"]);

    create(store, "r").await;
    assert!(store.participants(&room).await.unwrap().is_empty());
    let mut again = commit("r", 0, 0);
    again.idempotency = Some(outcome(key, &again.event.as_ref().unwrap().id));
    store.commit(again.into()).await.unwrap();
    assert_eq!(indexes(store, "r", &EventQuery::first(9)).await, [0]);
    fill_is_untouched(store).await;
}

async fn fill_is_untouched(store: &dyn ConversationStore) {
    assert_eq!(indexes(store, "kept", &EventQuery::first(9)).await, [0]);
    assert_eq!(store.participants(&"kept".into()).await.unwrap().len(), 1);
}

pub async fn open_rooms_are_found_by_channel_and_by_sender(test: TestStore) {
    let store = &**test.store();
    for (room, organization) in [("r2", None), ("r1", None), ("R", None), ("s", Some("acme"))] {
        let mut made = Room::new(room, now());
        made.organization_id = organization.map(Into::into);
        store.create_room(made).await.unwrap();
        let mut commit = effects(room);
        commit.bindings = vec![attach(room, "a")];
        commit.speaker = Some(speaker("person", "sender", "a"));
        store.commit(commit.into()).await.unwrap();
    }
    let by_channel = async |organization: Option<&OrganizationId>, channel: &str, limit| {
        let found = store
            .rooms_of_channel(organization, &channel.into(), limit)
            .await;
        texts(found.unwrap())
    };
    let by_sender = async |organization: Option<&OrganizationId>, kind, sender: &str, limit| {
        let sender = sender.into();
        let found = store.rooms_of_sender(organization, &kind, &sender, limit);
        texts(found.await.unwrap())
    };
    let acme = OrganizationId::from("acme");
    assert_eq!(by_channel(None, "a", 9).await, ["R", "r1", "r2"]);
    assert_eq!(by_channel(None, "a", 2).await, ["R", "r1"]);
    assert_eq!(by_channel(Some(&acme), "a", 9).await, ["s"]);
    assert!(by_channel(None, "b", 9).await.is_empty());
    let sms = || ChannelType::Sms;
    assert_eq!(by_sender(None, sms(), "sender", 9).await, ["R", "r1", "r2"]);
    assert_eq!(by_sender(None, sms(), "sender", 1).await, ["R"]);
    assert_eq!(by_sender(Some(&acme), sms(), "sender", 9).await, ["s"]);
    assert!(
        by_sender(None, ChannelType::Email, "sender", 9)
            .await
            .is_empty()
    );
    assert!(
        by_sender(None, sms(), "person", 9).await.is_empty(),
        "senders, not participants"
    );

    for (status, found) in [
        (RoomStatus::Paused, true),
        (RoomStatus::Closed, false),
        (RoomStatus::Archived, false),
        (RoomStatus::Active, true),
    ] {
        let mut change = effects("r1");
        change.room.get_or_insert_default().status = Some(status);
        store.commit(change.into()).await.unwrap();
        let expected = if found {
            vec!["R", "r1", "r2"]
        } else {
            vec!["R", "r2"]
        };
        assert_eq!(by_channel(None, "a", 9).await, expected, "{status:?}");
        assert_eq!(
            by_sender(None, sms(), "sender", 9).await,
            expected,
            "{status:?}"
        );
    }
}

pub async fn rooms_that_open_again_are_found_by_what_was_attached_meanwhile(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let update = |status| {
        let mut commit = effects("r");
        commit.room.get_or_insert_default().status = Some(status);
        commit
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
    let mut first = effects("r");
    first.bindings = vec![attach("r", "a"), attach("r", "b")];
    store.commit(first.into()).await.unwrap();
    assert_eq!((found("a").await, found("b").await), (1, 1));

    let mut close = update(RoomStatus::Closed);
    close.bindings.push(attach("r", "c"));
    store.commit(close.into()).await.unwrap();
    let mut meanwhile = effects("r");
    meanwhile.bindings = vec![BindingChange::Detach("a".into()), attach("r", "d")];
    meanwhile.speaker = Some(speaker("u", "u", "b"));
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

pub async fn a_store_closes_twice(mut test: TestStore) {
    create(&**test.store(), "r").await;
    fill(&**test.store(), "r", 1).await;
    test.store().close().await.unwrap();
    test.store().close().await.unwrap();
    test.reopen().await;
    assert_eq!(snapshot(&**test.store(), "r").await.room.event_count, 1);
}
