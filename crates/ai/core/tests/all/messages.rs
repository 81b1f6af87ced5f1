//! What models write and what providers are told.

use std::sync::Arc;

use roomkit_ai::{
    AiError, AiErrorKind, AiMessage, AiResponse, FinishReason, ModelPricing, Part, Parts,
    ResultPart, Role, SharedText, StreamEvent, ToolArguments, ToolCall, ToolResult, Usage,
};
use roomkit_core::model::{EventContent, EventSource, RoomEvent};
use serde_json::json;

fn call() -> ToolCall {
    ToolCall::new(
        "call-1",
        "weather",
        ToolArguments::parse(r#"{"city":"Lyon"}"#),
    )
}

#[test]
fn arguments_that_are_no_object_are_kept_and_not_taken_for_one() {
    for text in ["{\"city\":", "[1]", "\"Lyon\"", "7", "true"] {
        let arguments = ToolArguments::parse(text);
        assert!(arguments.as_object().is_none(), "{text}");
        assert!(arguments.problem().is_some(), "{text}");
        assert!(arguments.to_object().is_empty(), "{text}");
    }
    for text in ["", "  ", "null", "{}"] {
        assert_eq!(
            ToolArguments::parse(text),
            ToolArguments::default(),
            "{text:?}"
        );
    }
}

#[test]
fn a_message_survives_json() {
    let message = AiMessage::new(
        Role::Assistant,
        [
            Part::text("Let me look."),
            Part::ToolCall(call()),
            Part::ToolCall(ToolCall::new(
                "call-2",
                "weather",
                ToolArguments::parse("{"),
            )),
        ],
    );
    let text = serde_json::to_string(&message).unwrap();
    assert_eq!(serde_json::from_str::<AiMessage>(&text).unwrap(), message);
}

#[test]
fn pictures_of_a_result_follow_it_where_it_can_hold_none() {
    let mut result = ToolResult::text(&call(), "Sunny.");
    assert_eq!(result.split().0, "Sunny.");
    let image = ResultPart::Image {
        url: "data:image/png;base64,AA==".into(),
        mime_type: None,
    };
    result.parts.push(image.clone());
    assert_eq!(result.as_text(), "Sunny.\n[image]");
    assert_eq!(result.split().1.len(), 1);
    result.parts = vec![image];
    assert_eq!(result.split().0, "[see image below]");
}

#[test]
fn nothing_that_was_said_shows_in_debugging_forms() {
    let secret = "attack at dawn";
    let message = AiMessage::new(
        Role::User,
        [
            Part::text(secret),
            Part::image(secret),
            Part::ToolCall(ToolCall::new("1", "t", ToolArguments::parse(secret))),
            Part::ToolResult(ToolResult::text(&call(), secret)),
        ],
    );
    let error = AiError::new(AiErrorKind::InvalidRequest, "acme", "asking").with_body(secret);
    let shown = format!(
        "{message:?} {:?} {:?} {error:?} {error}",
        AiResponse::text(secret),
        StreamEvent::Text(secret.into())
    );
    assert!(!shown.contains("dawn"), "{shown}");
}

#[test]
fn why_a_model_stopped_is_read_in_every_vendors_spelling() {
    for text in ["length", "max_tokens", "MAX_TOKENS", "max_output_tokens"] {
        assert_eq!(FinishReason::parse(text), FinishReason::Length, "{text}");
    }
    assert_eq!(FinishReason::parse("tool_use"), FinishReason::ToolCalls);
    assert_eq!(FinishReason::parse("end_turn"), FinishReason::Stop);
    assert_eq!(FinishReason::parse("pause_turn").code(), "pause_turn");
}

#[test]
fn a_long_conversation_costs_by_the_long_contexts_prices() {
    let pricing: ModelPricing = serde_json::from_value(json!({
        "input_per_million": 2.0, "output_per_million": 10.0, "cache_read_per_million": 0.5,
        "long_context_threshold_tokens": 200_000, "long_context_input_multiplier": 2.0,
        "long_context_output_multiplier": 1.5, "verified": "2026-11-30",
    }))
    .unwrap();
    let short = Usage::new(100_000, 1_000).cached(100_000, 50_000);
    // More than the threshold is read, counting what the caches had.
    assert_eq!(pricing.cost_for(&short), (0.2 + 0.05) * 2.0 + 0.01 * 1.5);
    let small = Usage::new(100_000, 1_000).cached(100_000, 0);
    assert_eq!(pricing.cost_for(&small), 0.2 + 0.05 + 0.01);
}

#[test]
fn an_error_keeps_the_vendors_facts_and_a_bounded_body() {
    let error = AiError::new(AiErrorKind::of_status(429), "acme", "asking for an answer")
        .with_status(429)
        .with_request_id("req-1")
        .with_body("é".repeat(4_000));
    assert!(error.is_retryable());
    assert_eq!(error.body().unwrap().len(), 4_096);
    assert_eq!(
        error.to_string(),
        "ai_rate_limited: acme: asking for an answer (status 429) (request req-1)"
    );
    let said = AiError::new(AiErrorKind::InvalidRequest, "acme", "asking")
        .with_body("This model's maximum context length is 8192 tokens");
    assert!(said.is_context_overflow());
    assert!(!said.with_context_overflow(false).is_context_overflow());
}

#[test]
fn the_words_of_an_event_are_shared_and_not_copied() {
    let event = |content: EventContent| {
        let now = "2026-11-30T08:00:00Z".parse().unwrap();
        Arc::new(RoomEvent::new("room", EventSource::system(), content, now))
    };
    let said = event(EventContent::text("attack at dawn"));
    let text = SharedText::of_event(&said).unwrap();
    assert_eq!(text, "attack at dawn");
    assert_eq!(text.as_str().as_ptr(), said.text().unwrap().as_ptr());
    assert_eq!(text.clone(), SharedText::from("attack at dawn"));
    assert!(!format!("{text:?}").contains("dawn"));
    assert_eq!(
        serde_json::to_value(&text).unwrap(),
        json!("attack at dawn")
    );
    assert_eq!(String::from(text), "attack at dawn");
    let place = event(EventContent::system("notice", "not said by anybody"));
    assert!(SharedText::of_event(&place).is_none());
}

#[test]
fn parts_are_filled_as_a_list_is() {
    let mut parts = Parts::new();
    assert!(parts.is_empty());
    for text in ["b", "c"] {
        parts.push(Part::text(text));
    }
    parts.insert(0, Part::text("a"));
    parts.insert(9, Part::text("d"));
    assert_eq!(parts, ["a", "b", "c", "d"].map(Part::text));
    parts.retain(|part| *part == Part::text("c"));
    // One that is alone reads and goes on as any other.
    let one = Parts::from(Part::text("c"));
    assert_eq!(parts, one);
    let mut more = one.clone();
    more.extend([Part::text("d")]);
    assert_eq!((one.len(), more.len()), (1, 2));
    assert_eq!(
        more.into_iter().collect::<Vec<_>>(),
        ["c", "d"].map(Part::text)
    );
    let json = serde_json::to_value(&one).unwrap();
    assert_eq!(json, json!([{ "type": "text", "text": "c" }]));
    assert_eq!(serde_json::from_value::<Parts>(json).unwrap(), one);
    assert_eq!(one.into_iter().count(), 1);
}
