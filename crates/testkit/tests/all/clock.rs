//! The manual clock: it stands still, moves when told, and wakes sleepers in order.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::FutureExt;
use roomkit_core::model::{DeliveryOutcome, InboundMessage, RetryPolicy};
use roomkit_core::{Clock, RoomKit};
use roomkit_testkit::{ManualClock, MockChannel};

use crate::setup::room_with;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn it_stands_still_until_it_is_told_to_move() {
    let clock = ManualClock::new();
    let before = clock.now();
    assert_eq!(before.to_rfc3339(), "2024-01-01T00:00:00+00:00");
    assert_eq!((clock.now(), clock.elapsed()), (before, Duration::ZERO));
    clock.clone().advance(Duration::from_millis(1_500));
    assert_eq!(clock.elapsed(), Duration::from_millis(1_500));
    assert_eq!(clock.now() - before, TimeDelta::milliseconds(1_500));
}

#[test]
fn the_time_of_day_is_set_by_itself() {
    let clock = ManualClock::at("2030-06-01T12:00:00.123456789Z".parse().unwrap());
    assert_eq!(clock.now().to_rfc3339(), "2030-06-01T12:00:00.123456+00:00");
    clock.advance(SECOND);
    let back: DateTime<Utc> = "1999-12-31T23:59:59Z".parse().unwrap();
    clock.set(back);
    assert_eq!((clock.now(), clock.elapsed()), (back, SECOND));
    clock.advance(SECOND);
    assert_eq!(clock.now(), back + SECOND);
}

#[test]
fn the_ends_of_time_are_no_trouble() {
    let clock = ManualClock::new();
    clock.advance(Duration::MAX);
    clock.advance(Duration::MAX);
    assert_eq!(clock.elapsed(), Duration::MAX);
    assert!(clock.now() > ManualClock::new().now());
    assert!(clock.sleep(Duration::MAX).now_or_never().is_some());
}

#[tokio::test]
async fn sleepers_wake_in_the_order_of_their_deadlines() {
    let clock = ManualClock::new();
    let woken = Arc::new(Mutex::new(Vec::new()));
    let mut tasks = Vec::new();
    for seconds in [3, 1, 2, 1] {
        let (clock, woken) = (clock.clone(), Arc::clone(&woken));
        tasks.push(tokio::spawn(async move {
            clock.sleep(SECOND * seconds).await;
            woken.lock().unwrap().push(seconds);
        }));
    }
    tokio::task::yield_now().await;
    assert_eq!(clock.sleepers(), 4);
    clock.advance(SECOND / 2);
    tokio::task::yield_now().await;
    assert_eq!(clock.sleepers(), 4);
    clock.advance(SECOND * 5);
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*woken.lock().unwrap(), [1, 1, 2, 3]);
    assert_eq!(clock.sleepers(), 0);
}

#[test]
fn a_sleep_of_no_time_is_over_and_a_dropped_one_is_forgotten() {
    let clock = ManualClock::new();
    assert!(clock.sleep(Duration::ZERO).now_or_never().is_some());
    assert!(clock.sleep(SECOND).now_or_never().is_none());
    assert_eq!(clock.sleepers(), 0);
    assert_eq!(clock.advance_to_next(), None);
    assert_eq!(clock.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn a_kit_waits_by_it() {
    let clock = ManualClock::new();
    let busy = MockChannel::builder("busy")
        .fail_first(2)
        .fail_with(DeliveryOutcome::failed_retryable("busy", "try later"))
        .clock(Arc::new(clock.clone()))
        .build();
    let kit = RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap();
    let kit = room_with(kit, vec![Box::new(MockChannel::new("web"))]).await;
    kit.register_channel(busy.clone()).unwrap();
    let policy = RetryPolicy {
        base_delay_seconds: 600.0,
        max_delay_seconds: 600.0,
        ..RetryPolicy::default()
    };
    kit.attach_channel("r", "busy")
        .retry_policy(policy)
        .await
        .unwrap();

    let message = InboundMessage::text("web", "alice", "hello").in_room("r");
    let (_, handle) = kit.process_inbound_deferred(message).await.unwrap();
    let delivered = tokio::spawn(handle.wait());
    while !delivered.is_finished() {
        tokio::task::yield_now().await;
        clock.advance_to_next();
    }
    let result = delivered.await.unwrap().unwrap();
    assert_eq!(result.delivery_results[0].attempts, 3);
    assert_eq!((busy.calls(), busy.deliveries().len()), (3, 1));
    assert!(
        clock.elapsed() >= SECOND * 600,
        "two waits of at least half of ten minutes"
    );
}
