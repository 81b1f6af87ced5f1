//! Room locks and realtime: fair, bounded, nothing left when idle.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use roomkit_core::model::{EphemeralEvent, EphemeralEventType, RoomId};
use roomkit_core::sync::{InProcessLocks, InProcessRealtime, RealtimeBackend, RoomLockManager};

#[tokio::test]
async fn a_lock_is_had_in_turn_by_room_and_leaves_nothing_when_it_is_free() {
    let locks = InProcessLocks::new();
    let (r, s) = (RoomId::from("r"), RoomId::from("s"));
    let first = locks.acquire(&r).await.unwrap();
    let mut second = Box::pin(locks.acquire(&r));
    let mut third = Box::pin(locks.acquire(&r));
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    let other = locks.acquire(&s).await.unwrap();
    assert_eq!(locks.locked_rooms(), 2);
    drop(first);
    assert!(
        (&mut third).now_or_never().is_none(),
        "the third does not overtake the second"
    );
    let second = second.await.unwrap();
    drop(second);
    drop((third.await.unwrap(), other));
    assert_eq!(locks.locked_rooms(), 0);
}

#[tokio::test]
async fn a_wait_that_is_given_up_neither_keeps_the_lock_nor_holds_up_the_next() {
    let locks = InProcessLocks::new();
    let room = RoomId::from("r");
    let first = locks.acquire(&room).await.unwrap();
    let mut second = Box::pin(locks.acquire(&room));
    let mut third = Box::pin(locks.acquire(&room));
    assert!((&mut second).now_or_never().is_none());
    assert!((&mut third).now_or_never().is_none());
    drop(first);
    // The second has been called by now, and goes away without taking the lock.
    drop(second);
    drop(third.await.unwrap());
    assert_eq!(locks.locked_rooms(), 0);
}

#[tokio::test]
async fn a_subscriber_that_lags_loses_the_oldest_and_holds_up_nobody() {
    let realtime = InProcessRealtime::new();
    let room = RoomId::from("r");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let (open, gate) = tokio::sync::watch::channel(false);
    let log = Arc::clone(&heard);
    let subscription = realtime
        .subscribe(
            &room,
            Arc::new(move |event: EphemeralEvent| {
                let (log, mut gate) = (Arc::clone(&log), gate.clone());
                Box::pin(async move {
                    gate.wait_for(|open| *open).await.unwrap();
                    log.lock().unwrap().push(event.id);
                })
            }),
        )
        .await
        .unwrap();
    let now = chrono::Utc::now();
    for number in 0..400 {
        let kind = EphemeralEventType::TypingStart;
        let mut event = EphemeralEvent::new(&room, kind, "u", now);
        event.id = number.to_string();
        realtime.publish(event).await.unwrap();
    }
    open.send(true).unwrap();
    while heard.lock().unwrap().last().map(String::as_str) != Some("399") {
        tokio::task::yield_now().await;
    }
    assert_eq!(heard.lock().unwrap().len(), 256);
    assert_eq!(heard.lock().unwrap()[0], "144");
    assert!(realtime.unsubscribe(&subscription).await.unwrap());
    realtime.close().await;
}

/// A room that stays locked for too long turns all away that wait for it, and many may wait.
#[tokio::test]
async fn a_hundred_thousand_who_give_up_waiting_cost_no_more_each_than_one() {
    let locks = InProcessLocks::new();
    let room = RoomId::from("r");
    let held = locks.acquire(&room).await.unwrap();
    let wait = || {
        let mut place = locks.acquire(&room);
        assert!((&mut place).now_or_never().is_none());
        place
    };
    let last = wait();
    let started = std::time::Instant::now();
    for newest_first in [false, true] {
        let mut waiting: Vec<_> = (0..50_000).map(|_| wait()).collect();
        if newest_first {
            waiting.reverse();
        }
        drop(waiting);
    }
    let seconds = started.elapsed().as_secs();
    assert!(seconds < 30, "{seconds} s, a tenth of one is plenty");
    drop(held);
    last.await.unwrap();
    assert_eq!(locks.locked_rooms(), 0);
}
