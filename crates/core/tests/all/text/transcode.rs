//! Content that a channel cannot show, in words.

use chrono::DateTime;
use futures_util::FutureExt;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelType, CompositeContent,
    EventContent,
};
use roomkit_core::router::{ContentTranscoder, DefaultContentTranscoder, in_words};
use serde_json::{Value, json};

fn shown(content: &EventContent, able: Value) -> Option<EventContent> {
    let (category, then) = (ChannelCategory::Transport, DateTime::UNIX_EPOCH);
    let mut target = ChannelBinding::new("r", "c", ChannelType::Sms, category, then);
    let able: ChannelCapabilities = serde_json::from_value(able).unwrap();
    target.capabilities = able.into();
    let shown = DefaultContentTranscoder.transcode(content, None, &target);
    shown.now_or_never().unwrap().unwrap()
}

fn content(document: Value) -> EventContent {
    serde_json::from_value(document).unwrap()
}

#[test]
fn what_cannot_be_shown_is_said() {
    let url = "https://example.org/x";
    for (document, words) in [
        (json!({"type": "text", "body": "as it is"}), "as it is"),
        (
            json!({"type": "rich", "body": "**Bold** [link](https://a.b)"}),
            "Bold link (https://a.b)",
        ),
        (
            json!({"type": "rich", "body": "<b>Bold</b> &amp; more", "format": "html"}),
            "Bold & more",
        ),
        (
            json!({"type": "rich", "body": "**x**", "plain_text": "plain"}),
            "plain",
        ),
        (
            json!({"type": "rich", "body": "**x**", "plain_text": ""}),
            "x",
        ),
        (
            json!({"type": "media", "url": url, "mime_type": "image/png"}),
            "[Media: https://example.org/x]",
        ),
        (
            json!({"type": "media", "url": url, "mime_type": "image/png", "filename": "a.png", "caption": ""}),
            "[Media: a.png]",
        ),
        (
            json!({"type": "media", "url": url, "mime_type": "image/png", "filename": "a.png", "caption": "A cat"}),
            "[Media: A cat]",
        ),
        (
            json!({"type": "audio", "url": url}),
            "[Voice message: https://example.org/x]",
        ),
        (
            json!({"type": "audio", "url": url, "transcript": "hello"}),
            "hello",
        ),
        (
            json!({"type": "video", "url": url}),
            "[Video: https://example.org/x]",
        ),
        (
            json!({"type": "location", "latitude": 48.0, "longitude": 2.25}),
            "[Location: (48.0, 2.25)]",
        ),
        (
            json!({"type": "location", "latitude": -1.5, "longitude": 0.0, "label": "Home"}),
            "[Location: Home (-1.5, 0.0)]",
        ),
        (
            json!({"type": "location", "latitude": 1.0, "longitude": 2.0, "label": "", "address": "A street"}),
            "[Location: A street (1.0, 2.0)]",
        ),
        (
            json!({"type": "template", "template_id": "welcome"}),
            "[Template: welcome]",
        ),
        (
            json!({"type": "template", "template_id": "welcome", "body": "Hi"}),
            "Hi",
        ),
        (
            json!({"type": "delete", "target_event_id": "e"}),
            "[Message deleted]",
        ),
        (
            json!({"type": "edit", "target_event_id": "e", "new_content": {"type": "rich", "body": "_new_"}}),
            "Correction: new",
        ),
    ] {
        let content = content(document);
        assert_eq!(in_words(&content), words);
        let shown = shown(&content, json!({}));
        assert_eq!(shown, Some(EventContent::text(words)), "{words}");
    }
}

#[test]
fn what_can_be_shown_is_left_alone() {
    let able = json!({
        "media_types": ["text", "rich", "media", "audio", "video", "location", "template"],
        "supports_edit": true, "supports_delete": true,
    });
    let url = "https://example.org/x";
    for document in [
        json!({"type": "rich", "body": "**x**"}),
        json!({"type": "media", "url": url, "mime_type": "image/png"}),
        json!({"type": "audio", "url": url}),
        json!({"type": "video", "url": url}),
        json!({"type": "location", "latitude": 1.0, "longitude": 2.0}),
        json!({"type": "template", "template_id": "welcome"}),
        json!({"type": "delete", "target_event_id": "e"}),
        json!({"type": "edit", "target_event_id": "e", "new_content": {"type": "text", "body": "x"}}),
    ] {
        let content = content(document);
        assert_eq!(shown(&content, able.clone()), Some(content));
    }
    let system = content(json!({"type": "system", "body": "notice"}));
    assert_eq!(shown(&system, json!({})), Some(system.clone()));
    assert_eq!(in_words(&system), "notice");
    let call =
        json!({"type": "tool_call", "tool_name": "search", "tool_id": "t", "status": "completed"});
    let call = content(call);
    assert_eq!(in_words(&call), "[Tool: search]");
}

/// One text where all parts are text, else the parts that the channel can show.
#[test]
fn parts_are_shown_each_in_its_own_form() {
    let video = json!({"type": "video", "url": "https://example.org/x"});
    let both = content(json!({
        "type": "composite",
        "parts": [{"type": "rich", "body": "**one**"}, video],
    }));
    let words = "one\n[Video: https://example.org/x]";
    assert_eq!(shown(&both, json!({})), Some(EventContent::text(words)));
    assert_eq!(in_words(&both), words);
    let parts = vec![EventContent::text("one"), content(video)];
    assert_eq!(
        shown(&both, json!({"media_types": ["text", "video"]})),
        Some(CompositeContent { parts }.into())
    );
    let none = CompositeContent { parts: Vec::new() };
    assert_eq!(shown(&none.into(), json!({})), None);
}
