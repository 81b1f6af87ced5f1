//! Rooms that are being restored: nobody sees a half of one, and nothing is left of it.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use roomkit_core::model::Room;
use roomkit_core::store::{
    ArchiveStore, ConversationStore, EventSearch, EventStore, Expiry, Page, RetentionAction,
    RetentionScope, RoomFilter, RoomPart, RoomStore,
};
use roomkit_core::{ErrorKind, Result};
use roomkit_store_sqlite::SqliteStore;
use rusqlite::Connection;

use crate::support::{Place, dump, now, room_with};

/// So many that they come in several transactions.
const EVENTS: u64 = 1000;

/// The parts of a room of another store, of which the first `most` come and no end.
async fn some_parts(most: usize) -> BoxStream<'static, Result<RoomPart>> {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", EVENTS).await;
    let parts = dump(&store, "r").await.into_iter().take(most);
    stream::iter(parts.map(Ok)).boxed()
}

fn hidden_rows(store: &SqliteStore) -> i64 {
    let db = Connection::open(store.path()).unwrap();
    let sql = "SELECT (SELECT count(*) FROM rooms) + (SELECT count(*) FROM events) \
         + (SELECT count(*) FROM unindexed)";
    db.query_row(sql, [], |row| row.get(0)).unwrap()
}

async fn nothing_is_seen(store: &SqliteStore) {
    assert_eq!(store.room(&"r".into()).await.unwrap(), None);
    assert!(dump(store, "r").await.is_empty());
    let rooms = store
        .list_rooms(&RoomFilter::default(), Page::first(9))
        .await
        .unwrap();
    assert!(rooms.is_empty());
    let found = store
        .search_events(&EventSearch::new("hello", 9))
        .await
        .unwrap();
    assert!(found.is_empty());
    let expiry = Expiry {
        rooms: RetentionScope::AllBut([].into()),
        before: now() + chrono::TimeDelta::days(1),
        action: RetentionAction::Delete,
    };
    assert_eq!(store.expire_events(&expiry, 9).await.unwrap(), 0);
}

#[tokio::test]
async fn what_is_given_up_is_not_seen_and_goes() {
    let place = Place::new();
    let store = place.open().await;
    let unended = store.restore(some_parts(700).await).await.unwrap_err();
    assert_eq!(unended.kind(), ErrorKind::InvalidInput);
    nothing_is_seen(&store).await;
    assert_eq!(hidden_rows(&store), 0);

    // A caller that goes away while the parts are still coming.
    let parts = some_parts(700).await.chain(stream::pending()).boxed();
    let mut restoring = Box::pin(store.restore(parts));
    let begun = async {
        while hidden_rows(&store) < 500 {
            tokio::task::yield_now().await
        }
    };
    tokio::select! {
        _ = &mut restoring => panic!("it never ends"),
        () = begun => {}
    }
    nothing_is_seen(&store).await;
    drop(restoring);
    nothing_is_seen(&store).await;
    assert_eq!(hidden_rows(&store), 0);
    store.create_room(Room::new("r", now())).await.unwrap();
}

#[tokio::test]
async fn what_an_end_of_the_process_left_is_removed_when_it_opens() {
    let place = Place::new();
    let store = place.open().await;
    room_with(&store, "r", 3).await;
    room_with(&store, "s", 2).await;
    store.close().await.unwrap();
    let db = Connection::open(store.path()).unwrap();
    db.execute_batch("UPDATE rooms SET id = NULL WHERE id = 'r'")
        .unwrap();
    drop(db);
    let store = place.open().await;
    assert_eq!(store.room(&"r".into()).await.unwrap(), None);
    assert_eq!(hidden_rows(&store), 1 + 2);
    assert_eq!(dump(&store, "s").await.len(), 4);
}
