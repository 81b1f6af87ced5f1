//! What PostgreSQL is picky about: zero bytes, odd characters, large numbers, long ids.

use std::sync::Arc;

use chrono::DateTime;
use futures_util::StreamExt;
use roomkit_core::ErrorKind;
use roomkit_core::model::{ChannelType, Identity, Metadata, ReadMarker, Room, TextContent};
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventSearch, EventStore, IdempotentOutcome, MemoryStore,
    RoomPart, RoomStore, Speaker,
};
use roomkit_store::{PayloadKey, PayloadKeys};
use roomkit_store_postgres::PostgresStore;
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor, Row};

use crate::support::{TestSchema, commit, event, now};

const ODD: [&str; 6] = [
    "",
    "\0",
    "\u{1}\u{2}",
    "it's \"quoted\" \\ {s} $1",
    "ünï→🎉",
    "a\0b",
];

async fn dump(store: &dyn ArchiveStore, room: &str) -> Vec<RoomPart> {
    let parts: Vec<_> = store.dump(&room.into()).collect().await;
    parts.into_iter().collect::<Result<_, _>>().unwrap()
}

#[tokio::test]
async fn every_text_comes_back_as_it_was() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    let memory = MemoryStore::new();
    let stores: [&dyn ConversationStore; 2] = [&store, &memory];
    for (number, odd) in ODD.iter().enumerate() {
        let room = format!("{number}{odd}");
        let mut metadata = Metadata::new();
        metadata.insert(*odd, *odd);
        metadata.insert("number", 1e308);
        metadata.insert("large", u64::MAX);
        let mut said = event(&room, 0, odd);
        said.source.channel_id = (*odd).into();
        said.source.participant_id = Some((*odd).into());
        said.source.raw_payload = metadata.clone();
        said.content = TextContent::new(*odd).into();
        said.metadata = metadata.clone();
        said.created_at = DateTime::from_timestamp(-62_135_596_800, 999_999_000).unwrap();
        let mut part = commit(&room, 0, 0, odd);
        part.event = Some(Arc::new(said.clone()));
        part.speaker = Some(Speaker {
            participant_id: (*odd).into(),
            sender_id: (*odd).into(),
            channel_id: (*odd).into(),
            channel_type: ChannelType::Sms,
        });
        part.idempotency = Some(IdempotentOutcome {
            key: (*odd).to_owned(),
            event_id: (*odd).into(),
            blocked: true,
            reason: Some((*odd).to_owned()),
        });
        for store in stores {
            let mut new = Room::new(room.as_str(), now());
            new.organization_id = Some((*odd).into());
            new.metadata = metadata.clone();
            store.create_room(new).await.unwrap();
            store.commit(part.clone().into()).await.unwrap();
            let found = store
                .event(&room.as_str().into(), &(*odd).into())
                .await
                .unwrap();
            assert_eq!(found.as_deref(), Some(&said));
            let marker = ReadMarker {
                room_id: room.as_str().into(),
                channel_id: (*odd).into(),
                index: u64::MAX,
                read_at: now(),
            };
            store.mark_read(marker.clone()).await.unwrap();
            assert_eq!(
                store.read_markers(&room.as_str().into()).await.unwrap(),
                [marker]
            );
            let mut identity = Identity::new(*odd);
            identity.organization_id = Some((*odd).into());
            let addresses = vec![(*odd).to_owned(), (*odd).to_owned()];
            identity
                .channel_addresses
                .insert("sms".to_owned(), addresses);
            store.put_identity(identity.clone()).await.unwrap();
            let organization = Some((*odd).into());
            let found = store.identities_by_address(organization.as_ref(), &ChannelType::Sms, odd);
            assert_eq!(found.await.unwrap(), [identity]);
            let sender = (*odd).into();
            let rooms = store.rooms_of_sender(organization.as_ref(), &ChannelType::Sms, &sender, 9);
            assert_eq!(rooms.await.unwrap(), [room.as_str()]);
        }
        assert_eq!(dump(&store, &room).await, dump(&memory, &room).await);
    }
}

#[tokio::test]
async fn words_are_found_whatever_they_are_made_of() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    let memory = MemoryStore::new();
    let texts = [
        "can't 'quote' it's \\backslash\\ a&b a|b !c (d) e:* <-> f",
        "İstanbul STRASSE straße ﬁsh Ångström",
        "日本語 ไทย 👩‍👩‍👧 №12/34 3.14 1,000",
        "running runs run the and of",
        "nul\0byte a_b x.y@z.example https://example.com/a?b=c",
    ];
    for store in [&store as &dyn ConversationStore, &memory] {
        store.create_room(Room::new("r", now())).await.unwrap();
        for (index, text) in texts.iter().enumerate() {
            let index = index as u64;
            let mut part = commit("r", index, index, &format!("e{index}"));
            let mut said = event("r", index, &format!("e{index}"));
            said.content = TextContent::new(*text).into();
            part.event = Some(Arc::new(said));
            store.commit(part.into()).await.unwrap();
        }
    }
    let words: Vec<String> = texts
        .iter()
        .flat_map(|text| roomkit_core::store::words(text))
        .collect();
    let more = [
        "run",
        "RUNS",
        "backslash",
        "a&b",
        "'",
        "\\",
        "",
        "日本",
        "strasse",
        "istanbul",
        "e0",
    ];
    for query in words.iter().map(String::as_str).chain(more).chain(texts) {
        let search = EventSearch::new(query, 10);
        let found = store.search_events(&search).await.unwrap();
        assert_eq!(
            found,
            memory.search_events(&search).await.unwrap(),
            "{query}"
        );
    }
}

#[tokio::test]
async fn a_text_of_a_hundred_thousand_words_is_stored_and_found() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    let text: Vec<String> = (0..100_000).map(|number| format!("word{number}")).collect();
    let mut said = event("r", 0, "long");
    said.content = TextContent::new(text.join(" ")).into();
    let mut part = commit("r", 0, 0, "long");
    part.event = Some(Arc::new(said.clone()));
    store.commit(part.into()).await.unwrap();
    let found = store
        .search_events(&EventSearch::new("word99999 word0", 2))
        .await
        .unwrap();
    assert_eq!(found, [Arc::new(said)]);
}

#[tokio::test]
async fn an_id_that_no_index_holds_is_refused_and_leaves_nothing() {
    let schema = TestSchema::new();
    let store = schema.open().await;
    store.create_room(Room::new("r", now())).await.unwrap();
    // Nothing that compresses.
    let long: String = (0..9_000_u32)
        .map(|n| char::from_u32(0x4e00 + n.wrapping_mul(2_654_435_761) % 20_000).unwrap())
        .collect();
    let error = store
        .commit(commit("r", 0, 0, &long).into())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error:?}");
    assert!(error.message().contains("too long"), "{error:?}");
    assert!(
        !format!("{error:?}").contains(&long[..30]),
        "the id is quoted"
    );
    let snapshot = store.room(&"r".into()).await.unwrap().unwrap();
    assert_eq!((snapshot.version, snapshot.room.event_count), (0, 0));
    store
        .commit(commit("r", 0, 0, "short").into())
        .await
        .unwrap();
}

#[tokio::test]
async fn what_a_provider_sent_is_sealed_at_rest_and_opens_with_the_key_alone() {
    let schema = TestSchema::new();
    let key = || PayloadKeys::new(PayloadKey::new(1, [7; 32]));
    let sealing = schema.config().payload_keys(key());
    let sealing = PostgresStore::open(sealing).await.unwrap();
    sealing.create_room(Room::new("r", now())).await.unwrap();
    let mut said = event("r", 0, "e0");
    said.source.raw_payload = Metadata::new().with("from", "+15550100");
    let mut part = commit("r", 0, 0, "e0");
    part.event = Some(Arc::new(said.clone()));
    sealing.commit(part.into()).await.unwrap();
    let found = sealing.event(&"r".into(), &"e0".into()).await.unwrap();
    assert_eq!(found.as_deref(), Some(&said));
    let mut connection = PgConnection::connect(&schema.url).await.unwrap();
    let row = format!(
        "SELECT data || encode(payload, 'escape') FROM \"{}\".events",
        schema.name
    );
    let row = connection.fetch_one(AssertSqlSafe(row)).await.unwrap();
    let at_rest: String = row.try_get(0).unwrap();
    assert!(!at_rest.contains("15550100"), "{at_rest}");
    let keyless = schema.open().await;
    let error = keyless.event(&"r".into(), &"e0".into()).await.unwrap_err();
    assert!(error.message().contains("key 1"), "{error:?}");
}
