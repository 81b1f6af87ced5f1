//! Reading the timeline: ranges, filters, threads, holes.

use std::sync::Arc;

use roomkit_core::ErrorKind;
use roomkit_core::model::{
    ChannelType, EventFilter, EventId, EventType, RoomEvent, ThreadSummary, Visibility,
};
use roomkit_core::store::{ConversationStore, EventQuery, OwedDelivery, OwedKind};

use super::TestStore;
use super::sample::{
    after, commit, commit_of, effects, event_of, fill, indexes, snapshot, with_rooms,
};

pub async fn queries_take_from_either_end_and_answer_in_index_order(test: TestStore) {
    let test = with_rooms(test, &["r", "s"]).await;
    let store = &**test.store();
    fill(store, "s", 3).await;
    for index in 0..10 {
        let mut event = event_of("r", index, "x");
        if index % 3 == 0 {
            event.event_type = EventType::System;
        }
        store.commit(commit_of(index, event).into()).await.unwrap();
    }
    let messages = || EventFilter::of_types([EventType::Message]);
    for (query, expected) in [
        (EventQuery::first(3), vec![0, 1, 2]),
        (EventQuery::last(3), vec![7, 8, 9]),
        (EventQuery::first(3).offset(2), vec![2, 3, 4]),
        (EventQuery::last(3).offset(2), vec![5, 6, 7]),
        (EventQuery::last(3).offset(9), vec![0]),
        (EventQuery::first(9).after(6), vec![7, 8, 9]),
        (EventQuery::last(2).before(5), vec![3, 4]),
        (EventQuery::first(9).after(2).before(5), vec![3, 4]),
        (EventQuery::first(9).after(9), vec![]),
        (EventQuery::first(9).before(0), vec![]),
        (EventQuery::first(0), vec![]),
        (EventQuery::last(0), vec![]),
        (EventQuery::last(3).filter(messages()), vec![5, 7, 8]),
        (
            EventQuery::first(2).offset(1).filter(messages()),
            vec![2, 4],
        ),
        (EventQuery::last(2).offset(1).filter(messages()), vec![5, 7]),
        (EventQuery::first(9).after(u64::MAX), vec![]),
        (
            EventQuery::first(usize::MAX).before(u64::MAX),
            (0..10).collect(),
        ),
        (EventQuery::first(9).after(5).before(5), vec![]),
        (EventQuery::first(9).after(7).before(3), vec![]),
        (EventQuery::first(9).offset(usize::MAX), vec![]),
    ] {
        assert_eq!(indexes(store, "r", &query).await, expected, "{query:?}");
    }
    assert!(
        indexes(store, "gone", &EventQuery::first(9))
            .await
            .is_empty()
    );
}

pub async fn every_condition_of_a_filter_holds(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let change = |index: u64, event: &mut RoomEvent| match index {
        1 => event.event_type = EventType::System,
        2 => event.visibility = Visibility::Internal,
        3 => event.source.channel_id = "b".into(),
        4 => event.source.channel_type = ChannelType::custom("x-fax").unwrap(),
        5 => event.correlation_id = Some("c".into()),
        6 => event.source.participant_id = Some("p".into()),
        7 => event.parent_event_id = Some("root".into()),
        8 => event.created_at = after(100),
        _ => {}
    };
    for index in 0..10 {
        let mut event = event_of("r", index, "x");
        change(index, &mut event);
        store.commit(commit_of(index, event).into()).await.unwrap();
    }
    let all_but = |left_out: u64| (0..10).filter(|index| *index != left_out).collect();
    let filter = EventFilter::default;
    let cases: Vec<(EventFilter, Vec<u64>)> = vec![
        (filter(), (0..10).collect()),
        (EventFilter::of_types([EventType::System]), vec![1]),
        (EventFilter::of_types([]), vec![]),
        (
            EventFilter {
                exclude_types: Some(vec![EventType::System]),
                ..filter()
            },
            all_but(1),
        ),
        (
            EventFilter {
                exclude_types: Some(vec![EventType::Message]),
                ..EventFilter::of_types([EventType::Message, EventType::System])
            },
            vec![1],
        ),
        (
            EventFilter {
                visibility: Some(Visibility::Internal),
                ..filter()
            },
            vec![2],
        ),
        (
            EventFilter {
                source_channel_id: Some("b".into()),
                ..filter()
            },
            vec![3],
        ),
        (
            EventFilter {
                source_channel_type: Some(ChannelType::custom("x-fax").unwrap()),
                ..filter()
            },
            vec![4],
        ),
        (
            EventFilter {
                correlation_id: Some("c".into()),
                ..filter()
            },
            vec![5],
        ),
        (
            EventFilter {
                participant_id: Some("p".into()),
                ..filter()
            },
            vec![6],
        ),
        (
            EventFilter {
                parent_event_id: Some("root".into()),
                ..filter()
            },
            vec![7],
        ),
        (
            EventFilter {
                top_level_only: true,
                ..filter()
            },
            all_but(7),
        ),
        (
            EventFilter {
                after_time: Some(after(0)),
                ..filter()
            },
            vec![8],
        ),
        (
            EventFilter {
                before_time: Some(after(100)),
                ..filter()
            },
            all_but(8),
        ),
        (
            EventFilter {
                participant_id: Some("p".into()),
                correlation_id: Some("c".into()),
                ..filter()
            },
            vec![],
        ),
    ];
    for (filter, expected) in cases {
        let query = EventQuery::first(99).filter(filter.clone());
        assert_eq!(indexes(store, "r", &query).await, expected, "{filter:?}");
        let query = EventQuery::last(2).offset(1).filter(filter.clone());
        let end = expected.len().saturating_sub(1);
        let tail = &expected[end.saturating_sub(2)..end];
        assert_eq!(
            indexes(store, "r", &query).await,
            tail,
            "from the end: {filter:?}"
        );
    }
}

pub async fn pages_before_and_after_a_cursor_meet_without_gap_or_repeat(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    fill(store, "r", 25).await;
    let drop_some = store
        .events(&"r".into(), &EventQuery::first(3).after(9))
        .await
        .unwrap();
    let ids: Vec<EventId> = drop_some.iter().map(|event| event.id.clone()).collect();
    assert_eq!(store.delete_events(&"r".into(), &ids).await.unwrap(), 3);
    let expected: Vec<u64> = (0..10).chain(13..25).collect();

    let (mut forward, mut cursor) = (Vec::new(), None);
    loop {
        let mut query = EventQuery::first(4);
        query.after = cursor;
        let page = indexes(store, "r", &query).await;
        let Some(last) = page.last() else { break };
        cursor = Some(*last);
        forward.extend(page);
    }
    assert_eq!(forward, expected);

    let (mut backward, mut cursor) = (Vec::new(), None);
    loop {
        let mut query = EventQuery::last(4);
        query.before = cursor;
        let page = indexes(store, "r", &query).await;
        let Some(first) = page.first() else { break };
        cursor = Some(*first);
        backward.splice(0..0, page);
    }
    assert_eq!(backward, expected);
}

pub async fn a_deleted_event_leaves_a_hole_and_its_index_is_not_used_again(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    fill(store, "r", 2).await;
    let mut third = commit("r", 2, 2);
    let last = Arc::clone(third.event.as_ref().unwrap());
    third
        .owed
        .push(OwedDelivery::new(&last, "z".into(), OwedKind::Delivery));
    store.commit(third.into()).await.unwrap();
    let mut edit = effects("r");
    edit.edited = Some(Arc::clone(&last));
    store.commit(edit.into()).await.unwrap();
    let (room, last) = ("r".into(), last.id.clone());
    let deletions = [last.clone(), "nobody".into(), last.clone()];
    assert_eq!(store.delete_events(&room, &deletions).await.unwrap(), 1);
    assert_eq!(store.delete_events(&room, &deletions).await.unwrap(), 0);
    assert_eq!(store.delete_events(&room, &[]).await.unwrap(), 0);
    assert_eq!(
        store
            .delete_events(&"gone".into(), &deletions)
            .await
            .unwrap(),
        0
    );
    assert_eq!(store.event(&room, &last).await.unwrap(), None);
    assert!(store.event_versions(&room, &last).await.unwrap().is_empty());
    assert!(
        store.owed(None, 9).await.unwrap().is_empty(),
        "nobody is owed what is gone"
    );

    test.reopen().await;
    let store = &**test.store();
    let at = snapshot(store, "r").await;
    assert_eq!((at.room.event_count, at.room.latest_index), (3, Some(2)));
    let again = store
        .commit(commit("r", at.version, 2).into())
        .await
        .unwrap_err();
    assert_eq!(again.kind(), ErrorKind::VersionConflict);
    store
        .commit(commit("r", at.version, 3).into())
        .await
        .unwrap();
    assert_eq!(indexes(store, "r", &EventQuery::first(9)).await, [0, 1, 3]);
    assert_eq!(
        indexes(store, "r", &EventQuery::first(9).after(1)).await,
        [3]
    );
    let at = snapshot(store, "r").await;
    assert_eq!((at.room.event_count, at.room.latest_index), (4, Some(3)));
    delete_all(store).await;
}

async fn delete_all(store: &dyn ConversationStore) {
    let room = "r".into();
    let events = store.events(&room, &EventQuery::first(9)).await.unwrap();
    let ids: Vec<EventId> = events.iter().map(|event| event.id.clone()).collect();
    assert_eq!(store.delete_events(&room, &ids).await.unwrap(), 3);
    let at = snapshot(store, "r").await;
    assert_eq!((at.room.event_count, at.room.latest_index), (4, Some(3)));
    store
        .commit(commit("r", at.version, 4).into())
        .await
        .unwrap();
    assert_eq!(indexes(store, "r", &EventQuery::first(9)).await, [4]);
}

pub async fn threads_are_summed_up_by_their_roots(test: TestStore) {
    let test = with_rooms(test, &["r", "s"]).await;
    let store = &**test.store();
    let thread = [None, Some("x"), Some("y"), Some("x"), None, Some("x")];
    for (index, parent) in (0..).zip(thread) {
        let mut event = event_of("r", index, "x");
        event.parent_event_id = parent.map(Into::into);
        let seconds = i64::try_from(index).unwrap();
        event.created_at = after(if index == 5 { 1 } else { seconds });
        store.commit(commit_of(index, event).into()).await.unwrap();
    }
    let mut elsewhere = event_of("s", 0, "x");
    elsewhere.parent_event_id = Some("x".into());
    store.commit(commit_of(0, elsewhere).into()).await.unwrap();
    let summary = |root: &str, reply_count, last: Option<i64>| {
        let mut summary = ThreadSummary::new(root);
        summary.reply_count = reply_count;
        summary.last_reply_at = last.map(after);
        summary
    };
    let roots = ["y", "z", "x"].map(EventId::from);
    let found = store.thread_summaries(&"r".into(), &roots).await.unwrap();
    let expected = [
        summary("y", 1, Some(2)),
        summary("z", 0, None),
        summary("x", 3, Some(3)),
    ];
    assert_eq!(found, expected);
    assert!(
        store
            .thread_summaries(&"r".into(), &[])
            .await
            .unwrap()
            .is_empty()
    );
    let none = store
        .thread_summaries(&"gone".into(), &roots[..1])
        .await
        .unwrap();
    assert_eq!(none, [summary("y", 0, None)]);
}
