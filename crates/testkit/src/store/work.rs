//! Tasks, observations and what is owed.

use std::sync::Arc;

use roomkit_core::model::{Metadata, Observation, Task, TaskStatus};
use roomkit_core::store::{OwedDelivery, OwedKind};

use super::TestStore;
use super::sample::{after, commit, effects, now, with_rooms};

pub async fn tasks_and_observations_keep_their_order(mut test: TestStore) {
    test = with_rooms(test, &["r"]).await;
    let store = &**test.store();
    let mut tasks: Vec<Task> = ["z", "a", "m"]
        .map(|title| Task::new("r", title, now()))
        .into();
    tasks[1].description = Some("in full".into());
    tasks[1].assigned_to = Some("ann".into());
    tasks[1].metadata = Metadata::new().with("k", 0.1);
    let observations: Vec<_> = (0..3)
        .map(|n| {
            let mut one = Observation::new("r", "a", "mood", format!("{n}"), after(-n));
            one.confidence = 0.123_456_789_012_345_67;
            one
        })
        .collect();
    for part in 0..3 {
        let mut commit = effects("r");
        commit.tasks = vec![tasks[part].clone()];
        commit.observations = vec![observations[part].clone()];
        store.commit(commit.into()).await.unwrap();
    }
    tasks[0].status = TaskStatus::Completed;
    assert!(store.update_task(tasks[0].clone()).await.unwrap());
    let unknown = Task::new("r", "nobody's", now());
    assert!(!store.update_task(unknown.clone()).await.unwrap());
    let mut elsewhere = tasks[0].clone();
    elsewhere.room_id = "gone".into();
    assert!(!store.update_task(elsewhere).await.unwrap());
    test.reopen().await;
    let store = &**test.store();
    let room = "r".into();
    assert_eq!(store.tasks(&room).await.unwrap(), tasks);
    assert_eq!(store.observations(&room).await.unwrap(), observations);
    assert_eq!(
        store.task(&room, &tasks[1].id).await.unwrap().as_ref(),
        Some(&tasks[1])
    );
    assert_eq!(store.task(&room, &unknown.id).await.unwrap(), None);
    assert_eq!(
        store.task(&"gone".into(), &tasks[1].id).await.unwrap(),
        None
    );
    assert!(store.observations(&"gone".into()).await.unwrap().is_empty());
}

pub async fn what_is_owed_is_listed_per_lane_in_order_until_it_is_settled(mut test: TestStore) {
    test = with_rooms(test, &["r", "q"]).await;
    let store = &**test.store();
    for room in ["r", "q"] {
        for index in 0..2 {
            let mut commit = commit(room, index, index);
            let event = Arc::clone(commit.event.as_ref().unwrap());
            for (channel, kind) in [("z", OwedKind::Delivery), ("a", OwedKind::Solicitation)] {
                commit
                    .owed
                    .push(OwedDelivery::new(&event, channel.into(), kind));
            }
            store.commit(commit.into()).await.unwrap();
        }
    }
    test.reopen().await;
    let store = &**test.store();
    let lanes = |owed: &[OwedDelivery]| -> Vec<(String, String, u64)> {
        let lane = |one: &OwedDelivery| {
            (
                one.room_id.to_string(),
                one.channel_id.to_string(),
                one.index,
            )
        };
        owed.iter().map(lane).collect()
    };
    let owed = store.owed(Some(&"r".into()), 9).await.unwrap();
    let of = |room: &str| {
        [("a", 0), ("a", 1), ("z", 0), ("z", 1)]
            .map(|(channel, index)| (room.to_owned(), channel.to_owned(), index))
    };
    assert_eq!(lanes(&owed), of("r"));
    assert_eq!(
        (owed[0].kind, owed[2].kind),
        (OwedKind::Solicitation, OwedKind::Delivery)
    );
    let all = store.owed(None, 99).await.unwrap();
    assert_eq!(lanes(&all), [of("q"), of("r")].concat());
    assert_eq!(store.owed(None, 3).await.unwrap(), all[..3]);
    let mut first = all[0].clone();
    (first.attempts, first.failed) = (3, true);
    first.last_error = Some("provider_failed".into());
    assert!(store.update_owed(first.clone()).await.unwrap());
    assert_eq!(store.owed(None, 1).await.unwrap(), [first.clone()]);
    assert!(store.settle_owed(&first.delivery_id).await.unwrap());
    assert!(!store.settle_owed(&first.delivery_id).await.unwrap());
    assert!(!store.update_owed(first).await.unwrap());
    assert_eq!(store.owed(None, 99).await.unwrap(), all[1..]);
    assert!(store.delete_room(&"q".into()).await.unwrap());
    assert_eq!(lanes(&store.owed(None, 99).await.unwrap()), of("r"));
}
