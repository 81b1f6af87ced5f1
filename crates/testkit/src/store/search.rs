//! Full-text search: what is found, and in which order.

use std::sync::Arc;

use roomkit_core::model::{EventContent, EventStatus, Metadata, Room, RoomEvent, TextContent};
use roomkit_core::store::{ConversationStore, EventSearch};

use super::TestStore;
use super::sample::{after, commit_of, effects, event_of, now, snapshot, with_rooms};

async fn say(
    store: &dyn ConversationStore,
    room: &str,
    at: i64,
    content: EventContent,
) -> RoomEvent {
    let room = snapshot(store, room).await;
    let mut event = event_of(room.room.id.as_str(), room.room.next_index(), "");
    event.content = content;
    event.created_at = after(at);
    store
        .commit(commit_of(room.version, event.clone()).into())
        .await
        .unwrap();
    event
}

async fn found(store: &dyn ConversationStore, search: EventSearch) -> Vec<String> {
    let events = store.search_events(&search).await.unwrap();
    let place = |event: &Arc<RoomEvent>| format!("{}{}", event.room_id, event.index);
    events.iter().map(place).collect()
}

pub async fn words_find_events_in_every_room_or_one(mut test: TestStore) {
    let store = &**test.store();
    for (room, organization) in [("r", None), ("s", Some("acme"))] {
        let mut room = Room::new(room, now());
        room.organization_id = organization.map(Into::into);
        store.create_room(room).await.unwrap();
    }
    let text = EventContent::text;
    say(store, "r", 1, text("The INVOICE №12/34 for Müller's order")).await;
    say(store, "s", 2, text("invoice paid, thank you")).await;
    say(store, "r", 1, text("Invoices are not an invoice")).await;
    say(
        store,
        "r",
        0,
        EventContent::composite([text("two parts"), EventContent::rich("**bold** move")]),
    )
    .await;
    say(
        store,
        "s",
        5,
        text("東京 o'clock \"quoted\" back\\slash a&b | !not (x) <-> :* \u{0}zero"),
    )
    .await;
    test.reopen().await;
    let store = &**test.store();
    let search = |text: &str| EventSearch::new(text, 9);
    for (query, expected) in [
        ("invoice", vec!["s0", "r0", "r1"]),
        ("Invoice", vec!["s0", "r0", "r1"]),
        ("invoices", vec!["r1"]),
        ("paid invoice", vec!["s0"]),
        ("an, invoice!", vec!["r1"]),
        ("invo", vec![]),
        ("12", vec!["r0"]),
        ("müller's", vec!["r0"]),
        ("muller's", vec![]),
        ("bold parts", vec!["r2"]),
        ("bold invoice", vec![]),
        ("東", vec!["s1"]),
        ("o'clock", vec!["s1"]),
        ("clock", vec![]),
        ("slash back", vec!["s1"]),
        ("a b not x zero quoted", vec!["s1"]),
        ("' OR 1=1 --", vec![]),
        ("", vec![]),
        ("  ?! ", vec![]),
    ] {
        assert_eq!(found(store, search(query)).await, expected, "{query:?}");
    }
    assert_eq!(
        found(store, search("invoice").room("r")).await,
        ["r0", "r1"]
    );
    assert_eq!(
        found(store, search("invoice").organization("acme")).await,
        ["s0"]
    );
    assert!(
        found(store, search("invoice").organization("acme").room("r"))
            .await
            .is_empty()
    );
    assert!(
        found(store, search("invoice").room("gone"))
            .await
            .is_empty()
    );
    assert_eq!(
        found(store, EventSearch::new("invoice", 1).offset(1)).await,
        ["r0"]
    );
    assert!(
        found(store, EventSearch::new("invoice", 0))
            .await
            .is_empty()
    );
    assert!(found(store, search("invoice").offset(3)).await.is_empty());
}

pub async fn a_search_knows_the_newest_version_alone(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let first = say(store, "r", 0, EventContent::text("apple")).await;
    let second = say(store, "r", 0, EventContent::text("apple")).await;
    let third = say(store, "r", 0, EventContent::text("apple")).await;
    let mut blocked = event_of("r", 3, "apple");
    blocked.status = EventStatus::Blocked;
    store.commit(commit_of(3, blocked).into()).await.unwrap();
    let edit = async |event: &RoomEvent, change: fn(&mut RoomEvent)| {
        let mut edited = event.clone();
        change(&mut edited);
        let mut commit = effects("r");
        commit.edited = Some(Arc::new(edited));
        store.commit(commit.into()).await.unwrap();
    };
    edit(&first, |event| {
        event.content = TextContent::new("pear").into()
    })
    .await;
    edit(&second, |event| {
        event.metadata = Metadata::new().with("deleted", true)
    })
    .await;
    test.reopen().await;
    let store = &**test.store();
    assert_eq!(found(store, EventSearch::new("apple", 9)).await, ["r2"]);
    assert_eq!(found(store, EventSearch::new("pear", 9)).await, ["r0"]);
    store.delete_events(&"r".into(), &[third.id]).await.unwrap();
    assert!(found(store, EventSearch::new("apple", 9)).await.is_empty());
}
