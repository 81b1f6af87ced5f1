//! Pictures reach models that see; the others get words.

use roomkit_ai::{AiCapabilities, AiChannel, MockAiProvider, Part};
use roomkit_core::model::{EventContent, InboundMessage, MediaContent};

use crate::support::{AGENT, ROOM, Stage, shared};

async fn asked_about(content: EventContent, sees: bool) -> Vec<Part> {
    let able = AiCapabilities::none().streaming(true).vision(sees);
    let provider = shared(MockAiProvider::new(["I see."]).with_capabilities(able));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    let mut message = InboundMessage::text("web", "alice", "").in_room(ROOM);
    message.content = content;
    stage.kit.process_inbound(message).await.unwrap();
    let asked = provider.calls().pop().unwrap();
    asked.messages.last().unwrap().parts.to_vec()
}

fn chart() -> MediaContent {
    let mut chart = MediaContent::new("https://example.com/chart.png", "image/png");
    chart.caption = Some("Look".to_owned());
    chart
}

#[tokio::test]
async fn a_picture_is_an_image_part_behind_its_caption() {
    let parts = asked_about(chart().into(), true).await;
    let image = Part::Image {
        url: "https://example.com/chart.png".to_owned(),
        mime_type: Some("image/png".to_owned()),
    };
    assert_eq!(parts, [Part::text("Look"), image]);
    let of_parts = EventContent::composite([EventContent::text("Two:"), chart().into()]);
    assert_eq!(asked_about(of_parts, true).await.len(), 3);
}

#[tokio::test]
async fn a_model_that_cannot_see_gets_the_words() {
    let parts = asked_about(chart().into(), false).await;
    assert!(matches!(parts.as_slice(), [Part::Text { text }] if text.contains("Look")));
}

#[tokio::test]
async fn a_file_that_is_no_picture_is_no_image() {
    let file = MediaContent::new("https://example.com/a.pdf", "application/pdf");
    let parts = asked_about(file.into(), true).await;
    assert_eq!(parts, [Part::text("[File: application/pdf]")]);
}
