//! The commit: what it holds together, and what it refuses.

use std::sync::Arc;

use roomkit_core::ErrorKind;
use roomkit_core::model::{EventStatus, Metadata, Observation, Participant, Task, TextContent};
use roomkit_core::store::{
    CommitBatch, ConversationStore, EventQuery, IdempotentOutcome, OwedDelivery, OwedKind,
    RoomCommit,
};
use roomkit_core::sync::FencingToken;

use super::TestStore;
use super::sample::{
    after, attach, commit, commit_of, effects, event_of, fill, indexes, now, outcome, snapshot,
    speaker, with_rooms,
};

async fn refused(store: &dyn ConversationStore, batch: impl Into<CommitBatch>) -> ErrorKind {
    store.commit(batch.into()).await.unwrap_err().kind()
}

pub async fn an_event_and_the_counters_of_its_room_are_one_commit(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    for index in 0..3 {
        let mut commit = commit("r", index, index);
        commit.at = after(1 + i64::try_from(index).unwrap());
        let at = commit.at;
        let room = test
            .store()
            .commit(commit.into())
            .await
            .unwrap()
            .into_first();
        assert_eq!(room.version, index + 1);
        assert_eq!(room.room.event_count, index + 1);
        assert_eq!(room.room.latest_index, Some(index));
        assert_eq!(room.room.timers.last_activity_at, Some(at));
        assert_eq!(room.room.updated_at, at);
        assert_eq!(snapshot(&**test.store(), "r").await, room);
    }
    let before = snapshot(&**test.store(), "r").await;
    test.reopen().await;
    assert_eq!(snapshot(&**test.store(), "r").await, before);
    assert_eq!(
        indexes(&**test.store(), "r", &EventQuery::first(9)).await,
        [0, 1, 2]
    );
}

pub async fn what_was_decided_on_an_older_room_is_refused_whole(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    fill(store, "r", 1).await;
    let there = store
        .events(&"r".into(), &EventQuery::first(1))
        .await
        .unwrap();
    let mut again = event_of("r", 1, "same id");
    again.id = there[0].id.clone();
    for (stale, what) in [
        (commit("r", 0, 1), "an older version"),
        (commit("r", 2, 1), "a version that is still to come"),
        (commit("r", 1, 0), "an index that is taken"),
        (commit("r", 1, 2), "an index that leaves a gap"),
        (commit_of(1, again), "an id that is taken"),
    ] {
        let mut stale = stale;
        stale.tasks.push(Task::new("r", "must not be kept", now()));
        stale.speaker = Some(speaker("p", "s", "a"));
        let error = store.commit(stale.into()).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::VersionConflict, "{what}");
        assert!(error.is_retryable());
    }
    assert!(store.tasks(&"r".into()).await.unwrap().is_empty());
    assert!(store.participants(&"r".into()).await.unwrap().is_empty());
    assert_eq!(snapshot(store, "r").await.version, 1);
    assert_eq!(
        refused(store, commit("gone", 0, 0)).await,
        ErrorKind::RoomNotFound
    );
}

pub async fn a_holder_that_has_lost_its_lock_can_no_longer_commit(mut test: TestStore) {
    test = with_rooms(test, &["r", "s"]).await;
    let fenced = |version, index, token| {
        let mut commit = commit("r", version, index);
        commit.fencing = Some(FencingToken(token));
        commit
    };
    test.store().commit(fenced(0, 0, 7).into()).await.unwrap();
    test.reopen().await;
    let store = &**test.store();
    assert_eq!(
        refused(store, fenced(1, 1, 6)).await,
        ErrorKind::StaleFencingToken
    );
    let mut late = effects("r");
    late.fencing = Some(FencingToken(6));
    late.tasks.push(Task::new("r", "late", now()));
    assert_eq!(refused(store, late).await, ErrorKind::StaleFencingToken);
    store.commit(fenced(1, 1, 7).into()).await.unwrap();
    store
        .commit(fenced(2, 2, u64::MAX >> 1).into())
        .await
        .unwrap();
    store.commit(commit("r", 3, 3).into()).await.unwrap();
    assert_eq!(
        refused(store, fenced(4, 4, 8)).await,
        ErrorKind::StaleFencingToken
    );
    let mut other = commit("s", 0, 0);
    other.fencing = Some(FencingToken(1));
    store.commit(other.into()).await.unwrap();
}

pub async fn a_batch_of_several_rooms_holds_whole_or_not_at_all(test: TestStore) {
    let test = with_rooms(test, &["r", "s", "t"]).await;
    let store = &**test.store();
    fill(store, "r", 1).await;
    let batch = CommitBatch::from(commit("s", 0, 0))
        .and(commit("r", 0, 1))
        .and(commit("t", 0, 0));
    assert_eq!(refused(store, batch).await, ErrorKind::VersionConflict);
    let batch = CommitBatch::from(commit("s", 0, 0)).and(commit("gone", 0, 0));
    assert_eq!(refused(store, batch).await, ErrorKind::RoomNotFound);
    for room in ["s", "t"] {
        assert_eq!(snapshot(store, room).await.version, 0);
        assert!(indexes(store, room, &EventQuery::first(9)).await.is_empty());
    }
    let batch = CommitBatch::from(commit("t", 0, 0))
        .and(commit("r", 1, 1))
        .and(commit("s", 0, 0));
    let receipt = store.commit(batch).await.unwrap();
    let rooms: Vec<_> = receipt
        .rooms()
        .map(|room| room.room.id.to_string())
        .collect();
    assert_eq!(rooms, ["t", "r", "s"], "in the order of the batch");
}

pub async fn a_batch_with_two_parts_of_one_room_is_refused_whole(test: TestStore) {
    let test = with_rooms(test, &["r", "s"]).await;
    let store = &**test.store();
    let batch = CommitBatch::from(commit("r", 0, 0))
        .and(commit("s", 0, 0))
        .and(commit("r", 0, 0));
    assert_eq!(refused(store, batch).await, ErrorKind::StoreFailed);
    for room in ["r", "s"] {
        let room = snapshot(store, room).await;
        assert_eq!((room.version, room.room.event_count), (0, 0));
    }
}

pub async fn effects_alone_change_no_version(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let before = snapshot(store, "r").await;
    let mut commit = RoomCommit::new("r".into(), None, after(5));
    commit.tasks.push(Task::new("r", "task", now()));
    commit
        .observations
        .push(Observation::new("r", "a", "mood", "good", now()));
    commit
        .participants
        .push(Participant::new("p", "r", "a", now()));
    commit.speaker = Some(speaker("q", "q", "a"));
    let event = event_of("r", 0, "owed");
    let owed = OwedDelivery::new(&event, "a".into(), OwedKind::Delivery);
    commit.owed.push(owed);
    let receipt = store.commit(commit.into()).await.unwrap().into_first();
    assert_eq!(receipt, before);
    assert_eq!(snapshot(store, "r").await, before);
    assert_eq!(store.tasks(&"r".into()).await.unwrap().len(), 1);
    assert_eq!(store.participants(&"r".into()).await.unwrap().len(), 2);

    let mut wrong = effects("r");
    wrong.expected_version = Some(1);
    wrong.tasks.push(Task::new("r", "task", now()));
    assert_eq!(refused(store, wrong).await, ErrorKind::VersionConflict);
    let mut bind = effects("r");
    bind.bindings.push(attach("r", "a"));
    let receipt = store.commit(bind.into()).await.unwrap().into_first();
    assert_eq!(
        receipt.version, 1,
        "a binding is part of what was decided on"
    );
}

pub async fn an_edit_is_a_new_version_at_the_same_place(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    fill(store, "r", 2).await;
    let first = store
        .events(&"r".into(), &EventQuery::first(1))
        .await
        .unwrap()
        .remove(0);
    let mut versions = vec![Arc::clone(&first)];
    for (version, text) in [(2, "second"), (3, "third")] {
        let mut edited = (*first).clone();
        edited.content = TextContent::new(text).into();
        edited.metadata = Metadata::new().with("edited", true);
        versions.push(Arc::new(edited.clone()));
        let mut edit = commit("r", version, version);
        edit.edited = Some(Arc::new(edited));
        let room = store.commit(edit.into()).await.unwrap().into_first();
        assert_eq!(room.version, version + 1);
    }
    let mut alone = effects("r");
    alone.edited = Some(Arc::clone(&versions[1]));
    versions.push(Arc::clone(&versions[1]));
    let room = store.commit(alone.into()).await.unwrap().into_first();
    assert_eq!((room.version, room.room.event_count), (5, 4));

    test.reopen().await;
    let store = &**test.store();
    let room = "r".into();
    assert_eq!(
        store.event_versions(&room, &first.id).await.unwrap(),
        versions
    );
    assert_eq!(
        store.event(&room, &first.id).await.unwrap().as_ref(),
        versions.last()
    );
    let listed = store.events(&room, &EventQuery::first(1)).await.unwrap();
    assert_eq!(listed[0].text(), Some("second"));
    assert_eq!(
        indexes(store, "r", &EventQuery::first(9)).await,
        [0, 1, 2, 3]
    );

    for (id, index) in [("nobody", 0), (first.id.as_str(), 1)] {
        let mut event = event_of("r", index, "edit of nothing");
        event.id = id.into();
        let mut edit = commit("r", 5, 4);
        edit.edited = Some(Arc::new(event));
        assert_eq!(
            refused(store, edit).await,
            ErrorKind::EventNotFound,
            "{id} {index}"
        );
    }
    assert!(
        store
            .event_versions(&room, &"nobody".into())
            .await
            .unwrap()
            .is_empty()
    );
    assert_eq!(snapshot(store, "r").await.version, 5);
}

pub async fn an_outcome_and_a_speaker_hold_without_their_event(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let before = snapshot(&**test.store(), "r").await;
    let mut passing = RoomCommit::new("r".into(), Some(before.version), now());
    passing.idempotency = Some(outcome("key", &"passed".into()));
    passing.speaker = Some(speaker("alice", "alice", "sms"));
    test.store().commit(passing.clone().into()).await.unwrap();
    test.reopen().await;
    let store = &**test.store();
    let stored = store.idempotent_outcome(&"r".into(), "key").await.unwrap();
    assert_eq!(stored.unwrap().event_id, "passed");
    let people = store.participants(&"r".into()).await.unwrap();
    assert_eq!(people.len(), 1);
    let after = snapshot(store, "r").await;
    assert_eq!(after.room.latest_index, None);
    assert_eq!(after.room.event_count, 0);
    passing.expected_version = Some(after.version);
    assert_eq!(refused(store, passing).await, ErrorKind::VersionConflict);
}

pub async fn a_key_is_taken_in_its_room_alone(mut test: TestStore) {
    test = with_rooms(test, &["r", "s"]).await;
    let store = &**test.store();
    let mut first = event_of("r", 0, "first");
    first.status = EventStatus::Blocked;
    let blocked = IdempotentOutcome {
        key: "k".into(),
        event_id: first.id.clone(),
        blocked: true,
        reason: Some("a hook's words".into()),
    };
    let mut commit_first = commit_of(0, first);
    commit_first.idempotency = Some(blocked.clone());
    store.commit(commit_first.into()).await.unwrap();
    let mut second = commit("r", 1, 1);
    second.idempotency = Some(outcome("k", &second.event.as_ref().unwrap().id));
    assert_eq!(refused(store, second).await, ErrorKind::VersionConflict);
    assert_eq!(snapshot(store, "r").await.version, 1);
    let mut elsewhere = commit("s", 0, 0);
    elsewhere.idempotency = Some(outcome("k", &elsewhere.event.as_ref().unwrap().id));
    store.commit(elsewhere.into()).await.unwrap();

    test.reopen().await;
    let store = &**test.store();
    let found = store.idempotent_outcome(&"r".into(), "k").await.unwrap();
    assert_eq!(found, Some(blocked));
    for (room, key) in [("r", "K"), ("r", ""), ("gone", "k")] {
        let none = store.idempotent_outcome(&room.into(), key).await.unwrap();
        assert_eq!(none, None);
    }
}

pub async fn what_is_passed_in_and_handed_out_is_owned_by_its_holder(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let mut mine = event_of("r", 0, "as it was");
    let shared = Arc::new(mine.clone());
    let mut commit = commit_of(0, mine.clone());
    commit.event = Some(Arc::clone(&shared));
    commit.bindings.push(attach("r", "a"));
    let mut task = Task::new("r", "as it was", now());
    commit.tasks.push(task.clone());
    store.commit(commit.into()).await.unwrap();
    mine.content = TextContent::new("changed").into();
    task.title = "changed".into();

    let mut room = snapshot(store, "r").await;
    Arc::make_mut(&mut room.room)
        .metadata
        .insert("changed", true);
    let mut event = store.event(&"r".into(), &mine.id).await.unwrap().unwrap();
    Arc::make_mut(&mut event).content = TextContent::new("changed").into();
    let mut binding = store
        .binding(&"r".into(), &"a".into())
        .await
        .unwrap()
        .unwrap();
    Arc::make_mut(&mut binding).muted = true;
    store.tasks(&"r".into()).await.unwrap()[0].title = "changed".into();

    assert!(snapshot(store, "r").await.room.metadata.is_empty());
    assert_eq!(
        store.event(&"r".into(), &mine.id).await.unwrap(),
        Some(shared)
    );
    assert!(!store.bindings(&"r".into()).await.unwrap()[0].muted);
    assert_eq!(
        store.tasks(&"r".into()).await.unwrap()[0].title,
        "as it was"
    );
}
