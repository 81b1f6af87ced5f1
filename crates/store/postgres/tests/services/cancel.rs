//! Callers that go away: what they asked for is done whole or not at all, and the pool stays usable.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::model::Room;
use roomkit_core::store::{
    CommitBatch, ConversationStore, EventStore, IdempotentOutcome, RoomStore,
};

use crate::support::{TestSchema, commit, now, say, whole_timeline};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_caller_goes_away_is_whole_or_nothing() {
    let schema = TestSchema::new();
    let store = Arc::new(schema.open().await);
    for room in ["r", "s"] {
        store.create_room(Room::new(room, now())).await.unwrap();
    }
    for number in 0..150_u64 {
        let id = format!("e{number}");
        let snapshots = [
            store.room(&"r".into()).await.unwrap().unwrap(),
            store.room(&"s".into()).await.unwrap().unwrap(),
        ];
        let mut parts = ["r", "s"].iter().zip(&snapshots).map(|(room, snapshot)| {
            let next = snapshot.room.next_index();
            let mut part = commit(room, snapshot.version, next, &id);
            part.idempotency = Some(IdempotentOutcome {
                key: id.clone(),
                event_id: id.as_str().into(),
                blocked: false,
                reason: None,
            });
            part
        });
        let (first, second) = (parts.next().unwrap(), parts.next().unwrap());
        let batch = if number % 2 == 0 {
            CommitBatch::from(first)
        } else {
            CommitBatch::from(first).and(second)
        };
        // From the first poll to beyond the end: some are cut before, some after they are sent.
        let patience = Duration::from_micros(number * 17 % 2_500);
        let cut = tokio::time::timeout(patience, store.commit(batch)).await;
        if let Ok(done) = cut {
            done.map(drop)
                .or_else(|error| {
                    if error.is_retryable() {
                        Ok(())
                    } else {
                        Err(error)
                    }
                })
                .unwrap();
        }
    }
    // What was sent and then left alone by its caller may still be under way: a commit to the same
    // room waits for it.
    for room in ["r", "s"] {
        say(&*store, room, "last").await.unwrap();
        for id in whole_timeline(&*store, room).await {
            if id == "last" {
                continue;
            }
            let outcome = store.idempotent_outcome(&room.into(), &id).await.unwrap();
            assert!(outcome.is_some(), "{id} has no outcome");
        }
    }
    // Every connection of the pool can be had and used.
    let reads = (0..8).map(|_| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.room(&"r".into()).await })
    });
    for read in reads.collect::<Vec<_>>() {
        assert!(read.await.unwrap().unwrap().is_some());
    }
    store.close().await.unwrap();
    store.close().await.unwrap();
    let error = store.room(&"r".into()).await.unwrap_err();
    assert!(
        error.message().contains("closed") && !error.is_retryable(),
        "{error:?}"
    );
}
