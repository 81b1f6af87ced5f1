//! Many callers at once, and callers that give up.

use std::collections::BTreeSet;
use std::sync::Arc;

use roomkit_core::ErrorKind;
use roomkit_core::store::{ConversationStore, EventQuery};
use tokio::task::JoinSet;

use super::TestStore;
use super::sample::{commit, create, event_of, indexes, outcome, snapshot, speaker, with_rooms};

/// The handles that the callers of a race share: two where two can be had.
async fn handles(test: &TestStore) -> [Arc<dyn ConversationStore>; 2] {
    [Arc::clone(test.store()), test.another().await]
}

pub async fn of_many_that_race_with_one_key_one_is_stored(test: TestStore) {
    let test = with_rooms(test, &["r"]).await;
    let handles = handles(&test).await;
    let mut racers = JoinSet::new();
    for number in 0..200 {
        let store = Arc::clone(&handles[number % 2]);
        racers.spawn(async move {
            loop {
                if let Some(first) = store.idempotent_outcome(&"r".into(), "k").await.unwrap() {
                    return first.event_id;
                }
                let room = snapshot(&*store, "r").await;
                let mut commit = commit("r", room.version, room.room.next_index());
                let event_id = commit.event.as_ref().unwrap().id.clone();
                commit.idempotency = Some(outcome("k", &event_id));
                match store.commit(commit.into()).await {
                    Ok(_) => return event_id,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::VersionConflict),
                }
            }
        });
    }
    let ids: BTreeSet<_> = racers.join_all().await.into_iter().collect();
    assert_eq!(ids.len(), 1, "all got the first one's outcome");
    assert_eq!(indexes(&*handles[1], "r", &EventQuery::first(9)).await, [0]);
    assert_eq!(snapshot(&*handles[0], "r").await.room.event_count, 1);
}

pub async fn racing_commits_leave_no_gap_and_no_repeat(test: TestStore) {
    const TASKS: usize = 8;
    const EACH: usize = 25;
    let test = with_rooms(test, &["r", "s"]).await;
    let handles = handles(&test).await;
    let mut racers = JoinSet::new();
    for task in 0..TASKS {
        let store = Arc::clone(&handles[task % 2]);
        racers.spawn(async move {
            let room = ["r", "s"][task / 2 % 2];
            for number in 0..EACH {
                loop {
                    let at = snapshot(&*store, room).await;
                    let text = format!("{task} {number}");
                    let event = event_of(room, at.room.next_index(), &text);
                    let mut commit = super::sample::commit_of(at.version, event);
                    commit.speaker = Some(speaker(&format!("p{task}"), "s", "a"));
                    match store.commit(commit.into()).await {
                        Ok(receipt) => {
                            let after = receipt.into_first();
                            assert_eq!(after.version, at.version + 1);
                            assert!(snapshot(&*store, room).await.version >= after.version);
                            break;
                        }
                        Err(error) => assert_eq!(error.kind(), ErrorKind::VersionConflict),
                    }
                }
            }
        });
    }
    racers.join_all().await;
    for store in &handles {
        for room in ["r", "s"] {
            let count = u64::try_from(TASKS / 2 * EACH).unwrap();
            let at = snapshot(&**store, room).await;
            assert_eq!((at.version, at.room.event_count), (count, count));
            assert_eq!(at.room.latest_index, Some(count - 1));
            let events = store
                .events(&room.into(), &EventQuery::first(999))
                .await
                .unwrap();
            assert!(events.iter().map(|event| event.index).eq(0..count));
            let texts: BTreeSet<_> = events.iter().filter_map(|event| event.text()).collect();
            assert_eq!(
                texts.len() as u64,
                count,
                "every commit that was answered is there"
            );
            assert_eq!(
                store.participants(&room.into()).await.unwrap().len(),
                TASKS / 2
            );
        }
    }
}

pub async fn an_abandoned_commit_holds_whole_or_not_at_all(test: TestStore) {
    let store = Arc::clone(test.store());
    create(&*store, "r").await;
    for round in 0..60_u32 {
        let at = snapshot(&*store, "r").await;
        let mut commit = commit("r", at.version, at.room.next_index());
        let event = commit.event.as_ref().unwrap().id.clone();
        commit.idempotency = Some(outcome(&format!("k{round}"), &event));
        commit.speaker = Some(speaker(&format!("p{round}"), "s", "a"));
        let worker = Arc::clone(&store);
        let task = tokio::spawn(async move { worker.commit(commit.into()).await.map(drop) });
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        task.abort();
        let ended = task.await;
        let answered = matches!(ended, Ok(Ok(())));
        // A commit to the same room waits its turn behind the abandoned one, if that goes on.
        let settled = loop {
            let at = snapshot(&*store, "r").await;
            let next = super::sample::commit("r", at.version, at.room.next_index());
            match store.commit(next.into()).await {
                Ok(_) => break at,
                Err(error) => assert_eq!(error.kind(), ErrorKind::VersionConflict),
            }
        };
        let there = store.event(&"r".into(), &event).await.unwrap().is_some();
        assert!(
            there || !answered,
            "round {round}: what was answered is there"
        );
        let room = "r".into();
        let key = store
            .idempotent_outcome(&room, &format!("k{round}"))
            .await
            .unwrap();
        assert_eq!(key.is_some(), there, "round {round}");
        let person = format!("p{round}");
        let spoke = store
            .participant(&room, &person.as_str().into())
            .await
            .unwrap();
        assert_eq!(spoke.is_some(), there, "round {round}");
        let grown = settled.version - at.version;
        assert_eq!(grown, u64::from(there), "round {round}");
    }
    let at = snapshot(&*store, "r").await;
    let events = store
        .events(&"r".into(), &EventQuery::first(999))
        .await
        .unwrap();
    assert!(
        events
            .iter()
            .map(|event| event.index)
            .eq(0..at.room.event_count)
    );
}
