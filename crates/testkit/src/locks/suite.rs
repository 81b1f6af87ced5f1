//! Every test of the suite, for the macro.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use roomkit_core::model::RoomId;
use roomkit_core::sync::{FencingToken, RoomLock, RoomLockManager};
use tokio::task::JoinSet;

use super::TestLocks;

/// A wait that ends far sooner in any lock manager that works.
const BOUND: Duration = Duration::from_secs(60);

async fn acquire(locks: &Arc<dyn RoomLockManager>, room: &RoomId) -> RoomLock {
    let lock = tokio::time::timeout(BOUND, locks.acquire(room)).await;
    lock.expect("the lock is had in time")
        .expect("the lock is granted")
}

/// Asks for a lock that is held, and returns once the request waits.
async fn wait_for<'a>(
    locks: &'a Arc<dyn RoomLockManager>,
    room: &'a RoomId,
) -> BoxFuture<'a, roomkit_core::Result<RoomLock>> {
    let mut waiting = locks.acquire(room);
    for _ in 0..20 {
        assert!(
            (&mut waiting).now_or_never().is_none(),
            "it is held by another"
        );
        tokio::task::yield_now().await;
    }
    waiting
}

pub async fn one_holder_at_a_time_in_a_room(test: TestLocks) {
    let managers = test.two().await;
    let holders = Arc::new(BTreeMap::from(["r", "s"].map(|room| {
        (
            RoomId::from(room),
            (AtomicUsize::new(0), AtomicUsize::new(0)),
        )
    })));
    let mut tasks = JoinSet::new();
    for number in 0..100 {
        let locks = Arc::clone(&managers[number % 2]);
        let holders = Arc::clone(&holders);
        tasks.spawn(async move {
            let room = RoomId::from(["r", "s"][number / 2 % 2]);
            let lock = acquire(&locks, &room).await;
            let (inside, total) = &holders[&room];
            assert_eq!(
                inside.fetch_add(1, Ordering::SeqCst),
                0,
                "two hold the lock of {room}"
            );
            tokio::task::yield_now().await;
            total.fetch_add(1, Ordering::SeqCst);
            inside.fetch_sub(1, Ordering::SeqCst);
            drop(lock);
        });
    }
    tasks.join_all().await;
    for (_, total) in holders.values() {
        assert_eq!(total.load(Ordering::SeqCst), 50, "everyone had it");
    }
}

pub async fn rooms_do_not_wait_for_one_another(test: TestLocks) {
    let [first, second] = test.two().await;
    let rooms: Vec<RoomId> = (0..50)
        .map(|number| format!("room-{number}").as_str().into())
        .collect();
    let mut held = Vec::new();
    for (number, room) in rooms.iter().enumerate() {
        let locks = if number % 2 == 0 { &first } else { &second };
        held.push(acquire(locks, room).await);
    }
    assert_eq!(held.len(), rooms.len());
}

pub async fn a_lock_is_had_in_the_order_of_asking(test: TestLocks) {
    let locks = &test.locks;
    let room = RoomId::from("r");
    let first = acquire(locks, &room).await;
    let order = Mutex::new(Vec::new());
    let mut waiting = Vec::new();
    for _ in 0..10 {
        waiting.push(wait_for(locks, &room).await);
    }
    drop(first);
    let order = &order;
    let waiting = waiting
        .into_iter()
        .enumerate()
        .map(|(number, waiting)| async move {
            let lock = waiting.await.expect("the lock is granted");
            order.lock().unwrap().push(number);
            tokio::task::yield_now().await;
            drop(lock);
        });
    // The last is asked first, which must not matter.
    let mut waiting: Vec<_> = waiting.collect();
    waiting.reverse();
    let all = futures_util::future::join_all(waiting);
    tokio::time::timeout(BOUND, all)
        .await
        .expect("everyone has it in time");
    assert!(order.lock().unwrap().iter().copied().eq(0..10), "{order:?}");
}

pub async fn a_wait_that_is_given_up_holds_up_nobody(test: TestLocks) {
    let [first, second] = test.two().await;
    let room = RoomId::from("r");
    for round in 0..20 {
        let held = acquire(&first, &room).await;
        let given_up = wait_for(&first, &room).await;
        let elsewhere = wait_for(&second, &room).await;
        let kept = wait_for(&first, &room).await;
        if round % 2 == 0 {
            drop((given_up, elsewhere));
            drop(held);
        } else {
            drop(held);
            drop((given_up, elsewhere));
        }
        let lock = tokio::time::timeout(BOUND, kept)
            .await
            .expect("the next has it in time");
        drop(lock.expect("the lock is granted"));
        drop(acquire(&second, &room).await);
    }
}

pub async fn tokens_grow_with_every_holder(test: TestLocks) {
    let managers = test.two().await;
    let mut last: Option<FencingToken> = None;
    for round in 0..20 {
        let lock = acquire(&managers[round % 2], &"r".into()).await;
        let token = lock.token();
        assert!(
            token.is_some() || !managers[0].is_distributed(),
            "a lock that can be lost comes with a token"
        );
        assert!(
            token > last || token.is_none(),
            "{token:?} comes after {last:?}"
        );
        last = token;
    }
}

pub async fn a_holder_that_panics_lets_the_next_in(test: TestLocks) {
    let [first, second] = test.two().await;
    let room = RoomId::from("r");
    let holder = Arc::clone(&first);
    let panicked = tokio::spawn(async move {
        let _lock = acquire(&holder, &"r".into()).await;
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert!(panicked.await.is_err());
    drop(acquire(&second, &room).await);
    drop(acquire(&first, &room).await);
}
