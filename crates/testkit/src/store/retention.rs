//! Retention: what expires, and what becomes of it.

use std::collections::BTreeSet;
use std::sync::Arc;

use roomkit_core::model::{EventContent, Metadata, Room, RoomEvent};
use roomkit_core::store::{
    ConversationStore, EventQuery, EventSearch, Expiry, RetentionAction, RetentionPolicy,
    RetentionRule, RetentionScope,
};

use super::TestStore;
use super::sample::{after, commit_of, create, effects, event_of, fill, indexes, now, snapshot};

/// Rooms of two organisations and of none, each with events of the days 0 to 3, the last day first.
async fn aged(store: &dyn ConversationStore) {
    for (room, organization) in [
        ("none", None),
        ("acme", Some("acme")),
        ("other", Some("other")),
    ] {
        let mut made = Room::new(room, now());
        made.organization_id = organization.map(Into::into);
        store.create_room(made).await.unwrap();
        for index in 0..4 {
            let mut event = event_of(room, index, "secret words");
            event.created_at = after(86_400 * (3 - i64::try_from(index).unwrap()));
            event.source.raw_payload = Metadata::new().with("secret", "words");
            event.metadata = Metadata::new().with("edited", true).with("secret", "words");
            event.correlation_id = Some("c".into());
            store.commit(commit_of(index, event).into()).await.unwrap();
        }
    }
}

fn expiry(rooms: RetentionScope, days: i64, action: RetentionAction) -> Expiry {
    let before = after(86_400 * days);
    Expiry {
        rooms,
        before,
        action,
    }
}

fn but(organizations: &[&str]) -> RetentionScope {
    RetentionScope::AllBut(organizations.iter().map(|id| (*id).into()).collect())
}

async fn all(store: &dyn ConversationStore, room: &str) -> Vec<Arc<RoomEvent>> {
    store
        .events(&room.into(), &EventQuery::first(99))
        .await
        .unwrap()
}

pub async fn what_has_expired_is_deleted_or_redacted_by_organisation(mut test: TestStore) {
    let store = &**test.store();
    aged(store).await;
    let mut edited = (*all(store, "none").await[2]).clone();
    edited.content = EventContent::text("still secret");
    let mut commit = effects("none");
    commit.edited = Some(Arc::new(edited));
    store.commit(commit.into()).await.unwrap();
    let before = all(store, "none").await;
    let versions = snapshot(store, "none").await.version;

    let (redact, delete) = (RetentionAction::Redact, RetentionAction::Delete);
    let redact_most = expiry(but(&["acme", "other"]), 2, redact);
    assert_eq!(
        store.expire_events(&redact_most, 1).await.unwrap(),
        1,
        "the oldest first"
    );
    let redacted = async || -> Vec<bool> {
        all(store, "none")
            .await
            .iter()
            .map(|event| event.is_redacted())
            .collect()
    };
    assert_eq!(redacted().await, [false, false, false, true]);
    assert_eq!(store.expire_events(&redact_most, 9).await.unwrap(), 1);
    assert_eq!(
        store.expire_events(&redact_most, 9).await.unwrap(),
        0,
        "once is enough"
    );
    assert_eq!(redacted().await, [false, false, true, true]);

    let acme = expiry(RetentionScope::Organization("acme".into()), 3, delete);
    assert_eq!(store.expire_events(&acme, 9).await.unwrap(), 3);
    assert_eq!(store.expire_events(&acme, 9).await.unwrap(), 0);
    assert_eq!(
        store
            .expire_events(&expiry(but(&[]), -1, delete), 9)
            .await
            .unwrap(),
        0
    );

    test.reopen().await;
    let store = &**test.store();
    assert_eq!(indexes(store, "acme", &EventQuery::first(9)).await, [0]);
    assert_eq!(
        indexes(store, "other", &EventQuery::first(9)).await,
        [0, 1, 2, 3]
    );
    let room = snapshot(store, "acme").await.room;
    assert_eq!((room.event_count, room.latest_index), (4, Some(3)));
    let after = all(store, "none").await;
    assert_eq!(after[..2], before[..2]);
    for (old, new) in before[2..].iter().zip(&after[2..]) {
        let mut expected = (**old).clone();
        expected.redact();
        assert_eq!(**new, expected);
        assert!(
            !format!("{new:?}").contains("secret"),
            "nothing is left of it"
        );
        let kept = store.event_versions(&"none".into(), &new.id).await.unwrap();
        assert_eq!(kept, [Arc::clone(new)], "no earlier version is left");
    }
    assert!(after[2].is_edited());
    assert!(snapshot(store, "none").await.version >= versions);
    let found = store
        .search_events(&EventSearch::new("secret", 99))
        .await
        .unwrap();
    let rooms: BTreeSet<_> = found
        .iter()
        .map(|event| (event.room_id.as_str(), event.index))
        .collect();
    let left = [
        ("acme", 0),
        ("none", 0),
        ("none", 1),
        ("other", 0),
        ("other", 1),
        ("other", 2),
        ("other", 3),
    ];
    assert_eq!(rooms, BTreeSet::from(left));
    assert_eq!(
        store
            .expire_events(&expiry(but(&[]), 9, delete), 99)
            .await
            .unwrap(),
        9
    );
    assert!(
        all(store, "none").await.is_empty(),
        "what was redacted is deleted too"
    );
}

pub async fn a_policy_is_applied_to_the_end(test: TestStore) {
    let store = &**test.store();
    aged(store).await;
    create(store, "many").await;
    fill(store, "many", 1_101).await;
    let policy = RetentionPolicy::new(RetentionRule::delete_after(3))
        .organization("acme", RetentionRule::redact_after(1))
        .keep("other");
    let at = after(86_400 * 4);
    assert_eq!(policy.apply(store, at).await.unwrap(), 3 + 1 + 1_101);
    assert_eq!(policy.apply(store, at).await.unwrap(), 0);
    assert!(all(store, "many").await.is_empty());
    let acme: Vec<bool> = all(store, "acme")
        .await
        .iter()
        .map(|one| one.is_redacted())
        .collect();
    assert_eq!(acme, [false, true, true, true]);
    assert_eq!(all(store, "other").await.len(), 4);
    assert_eq!(
        indexes(store, "none", &EventQuery::first(9)).await,
        [0, 1, 2]
    );
    let keep_all = RetentionPolicy::default();
    assert_eq!(
        keep_all.apply(store, after(86_400 * 9_999)).await.unwrap(),
        0
    );
    let endless = RetentionPolicy::new(RetentionRule::delete_after(u32::MAX));
    assert_eq!(
        endless.apply(store, at).await.unwrap_err().code(),
        "invalid_input"
    );
}
