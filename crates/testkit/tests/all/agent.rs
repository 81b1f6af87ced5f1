//! The scripted agent: which rule it takes, what it leaves behind, what it hears.

use std::time::Duration;

use roomkit_core::RoomKit;
use roomkit_core::channel::Delta;
use roomkit_core::model::{EventContent, InboundMessage, SystemContent, TemplateContent};
use roomkit_testkit::{MockChannel, ScriptRule, ScriptedAgent, StreamPiece};
use tokio::time::Instant;

use crate::setup::room_with;

async fn room(agents: &[&ScriptedAgent]) -> (RoomKit, MockChannel) {
    let web = MockChannel::new("web");
    let mut channels: Vec<Box<dyn crate::setup::Register>> = vec![Box::new(web.clone())];
    for agent in agents {
        channels.push(Box::new((*agent).clone()));
    }
    (room_with(RoomKit::new(), channels).await, web)
}

async fn say(kit: &RoomKit, content: impl Into<EventContent>) {
    let message = InboundMessage::new("web", "alice", content).in_room("r");
    kit.process_inbound(message).await.unwrap();
}

fn replies(web: &MockChannel) -> Vec<String> {
    let deliveries = web.deliveries();
    let texts = deliveries.iter().filter_map(|one| one.event.text());
    texts.map(str::to_owned).collect()
}

#[tokio::test]
async fn the_first_rule_that_fits_counts() {
    let agent = ScriptedAgent::builder("bot")
        .rule(
            ScriptRule::on("refund")
                .reply("one moment")
                .task("refund")
                .observation("angry"),
        )
        .rule(ScriptRule::on("silence"))
        .rule(ScriptRule::any().reply("hello"))
        .build();
    let (kit, web) = room(&[&agent]).await;
    for text in ["good day", "a refund, in silence", "silence"] {
        say(&kit, EventContent::text(text)).await;
    }
    assert_eq!(replies(&web), ["hello", "one moment"]);
    assert_eq!(agent.heard_indexes(), [2, 4, 6]);
    assert_eq!(agent.heard()[0].text(), Some("good day"));
    let tasks = kit.tasks("r").await.unwrap();
    assert_eq!(
        tasks
            .iter()
            .map(|task| task.title.as_str())
            .collect::<Vec<_>>(),
        ["refund"]
    );
    let seen = kit.observations("r").await.unwrap();
    assert_eq!(seen[0].category.as_deref(), Some("angry"));
    assert_eq!(seen[0].channel_id, "bot");
    agent.clear();
    assert!(agent.heard().is_empty());
}

#[tokio::test]
async fn it_looks_at_the_words_of_any_content() {
    let agent = ScriptedAgent::builder("bot")
        .rule(ScriptRule::on("word").reply("yes"))
        .build();
    let (kit, web) = room(&[&agent]).await;
    let mut template = TemplateContent::new("t");
    template.body = Some("a word".to_owned());
    let composite = EventContent::composite([
        EventContent::location(1.0, 2.0),
        EventContent::text("a word"),
    ]);
    say(&kit, template).await;
    say(&kit, SystemContent::new("code", "a word")).await;
    say(&kit, composite).await;
    say(&kit, EventContent::location(1.0, 2.0)).await;
    assert_eq!(replies(&web), ["yes", "yes", "yes"]);
}

#[tokio::test]
async fn it_addresses_and_never_answers_itself() {
    let one = ScriptedAgent::builder("one")
        .rule(ScriptRule::any().reply("two, please").addressed_to(["two"]))
        .build();
    let two = ScriptedAgent::new("two");
    let three = ScriptedAgent::new("three");
    let (kit, _) = room(&[&one, &two, &three]).await;
    say(&kit, EventContent::text("go")).await;
    assert_eq!(one.heard_indexes(), [4]);
    assert_eq!(two.heard_indexes(), [4, 5]);
    assert_eq!(three.heard_indexes(), [4]);
}

#[tokio::test(start_paused = true)]
async fn it_takes_its_time() {
    let agent = ScriptedAgent::builder("bot")
        .rule(ScriptRule::any().reply("done"))
        .delay(Duration::from_secs(90))
        .build();
    let (kit, web) = room(&[&agent]).await;
    let start = Instant::now();
    say(&kit, EventContent::text("think")).await;
    assert_eq!(start.elapsed(), Duration::from_secs(90));
    assert_eq!(replies(&web), ["done"]);
}

#[tokio::test(start_paused = true)]
async fn it_streams_piece_by_piece_until_one_that_ends_the_answer() {
    let text = StreamPiece::text;
    let end = StreamPiece::Delta(Delta::End);
    let wait = StreamPiece::Wait(Duration::from_secs(5));
    let cases = [
        (vec![], 0, &[][..]),
        (vec![StreamPiece::thinking("hm")], 0, &[]),
        (vec![text("a"), wait, text("b")], 5, &["ab"]),
        (vec![text("a"), end, text("b")], 0, &["a"]),
        (vec![text("a"), StreamPiece::Fail, text("b")], 0, &["a"]),
        (vec![text("a"), StreamPiece::Panic, text("b")], 0, &["a"]),
        (vec![text("a"), StreamPiece::Hang, text("b")], 600, &["a"]),
    ];
    for (pieces, seconds, expected) in cases {
        let rule = ScriptRule::any().reply("instead").stream(pieces.clone());
        let agent = ScriptedAgent::builder("bot").rule(rule).build();
        let (kit, web) = room(&[&agent]).await;
        let started = Instant::now();
        say(&kit, "hi").await;
        assert_eq!(replies(&web), expected, "{pieces:?}");
        assert_eq!(started.elapsed().as_secs(), seconds, "{pieces:?}");
    }
}
