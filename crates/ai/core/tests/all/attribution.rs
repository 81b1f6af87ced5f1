//! Rooms with several people: who said what reaches the model, and nothing changes where one speaks.

use roomkit_ai::{AiChannel, MockAiProvider, Part};
use roomkit_core::model::InboundMessage;

use crate::support::{AGENT, ROOM, Stage, shared};

const NOTE: &str = "Several people take part in this conversation. Their messages are prefixed with the sender's name (\"Name: message\"). The prefix is transcript metadata, not text they typed: rely on it to know who said what, and never prefix your own replies with a name.";

async fn say_named(stage: &Stage, who: &str, name: Option<&str>, text: &str) {
    let mut message = InboundMessage::text("web", who, text).in_room(ROOM);
    if let Some(name) = name {
        message.metadata.insert("sender_name", name);
    }
    stage.kit.process_inbound(message).await.unwrap();
}

#[tokio::test]
async fn from_the_second_named_speaker_on_turns_are_named_and_the_model_is_told() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .system_prompt("You help.")
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    say_named(&stage, "a", Some("Alice"), "One").await;
    say_named(&stage, "a", Some("Alice"), "Two").await;
    say_named(&stage, "b", Some("Bob"), "Three").await;
    say_named(&stage, "x", None, "Four").await;
    let requests = provider.calls();
    for request in &requests[..2] {
        assert_eq!(request.system_prompt.as_deref(), Some("You help."));
        assert!(
            request
                .messages
                .iter()
                .all(|it| !it.text().contains("Alice"))
        );
    }
    assert_eq!(
        requests[2].system_prompt,
        Some(format!("You help.\n\n{NOTE}"))
    );
    let texts: Vec<_> = requests[3]
        .messages
        .iter()
        .map(|it| it.text().into_owned())
        .collect();
    // Assistant turns and whoever has no name stay bare.
    assert_eq!(
        texts,
        [
            "Alice: One",
            "Yes.",
            "Alice: Two",
            "Yes.",
            "Bob: Three",
            "Yes.",
            "Four"
        ]
    );
}

#[tokio::test]
async fn a_name_comes_from_the_participant_where_the_message_brings_none() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage
        .kit
        .add_member(ROOM, "web", "p1")
        .display_name("Ann")
        .await
        .unwrap();
    say_named(&stage, "p1", None, "One").await;
    say_named(&stage, "b", Some("Bob"), "Two").await;
    let last = provider.calls().pop().unwrap();
    assert_eq!(last.messages[0].text(), "Ann: One");
    assert_eq!(last.system_prompt.as_deref(), Some(NOTE));
}

#[tokio::test]
async fn a_picture_is_led_by_its_senders_name() {
    use roomkit_core::model::MediaContent;

    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    say_named(&stage, "a", Some("Alice"), "Look").await;
    let picture = MediaContent::new("https://example.com/c.png", "image/png");
    let mut message = InboundMessage::text("web", "b", "").in_room(ROOM);
    message.content = picture.into();
    message.metadata.insert("sender_name", "Bob");
    stage.kit.process_inbound(message).await.unwrap();
    let last = provider.calls().pop().unwrap();
    let parts = &last.messages.last().unwrap().parts;
    assert_eq!(parts[0], Part::text("Bob:"));
    assert!(matches!(&parts[1], Part::Image { url, .. } if url.ends_with("c.png")));
}
