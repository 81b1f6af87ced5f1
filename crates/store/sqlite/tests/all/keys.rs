//! Two that store the same message at once, the first of them paused between its insert and its commit
//! (field report F07): one is stored, whichever of them it is.

use futures_util::FutureExt;
use roomkit_core::ErrorKind;
use roomkit_core::store::{ConversationStore, EventStore, IdempotentOutcome};
use rusqlite::Connection;

use crate::support::{Place, room_with, say};

const KEY: &str = "wamid.TEST1";

/// The first is another process, so that nothing but the database is between them.
#[tokio::test]
async fn a_key_that_an_open_transaction_holds_is_waited_for() {
    for (end, is_kept) in [("COMMIT", true), ("ROLLBACK", false)] {
        let place = Place::new();
        let store = place.open().await;
        room_with(&store, "r", 0).await;
        let first = Connection::open(place.config().path).unwrap();
        let held = format!(
            "BEGIN IMMEDIATE;
             INSERT INTO outcomes (room, key, event_id, blocked)
             SELECT key, '{KEY}', 'first', 0 FROM rooms WHERE id = 'r'"
        );
        first.execute_batch(&held).unwrap();
        assert_eq!(first.changes(), 1);
        let mut second = say("r", 0, "second");
        let event = second.event.as_ref().unwrap().id.clone();
        second.idempotency = Some(IdempotentOutcome {
            key: KEY.to_owned(),
            event_id: event.clone(),
            blocked: false,
            reason: None,
        });
        let mut committing = store.commit(second.into());
        // It is begun, and cannot come to its end: the database has one writer at a time.
        for _ in 0..1_000 {
            assert!((&mut committing).now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        first.execute_batch(end).unwrap();
        let second = committing.await;
        let there = store.idempotent_outcome(&"r".into(), KEY).await.unwrap();
        let there = there.unwrap().event_id;
        let query = roomkit_core::store::EventQuery::last(9);
        let said = store.events(&"r".into(), &query).await.unwrap().len();
        if is_kept {
            assert_eq!(second.unwrap_err().kind(), ErrorKind::VersionConflict);
            assert_eq!((there, said), ("first".into(), 0));
        } else {
            second.unwrap();
            assert_eq!((there, said), (event, 1));
        }
    }
}
