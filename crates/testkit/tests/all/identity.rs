//! The mock identity resolver: whom it knows, and whom it was asked about.

use std::sync::Arc;

use roomkit_core::RoomKit;
use roomkit_core::model::{IdentificationStatus, Identity, IdentityResult, InboundMessage};
use roomkit_testkit::{MockChannel, MockIdentityResolver};

use crate::setup::room_with;

#[tokio::test]
async fn it_answers_as_it_was_told() {
    let resolver = MockIdentityResolver::new()
        .knows("+1", Identity::new("alice"))
        .answers(
            "+2",
            IdentityResult::ambiguous([Identity::new("bob"), Identity::new("bea")]),
        )
        .otherwise(IdentityResult::new(IdentificationStatus::Rejected));
    let kit = RoomKit::builder()
        .identity(Arc::new(resolver.clone()))
        .build()
        .unwrap();
    let kit = room_with(kit, vec![Box::new(MockChannel::new("sms"))]).await;
    let mut said = Vec::new();
    for sender in ["+1", "+2", "+3"] {
        let message = InboundMessage::text("sms", sender, "hi").in_room("r");
        let result = kit.process_inbound(message).await.unwrap();
        let by = result
            .event
            .and_then(|event| event.source.participant_id.clone());
        said.push((by.map(|id| id.to_string()), result.reason));
    }
    let expected = [
        (Some("alice".to_owned()), None),
        (Some("+2".to_owned()), None),
        (None, Some("identity_rejected".to_owned())),
    ];
    assert_eq!(said, expected);
    assert_eq!(resolver.asked(), ["+1", "+2", "+3"]);
}

#[tokio::test]
async fn it_knows_nobody_unless_told() {
    let resolver = MockIdentityResolver::default();
    let kit = RoomKit::builder()
        .identity(Arc::new(resolver))
        .build()
        .unwrap();
    let kit = room_with(kit, vec![Box::new(MockChannel::new("sms"))]).await;
    let message = InboundMessage::text("sms", "+1", "hi").in_room("r");
    assert!(!kit.process_inbound(message).await.unwrap().blocked);
}

#[tokio::test(start_paused = true)]
async fn it_fails_and_hangs_when_it_is_told_to() {
    let resolver = MockIdentityResolver::new().fails("+1").hangs("+2");
    let kit = RoomKit::builder()
        .identity(Arc::new(resolver.clone()))
        .build()
        .unwrap();
    let kit = room_with(kit, vec![Box::new(MockChannel::new("sms"))]).await;
    let started = tokio::time::Instant::now();
    let mut seconds = Vec::new();
    for sender in ["+1", "+2"] {
        let message = InboundMessage::text("sms", sender, "hi").in_room("r");
        assert!(!kit.process_inbound(message).await.unwrap().blocked);
        seconds.push(started.elapsed().as_secs());
    }
    assert_eq!(seconds, [0, 10]);
    assert_eq!(resolver.asked(), ["+1", "+2"]);
}
