//! The mock channel: what it records, when it fails, and that a clone is the same channel.

use std::time::Duration;

use roomkit_core::channel::StreamFrame;
use roomkit_core::model::{
    ChannelCapabilities, ChannelDirection, ChannelType, DeliveryOutcome, InboundMessage,
};
use roomkit_core::{Channel, RoomKit};
use roomkit_testkit::{MockChannel, ScriptRule, ScriptedAgent, StreamPiece, Taken};
use tokio::time::Instant;

use crate::setup::room_with;

async fn say(kit: &RoomKit, text: &str) -> Vec<DeliveryOutcome> {
    let message = InboundMessage::text("web", "alice", text).in_room("r");
    let result = kit.process_inbound(message).await.unwrap();
    let results = result.delivery_results.into_iter();
    results.map(|result| result.outcome).collect()
}

async fn room(channel: &MockChannel) -> RoomKit {
    let web = MockChannel::new("web");
    room_with(
        RoomKit::new(),
        vec![Box::new(web), Box::new(channel.clone())],
    )
    .await
}

#[test]
fn it_is_what_it_was_built_as() {
    let channel = MockChannel::builder("sms")
        .channel_type(ChannelType::Sms)
        .direction(ChannelDirection::Outbound)
        .capabilities(ChannelCapabilities::default().with_max_length(160))
        .build();
    assert_eq!(*channel.id(), "sms");
    assert_eq!(channel.channel_type(), ChannelType::Sms);
    assert_eq!(channel.direction(), ChannelDirection::Outbound);
    assert_eq!(channel.capabilities().max_length, Some(160));
    let plain = MockChannel::new("web");
    assert_eq!(plain.channel_type(), ChannelType::Websocket);
    assert_eq!(plain.direction(), ChannelDirection::Bidirectional);
    assert_eq!(plain.capabilities(), ChannelCapabilities::default());
}

#[tokio::test]
async fn it_records_what_it_takes_as_it_is_given_it() {
    let short = ChannelCapabilities::default().with_max_length(6);
    let channel = MockChannel::builder("sms").capabilities(short).build();
    let kit = room(&channel).await;
    assert_eq!(say(&kit, "hi").await, [DeliveryOutcome::sent()]);
    say(&kit, "hello there").await;
    let deliveries = channel.deliveries();
    let texts: Vec<_> = deliveries.iter().map(|one| one.event.text()).collect();
    assert_eq!(texts, [Some("hi"), Some("hel...")]);
    let places: Vec<_> = deliveries
        .iter()
        .map(|one| (one.room_id.as_str(), one.index))
        .collect();
    assert_eq!(places, [("r", 2), ("r", 3)]);
    channel.clear();
    assert!(channel.deliveries().is_empty());
    assert_eq!(channel.calls(), 2);
}

#[tokio::test]
async fn the_first_calls_fail_and_are_not_recorded() {
    let channel = MockChannel::builder("sms").fail_first(2).build();
    let kit = room(&channel).await;
    for text in ["one", "two"] {
        let outcomes = say(&kit, text).await;
        let error = outcomes[0].error().unwrap();
        assert!(error.retryable && error.code == "mock_failure", "{error}");
    }
    say(&kit, "three").await;
    assert_eq!(channel.deliveries().len(), 1);
    assert_eq!(channel.deliveries()[0].event.text(), Some("three"));
    assert_eq!(channel.calls(), 3);
}

#[tokio::test]
async fn every_call_fails_as_it_is_told() {
    let gone = DeliveryOutcome::unknown("connection_lost", "no answer");
    let channel = MockChannel::builder("sms").fail_with(gone.clone()).build();
    let kit = room(&channel).await;
    let outcomes = [say(&kit, "one").await, say(&kit, "two").await].concat();
    assert_eq!(outcomes, [gone.clone(), gone]);
    assert!(channel.deliveries().is_empty());
}

#[tokio::test(start_paused = true)]
async fn it_takes_its_time() {
    let channel = MockChannel::builder("slow")
        .delay(Duration::from_secs(7))
        .build();
    let kit = room(&channel).await;
    let start = Instant::now();
    say(&kit, "hi").await;
    assert_eq!(start.elapsed(), Duration::from_secs(7));
}

/// The number of the frame that fails, and what is taken then; `None` is a channel that does not
/// stream.
#[tokio::test(start_paused = true)]
async fn it_takes_answers_as_they_come_where_it_may() {
    let cases = [
        (None, &["hi", "yes"][..]),
        (Some(0), &["hi", "start", "chunk", "end yes"]),
        (Some(1), &["hi", "yes"]),
        (Some(2), &["hi", "start", "yes"]),
    ];
    for (fails, expected) in cases {
        let mut builder = MockChannel::builder("screen");
        if let Some(number) = fails {
            builder = builder.streaming().fail_frame(number);
        }
        let channel = builder.build();
        assert_eq!(channel.supports_streaming(), fails.is_some());
        let rule = ScriptRule::any().stream([StreamPiece::text("yes")]);
        let agent = ScriptedAgent::builder("bot").rule(rule).build();
        let (web, screen) = (MockChannel::new("web"), Box::new(channel.clone()));
        let kit = room_with(RoomKit::new(), vec![Box::new(web), screen, Box::new(agent)]).await;
        say(&kit, "hi").await;
        let taken: Vec<_> = channel.taken().iter().map(in_short).collect();
        assert_eq!(taken, expected, "{fails:?}");
        let whole = expected.iter().filter(|it| ["hi", "yes"].contains(it));
        assert_eq!(channel.deliveries().len(), whole.count());
        assert_eq!(
            channel.frames().len() + channel.deliveries().len(),
            taken.len()
        );
        channel.clear();
        assert!(channel.taken().is_empty());
    }
}

fn in_short(taken: &Taken) -> String {
    match taken {
        Taken::Whole(delivery) => delivery.event.text().unwrap().to_owned(),
        Taken::Frame(StreamFrame::Start(_)) => "start".to_owned(),
        Taken::Frame(StreamFrame::Chunk { .. }) => "chunk".to_owned(),
        Taken::Frame(StreamFrame::End { event, .. }) => format!("end {}", event.text().unwrap()),
        other => format!("{other:?}"),
    }
}
