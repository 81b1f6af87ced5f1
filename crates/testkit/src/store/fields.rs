//! What is stored comes back as it was, to the last field and character.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use roomkit_core::ErrorKind;
use roomkit_core::model::{
    ChannelData, ChannelDataFields, ChannelDirection, ChannelType, EventContent, EventSource,
    EventStatus, EventType, LocationContent, Metadata, Observation, Participant, Room, RoomEvent,
    TextContent, Visibility,
};
use roomkit_core::store::{
    BindingChange, EventQuery, EventSearch, Expiry, Page, RetentionAction, RetentionScope,
    RoomFilter,
};

use super::TestStore;
use super::sample::{
    after, attach, binding, commit_of, effects, event_of, now, outcome, snapshot, speaker,
    with_rooms,
};

fn at(text: &str) -> DateTime<Utc> {
    text.parse().unwrap()
}

/// An event that has something in every field.
fn full(index: u64) -> RoomEvent {
    let mut source = EventSource::new("whatsapp-1", ChannelType::Whatsapp);
    source.direction = ChannelDirection::Outbound;
    source.participant_id = Some("person".into());
    source.external_id = Some("ext".into());
    source.provider = Some("Twilio".into());
    source.provider_message_id = Some("SM1".into());
    source.raw_payload = Metadata::new()
        .with("Body", "raw \u{0} text")
        .with("n", serde_json::json!([1e300, 0.1, -3, u64::MAX, i64::MIN]));
    let mut event = RoomEvent::new("r", source, TextContent::new("hello"), now());
    event.event_type = EventType::Observation;
    event.status = EventStatus::Blocked;
    event.blocked_by = Some("a hook".into());
    event.visibility = Visibility::channels(["a", "b"]);
    event.addressed_to = Some(vec!["agent".into()]);
    event.response_visibility = Some(Visibility::Internal);
    event.index = index;
    event.chain_depth = 3;
    event.parent_event_id = Some("parent".into());
    event.correlation_id = Some("corr".into());
    event.idempotency_key = Some("key".into());
    event.created_at = now() + chrono::TimeDelta::microseconds(1);
    event.metadata = Metadata::new().with("m", serde_json::json!({"deep": [[]]}));
    event.channel_data = ChannelData::new(ChannelDataFields {
        provider: Some("p".into()),
        external_id: Some("e".into()),
        thread_id: Some("t".into()),
        extra: Metadata::new().with("x", 1),
    });
    event.delivery_results = Metadata::new().with("sms", "sent");
    event
}

pub async fn an_event_keeps_every_field(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let (full, bare) = (full(0), event_of("r", 1, ""));
    for (version, event) in [(0, &full), (1, &bare)] {
        test.store()
            .commit(commit_of(version, event.clone()).into())
            .await
            .unwrap();
    }
    test.reopen().await;
    let events = test
        .store()
        .events(&"r".into(), &EventQuery::first(9))
        .await
        .unwrap();
    assert_eq!(events, [Arc::new(full), Arc::new(bare)]);
}

pub async fn every_kind_of_content_is_kept(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let contents = [
        EventContent::text("text"),
        EventContent::rich("**rich**"),
        EventContent::media("https://a.example/x.png", "image/png"),
        EventContent::audio("https://a.example/x.ogg"),
        EventContent::video("https://a.example/x.mp4"),
        EventContent::location(46.8139, -71.2082),
        EventContent::composite([EventContent::text("a"), EventContent::rich("b")]),
        EventContent::system("code", "notice"),
        EventContent::template("welcome"),
        EventContent::edit("target", TextContent::new("new")),
        EventContent::delete("target"),
        EventContent::tool_call("search", "call-1"),
    ];
    let mut stored = Vec::new();
    for (index, content) in (0..).zip(contents) {
        let source = EventSource::new("a", ChannelType::Websocket);
        let mut event = RoomEvent::new("r", source, content, now());
        event.index = index;
        stored.push(Arc::new(event.clone()));
        test.store()
            .commit(commit_of(index, event).into())
            .await
            .unwrap();
    }
    test.reopen().await;
    let events = test
        .store()
        .events(&"r".into(), &EventQuery::first(99))
        .await
        .unwrap();
    assert_eq!(events, stored);
}

pub async fn times_of_any_year_are_kept(mut test: TestStore) {
    let last = DateTime::from_timestamp_micros(DateTime::<Utc>::MAX_UTC.timestamp_micros());
    let times = [
        DateTime::<Utc>::MIN_UTC,
        at("-0001-12-31T23:59:59.999999Z"),
        at("0000-01-01T00:00:00Z"),
        at("1969-12-31T23:59:59.999999Z"),
        at("9999-12-31T23:59:59.999999Z"),
        at("+10000-01-01T00:00:00Z"),
        // Milliseconds taken for seconds.
        at("+58375-06-05T20:00:00Z"),
        last.unwrap(),
    ];
    let names: Vec<String> = (0..times.len()).map(|place| format!("r{place}")).collect();
    for (name, time) in names.iter().zip(times) {
        let store = test.store();
        let made = store.create_room(Room::new(name.as_str(), time)).await;
        assert_eq!(made.unwrap().room.created_at, time);
        let mut event = event_of(name, 0, "word");
        event.created_at = time;
        let mut commit = commit_of(0, event);
        commit.at = time;
        commit.speaker = Some(speaker("p", "p", "c"));
        store.commit(commit.into()).await.unwrap();
    }
    test.reopen().await;
    let store = &**test.store();
    let rooms = store
        .list_rooms(&RoomFilter::default(), Page::first(99))
        .await;
    let rooms: Vec<String> = rooms.unwrap().iter().map(|r| r.id.to_string()).collect();
    assert_eq!(rooms, names, "by age");
    let found = store.search_events(&EventSearch::new("word", 99)).await;
    let found: Vec<_> = found.unwrap().iter().map(|e| e.created_at).rev().collect();
    assert_eq!(found, times, "by age");
    for (name, time) in names.iter().zip(times) {
        let room = snapshot(store, name).await.room;
        assert_eq!((room.created_at, room.updated_at), (time, time));
        assert_eq!(room.timers.last_activity_at, Some(time));
        let events = store
            .events(&name.as_str().into(), &EventQuery::first(9))
            .await;
        assert_eq!(events.unwrap()[0].created_at, time);
        let people = store.participants(&name.as_str().into()).await.unwrap();
        assert_eq!(people[0].joined_at, time);
    }
    let expiry = Expiry {
        rooms: RetentionScope::AllBut(BTreeSet::new()),
        before: last.unwrap(),
        action: RetentionAction::Redact,
    };
    assert_eq!(store.expire_events(&expiry, 99).await.unwrap(), 7);
}

pub async fn ids_and_texts_of_any_characters_are_kept(mut test: TestStore) {
    let long = "long/".repeat(200);
    let odd = [
        "with space",
        "quote'quote\"",
        "per%cent_",
        "back\\slash",
        "crab 🦀",
        "e\u{301}",
        "é",
        "ÀÉ",
        "tab\tline\n",
        "{json}",
        "a,b",
        "-- ;drop",
        long.as_str(),
    ];
    let store = &**test.store();
    for id in odd {
        store.create_room(Room::new(id, now())).await.unwrap();
        let mut event = event_of(id, 0, &format!("{id}\u{0}{id}"));
        event.id = id.into();
        event.source.participant_id = Some(id.into());
        let mut commit = commit_of(0, event);
        commit.bindings = vec![attach(id, id)];
        commit.idempotency = Some(outcome(id, &id.into()));
        commit.speaker = Some(speaker(id, id, id));
        let mut participant = Participant::new("other", id, id, after(1));
        participant.display_name = Some(format!("{id}\u{0}"));
        commit.participants.push(participant);
        store.commit(commit.into()).await.unwrap();
    }
    test.reopen().await;
    let store = &**test.store();
    for id in odd {
        let room = snapshot(store, id).await;
        assert_eq!(room.bindings[0].channel_id.as_str(), id);
        let event = store.event(&id.into(), &id.into()).await.unwrap().unwrap();
        assert_eq!(event.text(), Some(&*format!("{id}\u{0}{id}")));
        let key = store.idempotent_outcome(&id.into(), id).await.unwrap();
        assert_eq!(key.unwrap().event_id.as_str(), id);
        let rooms = store
            .rooms_of_sender(None, &ChannelType::Sms, &id.into(), 9)
            .await;
        assert_eq!(rooms.unwrap(), [id]);
        let rooms = store.rooms_of_channel(None, &id.into(), 9).await;
        assert_eq!(rooms.unwrap(), [id]);
        let people = store.participants(&id.into()).await.unwrap();
        assert_eq!(people.len(), 2, "{id:?}");
        assert!(
            store
                .participant(&id.into(), &id.into())
                .await
                .unwrap()
                .is_some()
        );
        let named = store
            .participant(&id.into(), &"other".into())
            .await
            .unwrap();
        assert_eq!(named.unwrap().display_name, Some(format!("{id}\u{0}")));
    }
    let big = "x".repeat(1 << 20);
    let mut commit = effects("é");
    commit.event = Some(Arc::new(event_of("é", 1, &big)));
    let id = commit.event.as_ref().unwrap().id.clone();
    store.commit(commit.into()).await.unwrap();
    let event = store.event(&"é".into(), &id).await.unwrap().unwrap();
    assert_eq!(event.text(), Some(&*big), "a text of a mebibyte");
}

pub async fn what_is_nested_too_deep_to_be_kept_is_refused(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let nested = |levels: usize| {
        (0..levels).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]))
    };
    let mut kept = Vec::new();
    for levels in [10, 100, 120, 125, 126, 127, 128, 200, 1_000] {
        for part in 0..3 {
            let index = kept.len() as u64;
            let mut event = event_of("r", index, "deep");
            let deep = Metadata::new().with("deep", nested(levels));
            match part {
                0 => event.source.raw_payload = deep,
                1 => event.metadata = deep,
                _ => event.delivery_results = deep,
            }
            match test
                .store()
                .commit(commit_of(index, event.clone()).into())
                .await
            {
                Ok(_) => kept.push(Arc::new(event)),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                    assert!(levels > 120, "{levels} levels");
                }
            }
        }
    }
    test.reopen().await;
    let store = &**test.store();
    let all = EventQuery::first(99);
    assert_eq!(store.events(&"r".into(), &all).await.unwrap(), kept);
    let search = EventSearch::new("deep", 99);
    let found = store.search_events(&search).await.unwrap();
    assert_eq!(found.len(), kept.len());
    assert_eq!(
        snapshot(store, "r").await.room.event_count,
        kept.len() as u64
    );
}

pub async fn what_breaks_a_rule_is_refused_or_read_again(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let mut expected = (0, 0, 0);
    for wrong in 0..3 {
        let at = snapshot(store, "r").await;
        let mut event = event_of("r", at.room.next_index(), "right");
        let mut seen = Observation::new("r", "a", "mood", "fine", now());
        let mut attached = (*binding("r", &format!("c{wrong}"))).clone();
        match wrong {
            0 => event.content = LocationContent::new(200.0, 0.0).into(),
            1 => seen.confidence = 2.0,
            _ => Arc::make_mut(&mut attached.capabilities).max_length = Some(0),
        }
        let mut commit = commit_of(at.version, event);
        commit.observations.push(seen);
        commit.bindings.push(BindingChange::Put(Arc::new(attached)));
        match store.commit(commit.into()).await {
            Ok(_) => expected = (expected.0 + 1, expected.1 + 1, expected.2 + 1),
            Err(error) => assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}"),
        }
    }
    test.reopen().await;
    let (store, room) = (&**test.store(), "r".into());
    let events = store.events(&room, &EventQuery::first(9)).await.unwrap();
    let observations = store.observations(&room).await.unwrap();
    let bindings = snapshot(store, "r").await.bindings;
    assert_eq!((events.len(), observations.len(), bindings.len()), expected);
}
