//! How many messages may come in, by channel and by organisation.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::model::{InboundMessage, RateLimit};
use roomkit_core::{RoomKit, RoomKitBuilder};
use roomkit_testkit::ManualClock;

use super::support::{Transport, room_of, say, shared};

fn per_second(most: f64) -> RateLimit {
    RateLimit {
        max_per_second: Some(most),
        ..RateLimit::default()
    }
}

fn kit_on(clock: &ManualClock, limit: impl FnOnce(RoomKitBuilder) -> RoomKitBuilder) -> RoomKit {
    let builder = RoomKit::builder().clock(Arc::new(clock.clone()));
    limit(builder).build().unwrap()
}

#[tokio::test]
async fn a_channel_that_brings_too_much_is_refused_and_nothing_is_stored() {
    let clock = ManualClock::new();
    let kit = kit_on(&clock, |builder| {
        builder.inbound_rate_limit(per_second(2.0))
    });
    room_of(
        &kit,
        vec![shared(&Transport::new("a")), shared(&Transport::new("b"))],
    )
    .await;
    let send = async |channel: &str| {
        let result = kit.process_inbound(say(channel, "u", "hi")).await.unwrap();
        assert_eq!(result.blocked, result.event.is_none());
        result.reason
    };
    assert_eq!(send("a").await, None);
    assert_eq!(send("a").await, None);
    assert_eq!(send("a").await.as_deref(), Some("rate_limited"));
    assert_eq!(send("b").await, None, "each channel has its own");
    let (refused, handle) = kit
        .process_inbound_deferred(say("a", "u", "hi"))
        .await
        .unwrap();
    assert_eq!(refused.reason.as_deref(), Some("rate_limited"));
    assert!(handle.wait().await.unwrap().blocked);
    clock.advance(Duration::from_millis(500));
    assert_eq!(send("a").await, None);
    assert_eq!(send("a").await.as_deref(), Some("rate_limited"));
    assert_eq!(kit.room("r").await.unwrap().event_count, 2 + 4);
    let sent = kit.send_event("r", "a", roomkit_core::model::EventContent::text("x"));
    sent.await.unwrap();
    let unknown = kit
        .process_inbound(say("nobody", "u", "hi"))
        .await
        .unwrap_err();
    assert_eq!(unknown.code(), "channel_not_registered");
}

#[tokio::test]
async fn an_organisation_has_its_own_limit_over_all_channels() {
    let clock = ManualClock::new();
    let kit = kit_on(&clock, |builder| {
        builder
            .inbound_rate_limit(per_second(3.0))
            .organization_rate_limit(per_second(2.0))
    });
    for channel in ["a", "b"] {
        kit.register_channel(Transport::new(channel)).unwrap();
    }
    let send = async |organization: &str, channel: &str| {
        let message = InboundMessage::text(channel, "u", "hi").in_room(organization);
        let result = kit
            .org(organization)
            .process_inbound(message)
            .await
            .unwrap();
        result.reason
    };
    assert_eq!(send("acme", "a").await, None);
    assert_eq!(send("acme", "b").await, None);
    for _ in 0..5 {
        assert_eq!(send("acme", "a").await.as_deref(), Some("rate_limited"));
    }
    assert_eq!(
        send("other", "a").await,
        None,
        "what was refused cost the channel nothing"
    );
    assert_eq!(send("other", "a").await, None);
    assert_eq!(
        send("third", "a").await.as_deref(),
        Some("rate_limited"),
        "the channel's limit"
    );
    let message = InboundMessage::text("b", "u", "hi").in_room("free");
    assert!(
        !kit.process_inbound(message).await.unwrap().blocked,
        "of no organisation"
    );
}

#[test]
fn a_limit_that_is_none_is_refused_by_its_name() {
    let wrong = per_second(0.0);
    let channel = RoomKit::builder().inbound_rate_limit(wrong.clone()).build();
    let organization = RoomKit::builder().organization_rate_limit(wrong).build();
    let problem = |kit: roomkit_core::Result<RoomKit>| kit.unwrap_err().message().to_owned();
    assert!(problem(channel).starts_with("inbound_rate_limit.max_per_second"));
    assert!(problem(organization).starts_with("organization_rate_limit.max_per_second"));
}
