//! What went wrong elsewhere and must not here: webhooks that are replayed, reports out of order, times
//! without a zone.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, TimeZone, Utc};
use roomkit_core::model::{
    DeliveryOutcome, DeliveryState, DeliveryStatus, InboundMessage, RoomStatus, RoomTimers,
};
use roomkit_core::resilience::ReplayWindow;
use roomkit_core::{RoomKit, RoomOptions};
use roomkit_testkit::ManualClock;

use super::support::{Transport, room_of, say, shared, timeline_texts};

async fn turns() {
    for _ in 0..300 {
        tokio::task::yield_now().await;
    }
}

fn kit_on(clock: &ManualClock) -> RoomKit {
    RoomKit::builder()
        .clock(Arc::new(clock.clone()))
        .build()
        .unwrap()
}

// Webhooks that are replayed.

#[test]
fn a_signed_time_is_taken_up_to_three_hundred_seconds_from_the_clock_and_no_further() {
    let clock = ManualClock::new();
    let kit = kit_on(&clock);
    let window = ReplayWindow::default();
    let cases = [
        (-301, false),
        (-300, true),
        (-299, true),
        (0, true),
        (299, true),
        (300, true),
        (301, false),
    ];
    for (apart, is_taken) in cases {
        let signed = (kit.now().timestamp() + apart).to_string();
        let checked = window.check(&signed, kit.now());
        assert_eq!(checked.is_ok(), is_taken, "{apart}");
        if let Err(error) = checked {
            let problem = "stale_webhook: timestamp: is more than 300 s from the clock";
            assert_eq!(error.to_string(), problem);
            assert!(!error.is_retryable());
        }
    }
    let signed = kit.now().timestamp().to_string();
    clock.advance(Duration::from_secs(299));
    window.check(&signed, kit.now()).unwrap();
    clock.advance(Duration::from_millis(1_001));
    assert_eq!(
        window.check(&signed, kit.now()).unwrap_err().code(),
        "stale_webhook"
    );
    ReplayWindow::new(Duration::from_secs(3_600))
        .check(&signed, kit.now())
        .unwrap();
    let here = ReplayWindow::new(Duration::ZERO);
    here.check_time(kit.now(), kit.now()).unwrap();
    assert!(
        here.check_time(kit.now() + TimeDelta::microseconds(1), kit.now())
            .is_err()
    );
    ReplayWindow::new(Duration::MAX)
        .check_time(DateTime::<Utc>::MIN_UTC, kit.now())
        .unwrap();
}

#[test]
fn a_signed_time_that_is_none_is_refused_by_its_field() {
    let now = ManualClock::new();
    let now = roomkit_core::Clock::now(&now);
    let texts = [
        "",
        " ",
        "soon",
        "-1",
        "+1704067200",
        "1704067200.5",
        "1e9",
        "0x10",
        "１７０４０６７２００",
        "9223372036854775807",
        "9223372036854775808",
        "99999999999999999999999999999",
    ];
    for text in texts {
        let error = ReplayWindow::default().check(text, now).unwrap_err();
        let problem = "invalid_input: timestamp: must be whole seconds since 1970";
        assert_eq!(error.to_string(), problem, "{text}");
    }
    let far = ReplayWindow::default()
        .check("253402300800", now)
        .unwrap_err();
    assert_eq!(far.code(), "stale_webhook");
}

#[tokio::test]
async fn a_webhook_that_comes_twice_inside_the_window_is_one_event() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("sms"))]).await;
    for _ in 0..2 {
        let mut message = InboundMessage::text("", "u", "pay").in_room("r");
        message.provider_message_id = Some("evt-1".to_owned());
        let outcomes = kit.process_webhook("sms", [message.into()]).await;
        assert!(outcomes[0].is_ok());
    }
    kit.wait_idle().await;
    assert_eq!(timeline_texts(&kit).await, ["pay"]);
}

// Reports out of order.

/// Every order of these, each once.
fn orders(words: &[&'static str]) -> Vec<Vec<&'static str>> {
    if words.is_empty() {
        return vec![vec![]];
    }
    let mut all = Vec::new();
    for (at, first) in words.iter().enumerate() {
        let rest: Vec<_> = [&words[..at], &words[at + 1..]].concat();
        for mut order in orders(&rest) {
            order.insert(0, *first);
            all.push(order);
        }
    }
    all
}

async fn one_message() -> RoomKit {
    let kit = RoomKit::new();
    let sms = Transport::new("sms").outcomes(|call| DeliveryOutcome::Sent {
        provider_message_id: Some(format!("m{call}")),
    });
    room_of(&kit, vec![shared(&Transport::new("web")), shared(&sms)]).await;
    kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    kit
}

#[tokio::test]
async fn a_message_ends_at_its_highest_state_in_every_order_of_reports_and_repeats() {
    let words = ["queued", "sent", "delivered", "read", "failed"];
    let orders = orders(&words);
    assert_eq!(orders.len(), 120);
    for order in orders {
        let kit = one_message().await;
        let (mut told, mut last) = (Vec::new(), None);
        // Each comes twice: at once, and when all have come.
        let all = order.iter().flat_map(|word| [word, word]).chain(&order);
        for word in all {
            let report = DeliveryStatus::new("mock", "m0", *word);
            let outcome = kit.process_delivery_status(report).await.unwrap();
            assert!(outcome.state >= last, "{order:?}: it never moves down");
            last = outcome.state;
            if outcome.told {
                told.push(*word);
            }
        }
        assert_eq!(last, Some(DeliveryState::Read), "{order:?}");
        let report = DeliveryStatus::new("mock", "m0", "failed");
        let outcome = kit.process_delivery_status(report).await.unwrap();
        assert!(outcome.failed_late, "{order:?}");
        let mut once = told.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(
            once.len(),
            told.len(),
            "{order:?}: each is told at most once"
        );
    }
}

#[tokio::test]
async fn a_failure_after_the_delivery_is_recorded_and_does_not_lower_the_state() {
    let kit = one_message().await;
    let report = async |word| {
        let report = DeliveryStatus::new("mock", "m0", word);
        let outcome = kit.process_delivery_status(report).await.unwrap();
        (outcome.state.unwrap(), outcome.failed_late, outcome.told)
    };
    let delivered = DeliveryState::Delivered;
    assert_eq!(report("delivered").await, (delivered, false, true));
    assert_eq!(report("failed").await, (delivered, true, false));
    assert_eq!(report("sent").await, (delivered, true, false));
    assert_eq!(report("read").await, (DeliveryState::Read, true, true));
}

// Times without a zone.

/// Whether a room that is quiet from `start` on pauses after a minute and not before, however the time
/// of day is set meanwhile.
async fn pauses_in_a_minute(start: DateTime<Utc>, set_to: Option<DateTime<Utc>>) {
    let clock = ManualClock::at(start);
    let kit = kit_on(&clock);
    let timers = RoomTimers::pause_after(60);
    kit.create_room(RoomOptions::new().id("r").timers(timers))
        .await
        .unwrap();
    turns().await;
    clock.advance(Duration::from_secs(30));
    turns().await;
    if let Some(now) = set_to {
        clock.set(now);
    }
    clock.advance(Duration::from_millis(29_999));
    turns().await;
    let status = async || kit.room("r").await.unwrap().status;
    assert_eq!(status().await, RoomStatus::Active, "{start}: not early");
    clock.advance(Duration::from_millis(1));
    turns().await;
    assert_eq!(status().await, RoomStatus::Paused, "{start}: not late");
}

#[tokio::test]
async fn a_quiet_room_pauses_in_time_where_the_hour_is_skipped_or_repeated() {
    let at = |year, month, day, hour, minute, second| {
        Utc.with_ymd_and_hms(year, month, day, hour, minute, second)
            .unwrap()
    };
    let starts = [
        // Berlin skips the hour from 2 to 3, and repeats it in autumn.
        at(2026, 3, 29, 0, 59, 30),
        at(2026, 10, 25, 0, 59, 30),
        // A leap day begins, and ends.
        at(2028, 2, 28, 23, 59, 30),
        at(2028, 2, 29, 23, 59, 30),
        at(2026, 12, 31, 23, 59, 30),
    ];
    for start in starts {
        pauses_in_a_minute(start, None).await;
    }
}

#[tokio::test]
async fn a_quiet_room_pauses_in_time_whatever_the_hosts_time_of_day_is_set_to() {
    let start = Utc.with_ymd_and_hms(2026, 3, 29, 0, 59, 30).unwrap();
    for hours in [-24, -3, -1, 1, 3, 24] {
        let set_to = start + TimeDelta::hours(hours);
        pauses_in_a_minute(start, Some(set_to)).await;
    }
}

#[tokio::test]
async fn what_is_written_down_is_the_same_instant_in_utc_everywhere() {
    let start = Utc.with_ymd_and_hms(2026, 3, 27, 23, 0, 0).unwrap();
    let clock = ManualClock::at(start);
    let kit = kit_on(&clock);
    room_of(&kit, vec![shared(&Transport::new("web"))]).await;
    let event = kit
        .process_inbound(say("web", "u", "hi"))
        .await
        .unwrap()
        .event
        .unwrap();
    let written = serde_json::to_value(&*event).unwrap();
    assert_eq!(written["created_at"], "2026-03-27T23:00:00Z");
    // A Friday there, whatever day it is where the host stands.
    let there = serde_json::json!("2026-03-28T02:00:00+03:00");
    let mut moved = written;
    moved["created_at"] = there;
    let read: roomkit_core::model::RoomEvent = serde_json::from_value(moved).unwrap();
    assert_eq!(read.created_at, event.created_at);
}

#[test]
fn no_type_of_the_core_is_a_time_without_a_zone_or_of_the_hosts_zone() {
    fn look(folder: &Path, found: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                look(&path, found);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let words = [
                "NaiveDate",
                "NaiveTime",
                "NaiveDateTime",
                "chrono::Local",
                "Local::now",
            ];
            found.extend(
                words
                    .iter()
                    .filter(|word| text.contains(*word))
                    .map(|word| format!("{}: {word}", path.display())),
            );
        }
    }
    let mut found = Vec::new();
    look(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut found,
    );
    assert!(found.is_empty(), "{found:?}");
}
