//! What models write and what providers are told.

use roomkit_ai::{
    AiError, AiErrorKind, AiMessage, AiResponse, FinishReason, ModelPricing, Part, ResultPart,
    Role, StreamEvent, ToolArguments, ToolCall, ToolResult, Usage,
};
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
