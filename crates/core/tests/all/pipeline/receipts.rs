//! What providers report about messages: found again, only ever moving up, told once.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use roomkit_core::hook::OnDeliveryStatus;
use roomkit_core::model::{
    DeliveryOutcome, DeliveryState, DeliveryStatus, InboundMessage, RoomStatus, WebhookItem,
};
use roomkit_core::{RoomKit, RoomOptions, WebhookOutcome};

use super::support::{Transport, room_of, say, shared};

/// A channel whose provider calls its messages `m0`, `m1` and so on.
fn provider(id: &str) -> Transport {
    Transport::new(id).outcomes(|call| DeliveryOutcome::Sent {
        provider_message_id: Some(format!("m{call}")),
    })
}

fn report(message: &str, status: &str) -> DeliveryStatus {
    DeliveryStatus::new("mock", message, status)
}

/// The reports that a kit's hooks were told of, as `room/message: status`, and its framework events.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn of(kit: &RoomKit) -> Self {
        let told = Self::default();
        let (hooks, events) = (told.clone(), told.clone());
        kit.hook(OnDeliveryStatus, "status", move |status, room| {
            assert_eq!(status.room_id.as_ref(), Some(room.room_id()));
            let line = format!(
                "{}/{}: {}",
                room.room_id(),
                status.message_id,
                status.status
            );
            hooks.0.lock().unwrap().push(line);
            async {}
        });
        kit.on_any(move |event| {
            let kind = event.event_type.to_string();
            if kind.starts_with("delivery_status") {
                assert_eq!(event.data.get("provider").unwrap(), "mock");
                let of_event = if event.event_id.is_some() {
                    " known"
                } else {
                    ""
                };
                let status = event
                    .data
                    .get("status")
                    .unwrap()
                    .as_str()
                    .unwrap()
                    .to_owned();
                events
                    .0
                    .lock()
                    .unwrap()
                    .push(format!("!{kind} {status}{of_event}"));
            }
            async {}
        });
        told
    }

    async fn take(&self, kit: &RoomKit) -> Vec<String> {
        kit.wait_idle().await;
        let mut told = std::mem::take(&mut *self.0.lock().unwrap());
        told.sort();
        told
    }
}

/// A kit whose room `r` sent message `m0` over channel `sms`.
async fn one_message() -> RoomKit {
    let kit = RoomKit::new();
    room_of(
        &kit,
        vec![shared(&Transport::new("web")), shared(&provider("sms"))],
    )
    .await;
    kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    kit
}

#[tokio::test]
async fn a_report_is_about_the_event_whose_message_it_names() {
    let kit = one_message().await;
    let told = Told::of(&kit);
    let sent = kit.timeline("r", 2, 1).await.unwrap()[0].clone();
    let outcome = kit
        .process_delivery_status(report("m0", "Delivered"))
        .await
        .unwrap();
    assert_eq!(outcome.event_id.as_ref(), Some(&sent.id));
    assert_eq!(outcome.room_id.unwrap(), "r");
    assert_eq!(outcome.channel_id.unwrap(), "sms");
    assert_eq!(outcome.state, Some(DeliveryState::Delivered));
    assert!(outcome.told);
    assert_eq!(
        told.take(&kit).await,
        [
            "!delivery_status_changed Delivered known",
            "r/m0: Delivered"
        ]
    );
    assert_eq!(
        kit.event_versions("r", sent.id.clone())
            .await
            .unwrap()
            .len(),
        1
    );
    assert_eq!(
        kit.room("r").await.unwrap().event_count,
        3,
        "nothing is committed"
    );
}

#[tokio::test]
async fn repeats_and_what_comes_too_late_are_told_to_nobody() {
    let kit = one_message().await;
    let told = Told::of(&kit);
    let cases = [
        ("delivered", true),
        ("delivered", false),
        ("sent", false),
        ("undelivered", false),
        ("queued", false),
        ("carrier says hello", true),
        ("carrier says hello", false),
        ("READ", true),
        ("read", false),
    ];
    for (status, is_told) in cases {
        let outcome = kit
            .process_delivery_status(report("m0", status))
            .await
            .unwrap();
        assert_eq!(outcome.told, is_told, "{status}");
    }
    assert_eq!(told.take(&kit).await.len(), 6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_the_order_the_state_ends_the_same(
        reports in Just(vec!["queued", "sent", "delivered", "read", "failed"]).prop_shuffle(),
        repeats in prop::collection::vec(0_usize..5, 0..5),
        left_out in 0_usize..5,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let kit = one_message().await;
            let mut all: Vec<_> = reports.clone();
            all.extend(repeats.iter().map(|at| reports[*at]));
            all.retain(|status| *status != reports[left_out]);
            let mut told = Vec::new();
            let mut last = None;
            for status in &all {
                let outcome = kit.process_delivery_status(report("m0", status)).await.unwrap();
                assert!(outcome.state >= last, "it only moves up");
                last = outcome.state;
                if outcome.told {
                    told.push(*status);
                }
            }
            let highest = all.iter().filter_map(|status| DeliveryState::of_word(status)).max();
            assert_eq!(last, highest);
            let mut once = told.clone();
            once.dedup();
            assert_eq!(once, told, "each transition is told at most once");
        });
    }
}

#[tokio::test]
async fn a_report_that_is_faster_than_the_providers_answer_is_told_when_that_is_there() {
    let kit = RoomKit::new();
    room_of(
        &kit,
        vec![shared(&Transport::new("web")), shared(&provider("sms"))],
    )
    .await;
    kit.create_room("s").await.unwrap();
    kit.attach_channel("s", "sms").await.unwrap();
    let told = Told::of(&kit);
    let mut early = report("m0", "delivered");
    early.channel_id = Some("sms".into());
    for status in ["delivered", "sent"] {
        early.status = status.into();
        let outcome = kit.process_delivery_status(early.clone()).await.unwrap();
        assert!(
            !outcome.told && outcome.room_id.is_none(),
            "two rooms fit, none is guessed"
        );
    }
    assert_eq!(
        told.take(&kit).await,
        ["!delivery_status_unknown delivered"]
    );
    kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    assert_eq!(
        told.take(&kit).await,
        [
            "!delivery_status_changed delivered known",
            "r/m0: delivered"
        ]
    );
}

#[tokio::test]
async fn a_message_of_another_process_is_of_its_channels_only_room() {
    let kit = one_message().await;
    let told = Told::of(&kit);
    let mut elsewhere = report("x", "sent");
    elsewhere.channel_id = Some("sms".into());
    let outcome = kit
        .process_delivery_status(elsewhere.clone())
        .await
        .unwrap();
    assert_eq!(
        (outcome.room_id.unwrap().as_str(), outcome.event_id),
        ("r", None)
    );
    let repeat = kit
        .process_delivery_status(elsewhere.clone())
        .await
        .unwrap();
    assert!(!repeat.told);
    assert_eq!(
        told.take(&kit).await,
        ["!delivery_status_changed sent", "r/x: sent"]
    );
    let mut named = report("y", "sent");
    named.room_id = Some("r".into());
    assert!(kit.process_delivery_status(named).await.unwrap().told);
    let nowhere = kit
        .process_delivery_status(report("z", "sent"))
        .await
        .unwrap();
    assert!(!nowhere.told && nowhere.room_id.is_none());
}

#[tokio::test]
async fn reports_of_another_organisation_say_nothing_about_this_one() {
    let kit = RoomKit::new();
    let (web, sms) = (Transport::new("web"), provider("sms"));
    kit.register_channel(web).unwrap();
    kit.register_channel(sms).unwrap();
    let acme = kit.org("acme");
    acme.create_room("r").await.unwrap();
    acme.attach_channel("r", "sms").await.unwrap();
    acme.process_inbound(say("web", "u", "hi")).await.unwrap();
    let other = kit.org("other");
    let outcome = other
        .process_delivery_status(report("m0", "read"))
        .await
        .unwrap();
    assert_eq!(
        (outcome.room_id, outcome.event_id, outcome.told),
        (None, None, false)
    );
    let outcome = acme
        .process_delivery_status(report("m0", "sent"))
        .await
        .unwrap();
    assert!(outcome.told && outcome.event_id.is_some());
    let mut named = report("m0", "read");
    named.room_id = Some("r".into());
    let refused = other.process_delivery_status(named).await.unwrap_err();
    assert_eq!(refused.code(), "room_not_found");
}

#[tokio::test]
async fn what_is_remembered_is_bounded() {
    let kit = RoomKit::builder().remembered_deliveries(2).build().unwrap();
    room_of(
        &kit,
        vec![shared(&Transport::new("web")), shared(&provider("sms"))],
    )
    .await;
    kit.create_room(RoomOptions::new().id("s")).await.unwrap();
    kit.attach_channel("s", "sms").await.unwrap();
    for _ in 0..3 {
        kit.process_inbound(say("web", "u", "hi")).await.unwrap();
    }
    let known = async |message: &str| {
        let outcome = kit
            .process_delivery_status(report(message, "sent"))
            .await
            .unwrap();
        outcome.event_id.is_some()
    };
    assert!(!known("m0").await, "the oldest is forgotten");
    assert!(known("m1").await && known("m2").await);
    for (id, problem) in [(String::new(), "empty"), ("x".repeat(1_025), "long")] {
        let refused = kit
            .process_delivery_status(report(&id, "sent"))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), "invalid_input", "{problem}");
        assert!(refused.message().starts_with("message_id:"));
    }
}

#[tokio::test]
async fn a_webhook_brings_messages_and_reports() {
    let kit = one_message().await;
    let statuses = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&statuses);
    kit.on_delivery_status("seen", move |status| {
        seen.lock().unwrap().push(status.status);
        async {}
    });
    let mut message = InboundMessage::text("whoever", "+1555", "hello").in_room("r");
    message.provider_message_id = Some("SM1".into());
    let edit = roomkit_core::model::EventContent::text("x");
    let items: Vec<WebhookItem> = vec![
        message.clone().into(),
        report("m0", "delivered").into(),
        message.clone().into(),
        InboundMessage::new("whoever", "+1555", edit)
            .in_room(" ")
            .into(),
        report("", "sent").into(),
        report("m0", "read").into(),
    ];
    let outcomes = kit.process_webhook("sms", items).await;
    kit.wait_idle().await;
    let shown: Vec<_> = outcomes
        .iter()
        .map(|outcome| match outcome {
            Ok(WebhookOutcome::Message(result)) => {
                result.event.as_ref().unwrap().source.channel_id.to_string()
            }
            Ok(WebhookOutcome::Status(outcome)) => outcome.state.unwrap().to_string(),
            Ok(_) => "other".to_owned(),
            Err(error) => error.code().to_owned(),
        })
        .collect();
    assert_eq!(
        shown,
        [
            "sms",
            "delivered",
            "sms",
            "invalid_input",
            "invalid_input",
            "read"
        ]
    );
    assert_eq!(*statuses.lock().unwrap(), ["delivered", "read"]);
    let room = kit.room("r").await.unwrap();
    assert_eq!(
        (room.event_count, room.status),
        (4, RoomStatus::Active),
        "the repeat is one"
    );
}
