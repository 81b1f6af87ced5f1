//! Retries, circuit breaker, rates: what a failing or slow provider does to its own lane alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::RoomKit;
use roomkit_core::model::{DeliveryOutcome, RateLimit, RetryPolicy};

use super::support::{Transport, say};

async fn kit_with(sms: &Transport, retry: Option<RetryPolicy>, rate: Option<RateLimit>) -> RoomKit {
    let kit = RoomKit::new();
    kit.create_room("r").await.unwrap();
    kit.register_channel(Transport::new("a")).unwrap();
    kit.register_channel(sms.clone()).unwrap();
    kit.attach_channel("r", "a").await.unwrap();
    let mut attach = kit.attach_channel("r", "sms");
    if let Some(retry) = retry {
        attach = attach.retry_policy(retry);
    }
    if let Some(rate) = rate {
        attach = attach.rate_limit(rate);
    }
    attach.await.unwrap();
    kit
}

#[tokio::test(start_paused = true)]
async fn only_what_was_surely_not_sent_is_tried_again() {
    let unknown = || DeliveryOutcome::unknown("timeout", "no answer");
    let fatal = || DeliveryOutcome::failed("bad_number", "no such number");
    let busy = || DeliveryOutcome::failed_retryable("busy", "try later");
    let cases: Vec<(fn() -> DeliveryOutcome, usize)> = vec![(unknown, 1), (fatal, 1), (busy, 4)];
    for (outcome, calls) in cases {
        let sms = Transport::new("sms").outcomes(move |_| outcome());
        let kit = kit_with(&sms, Some(RetryPolicy::default()), None).await;
        let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
        assert!(
            !result.blocked,
            "the event stays, whatever becomes of its delivery"
        );
        assert_eq!(sms.calls(), calls);
        let delivery = result.delivery("sms").unwrap();
        assert_eq!(delivery.outcome, outcome());
        assert_eq!(delivery.attempts as usize, calls);
    }
}

#[tokio::test(start_paused = true)]
async fn a_delivery_that_hangs_ends_as_unknown() {
    let sms = Transport::new("sms").slow(Duration::from_secs(3_600));
    let kit = kit_with(&sms, Some(RetryPolicy::default()), None).await;
    let started = tokio::time::Instant::now();
    let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
    let outcome = &result.delivery("sms").unwrap().outcome;
    assert!(matches!(outcome, DeliveryOutcome::Unknown(error) if error.code == "delivery_timeout"));
    assert_eq!(started.elapsed().as_secs(), 60);
    assert_eq!(sms.calls(), 1);
}

/// Order is kept while one send is tried again.
#[tokio::test(start_paused = true)]
async fn later_events_wait_behind_the_retries_of_an_earlier_one() {
    let sms = Transport::new("sms").outcomes(|call| match call {
        0..3 => DeliveryOutcome::failed_retryable("busy", "try later"),
        _ => DeliveryOutcome::sent(),
    });
    let kit = kit_with(&sms, Some(RetryPolicy::default()), None).await;
    let mut handles = Vec::new();
    for number in 1..=3 {
        let message = say("a", "u", &format!("m{number}"));
        handles.push(kit.process_inbound_deferred(message).await.unwrap().1);
    }
    for handle in handles {
        handle.wait().await.unwrap();
    }
    assert_eq!(sms.texts(), ["m1", "m2", "m3"]);
}

#[tokio::test(start_paused = true)]
async fn limited_deliveries_queue_in_order_at_their_rate() {
    let sms = Transport::new("sms");
    let rate = RateLimit {
        max_per_second: Some(2.0),
        max_per_minute: None,
        max_per_hour: None,
    };
    let kit = kit_with(&sms, None, Some(rate)).await;
    let started = tokio::time::Instant::now();
    let mut handles = Vec::new();
    for number in 0..10 {
        let message = say("a", "u", &number.to_string());
        handles.push(kit.process_inbound_deferred(message).await.unwrap().1);
    }
    for handle in handles {
        assert!(
            handle.wait().await.unwrap().delivery_results[0]
                .outcome
                .is_sent()
        );
    }
    let expected: Vec<String> = (0..10).map(|number| number.to_string()).collect();
    assert_eq!(sms.texts(), expected);
    // Two at once, then one every half second.
    assert_eq!(started.elapsed().as_millis(), 4_000);
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_keeps_failing_rests_and_is_probed() {
    let healthy = Arc::new(Mutex::new(false));
    let now = Arc::clone(&healthy);
    let sms = Transport::new("sms").outcomes(move |_| {
        if *now.lock().unwrap() {
            DeliveryOutcome::sent()
        } else {
            DeliveryOutcome::failed_retryable("down", "try later")
        }
    });
    let kit = kit_with(&sms, None, None).await;
    let log = Arc::new(Mutex::new(Vec::new()));
    for name in ["circuit_breaker_opened", "circuit_breaker_closed"] {
        let log = Arc::clone(&log);
        kit.on(name, move |event| {
            log.lock()
                .unwrap()
                .push(event.event_type.as_str().to_owned());
            async {}
        });
    }
    let code = async || {
        let result = kit.process_inbound(say("a", "u", "x")).await.unwrap();
        result.delivery_results[0]
            .outcome
            .error()
            .map(|error| error.code.clone())
    };
    for _ in 0..5 {
        assert_eq!(code().await.as_deref(), Some("down"));
    }
    assert_eq!(code().await.as_deref(), Some("circuit_open"));
    assert_eq!(sms.calls(), 5, "not asked while it rests");
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(code().await.as_deref(), Some("down"), "the probe");
    assert_eq!(code().await.as_deref(), Some("circuit_open"));
    *healthy.lock().unwrap() = true;
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(code().await, None);
    kit.wait_idle().await;
    assert_eq!(
        *log.lock().unwrap(),
        ["circuit_breaker_opened", "circuit_breaker_closed"]
    );
}

/// Whoever wants no limit says so with the longest time there is.
#[tokio::test(start_paused = true)]
async fn limits_of_time_may_be_as_long_as_can_be() {
    use roomkit_core::hook::{BeforeBroadcast, HookOptions, HookResult};
    let kit = RoomKit::builder()
        .process_timeout(Duration::MAX)
        .identity_timeout(Duration::MAX)
        .delivery_timeout(Duration::MAX)
        .agent_timeout(Duration::MAX)
        .build()
        .unwrap();
    let b = Transport::new("b").slow(Duration::from_secs(1));
    super::support::room_of(
        &kit,
        vec![Arc::new(Transport::new("a")), Arc::new(b.clone())],
    )
    .await;
    let patient = HookOptions::new("patient").timeout(Duration::MAX);
    kit.hook(BeforeBroadcast, patient, |_, _| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        HookResult::allow()
    });
    let result = kit.process_inbound(say("a", "u", "1")).await.unwrap();
    assert!(!result.blocked);
    assert_eq!(b.texts(), ["1"]);
}

#[tokio::test(start_paused = true)]
async fn a_new_rate_holds_from_the_next_delivery_on() {
    let limit = |max_per_hour| RateLimit {
        max_per_hour: Some(max_per_hour),
        ..RateLimit::default()
    };
    let sms = Transport::new("sms");
    let kit = kit_with(&sms, None, Some(limit(1.0))).await;
    kit.process_inbound(say("a", "u", "1")).await.unwrap();
    kit.attach_channel("r", "sms")
        .rate_limit(limit(36_000.0))
        .await
        .unwrap();
    let started = tokio::time::Instant::now();
    kit.process_inbound(say("a", "u", "2")).await.unwrap();
    assert_eq!(started.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_channel_registered_in_place_of_one_that_failed_starts_afresh() {
    let failing = Transport::new("sms")
        .outcomes(|_| DeliveryOutcome::failed_retryable("provider_down", "try later"));
    let kit = kit_with(&failing, None, None).await;
    for _ in 0..6 {
        kit.process_inbound(say("a", "u", "x")).await.unwrap();
    }
    assert_eq!(failing.calls(), 5, "its breaker is open");
    kit.unregister_channel("sms").unwrap();
    let working = Transport::new("sms");
    kit.register_channel(working.clone()).unwrap();
    kit.process_inbound(say("a", "u", "y")).await.unwrap();
    assert_eq!(working.texts(), ["y"]);
}
