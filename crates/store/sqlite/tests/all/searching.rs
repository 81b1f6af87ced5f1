//! Search over what is indexed, what is not yet, and what has changed since: as in memory.

use std::sync::Arc;

use futures_util::StreamExt;
use roomkit_core::model::{EventId, Metadata};
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventQuery, EventSearch, EventStore, Expiry, MemoryStore,
    RetentionAction, RetentionScope, RoomCommit, RoomPart, RoomStore,
};
use roomkit_store_sqlite::SqliteStore;

use crate::support::{Place, dump, event, now, room_with, say};

/// More than are indexed at once, so that some are in the index and some are not.
const EVENTS: u64 = 700;

const TEXTS: [&str; 8] = [
    "Can't find it",
    "costs 3.14 or 1,000.50",
    "snake_case and kebab-case",
    "Grüße an die Straße",
    "naïve café",
    "привет мир",
    "日本語 のテキスト",
    "e.g. user@example.com 12:30",
];

fn searches() -> Vec<EventSearch> {
    let mut all: Vec<EventSearch> = TEXTS
        .iter()
        .flat_map(|text| text.split(' '))
        .chain([
            "word7",
            "hello word8",
            "word",
            "can",
            "3",
            "14",
            "snake",
            "cafe",
            "gruße",
            "\"",
            "OR",
        ])
        .chain([
            "hello AND word9",
            "NEAR(hello)",
            "hel*",
            "-hello",
            "text:hello",
            "ΣΊΣΥΦΟΣ",
        ])
        .map(|text| EventSearch::new(text, 20))
        .collect();
    all.push(EventSearch::new("hello", 5).offset(650));
    all.push(EventSearch::new("hello", usize::MAX).room("r"));
    all.push(EventSearch::new("hello", 3).room("nowhere"));
    all
}

async fn same(found: &dyn ConversationStore, expected: &dyn ConversationStore) {
    for search in searches() {
        let found = found.search_events(&search).await.unwrap();
        let expected = expected.search_events(&search).await.unwrap();
        let places = |events: &[Arc<roomkit_core::model::RoomEvent>]| -> Vec<(String, u64)> {
            events
                .iter()
                .map(|event| (event.room_id.to_string(), event.index))
                .collect()
        };
        assert_eq!(places(&found), places(&expected), "{}", search.text);
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn it_finds_what_the_memory_store_finds_whatever_is_indexed() {
    let place = Place::new();
    let (store, memory) = (place.open().await, MemoryStore::new());
    room_with(&store, "r", EVENTS).await;
    let parts = dump(&store, "r").await;
    let parts = futures_util::stream::iter(parts.into_iter().map(Ok)).boxed();
    memory.restore(parts).await.unwrap();
    let both: [&dyn ConversationStore; 2] = [&store, &memory];
    for index in EVENTS..EVENTS + 8 {
        let mut said = say("r", index, "");
        let text = TEXTS[usize::try_from(index - EVENTS).unwrap()];
        said.event = Some(Arc::new(event("r", index, text)));
        for store in both {
            store.commit(said.clone().into()).await.unwrap();
        }
    }
    same(&store, &memory).await;

    // Edited, deleted softly, deleted, redacted: of what is indexed and of what is not.
    for index in [3, EVENTS + 1] {
        let id = "r".into();
        let query = EventQuery::first(1).after(index);
        let before = memory.events(&id, &query).await.unwrap().remove(0);
        for (text, metadata) in [
            ("hello again", Metadata::new()),
            ("hello hidden", Metadata::new().with("deleted", true)),
        ] {
            let mut edited = event("r", before.index, text);
            edited.id = before.id.clone();
            edited.metadata = metadata;
            let mut commit = RoomCommit::new("r".into(), None, now());
            commit.edited = Some(Arc::new(edited));
            for store in both {
                store.commit(commit.clone().into()).await.unwrap();
            }
            same(&store, &memory).await;
        }
        let query = EventQuery::first(2).after(index + 1);
        let next = memory.events(&id, &query);
        let gone: Vec<EventId> = next
            .await
            .unwrap()
            .iter()
            .map(|event| event.id.clone())
            .collect();
        for store in both {
            store.delete_events(&"r".into(), &gone).await.unwrap();
        }
        same(&store, &memory).await;
    }
    let expiry = Expiry {
        rooms: RetentionScope::AllBut([].into()),
        before: now() + chrono::TimeDelta::seconds(50),
        action: RetentionAction::Redact,
    };
    for store in both {
        assert!(store.expire_events(&expiry, 40).await.unwrap() > 0);
    }
    same(&store, &memory).await;
    store.close().await.unwrap();
    let store = place.open().await;
    same(&store, &memory).await;
    assert!(store.delete_room(&"r".into()).await.unwrap());
    let left = store
        .search_events(&EventSearch::new("hello", 9))
        .await
        .unwrap();
    assert!(left.is_empty());
}

#[tokio::test]
async fn a_search_for_very_many_and_very_long_words_is_answered() {
    let place = Place::new();
    let store = place.open().await;
    let words: Vec<String> = (0..2_000).map(|number| format!("w{number}")).collect();
    let text = format!("{} {}", words.join(" "), "x".repeat(5_000));
    room_with(&store, "r", 0).await;
    store.commit(say("r", 0, &text).into()).await.unwrap();
    let find = async |store: &SqliteStore| {
        let found = store
            .search_events(&EventSearch::new(text.as_str(), 9))
            .await
            .unwrap();
        assert_eq!(found.len(), 1);
        let more = format!("{text} no");
        let none = store
            .search_events(&EventSearch::new(more, 9))
            .await
            .unwrap();
        assert!(none.is_empty());
    };
    find(&store).await;
    // Once more when the words are in the index.
    store.close().await.unwrap();
    find(&place.open().await).await;
}

fn waiting(store: &SqliteStore) -> i64 {
    let db = rusqlite::Connection::open(store.path()).unwrap();
    let sql = "SELECT count(*) FROM unindexed";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn however_much_comes_at_once_few_events_wait_for_their_words() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 1000).await;
    let parts = dump(&store, "r").await;
    let restored = (0..8).map(|room| {
        let name = format!("r{room}");
        let parts = parts.iter().cloned().map(move |part| {
            Ok(match part {
                RoomPart::Room(mut head) => {
                    head.room.id = name.as_str().into();
                    RoomPart::Room(head)
                }
                RoomPart::Event(versions) => {
                    let mut event = (*versions[0]).clone();
                    event.room_id = name.as_str().into();
                    RoomPart::Event(vec![Arc::new(event)])
                }
                part => part,
            })
        });
        store.restore(futures_util::stream::iter(parts.collect::<Vec<_>>()).boxed())
    });
    for restored in futures_util::future::join_all(restored).await {
        restored.unwrap();
    }
    // Nobody writes any more; what is left is done all the same.
    while waiting(&store) > 256 {
        tokio::task::yield_now().await;
    }
    let found = store
        .search_events(&EventSearch::new("word7 hello", 99))
        .await
        .unwrap();
    assert_eq!(found.len(), 9);
}
