//! What a stream brings besides the usual answer.

use futures_util::StreamExt;
use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiProvider, AiResponse, FinishReason, StreamEvent, Usage};
use roomkit_ai_anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit_testkit::ai::{Reply, VendorServer, WireFrame};
use serde_json::{Value, json};

use crate::messages_wire::{event, events};
use crate::requests::asking;

type Answer = Vec<roomkit_ai::Result<StreamEvent>>;

async fn answer(frames: &[WireFrame]) -> Answer {
    let server = VendorServer::start().await;
    server.reply([Reply::stream(Framing::Events, frames)]);
    let config = AnthropicConfig::new("m").base_url(server.base_url());
    let provider = AnthropicProvider::new(config).unwrap();
    let events = provider.generate_stream(&asking()).await;
    events.unwrap().collect().await
}

async fn whole(blocks: &[(Value, Vec<Value>)], reason: &str, used: Usage) -> AiResponse {
    let events = answer(&events(blocks, Some(reason), &used)).await;
    AiResponse::of(events.into_iter().map(Result::unwrap))
}

#[tokio::test]
async fn a_call_that_the_limit_cut_is_not_taken_for_one() {
    let block = json!({ "type": "tool_use", "id": "a", "name": "look", "input": {} });
    let delta = json!({ "type": "input_json_delta", "partial_json": "{\"at\":" });
    let answer = whole(&[(block, vec![delta])], "max_tokens", Usage::default()).await;
    assert_eq!(answer.finish_reason, Some(FinishReason::Length));
    assert!(answer.tool_calls[0].arguments.problem().is_some());
}

#[tokio::test]
async fn blocks_and_deltas_of_others_are_left_alone() {
    let delta = json!({ "type": "text_delta", "text": "Yes." });
    let citation = json!({ "type": "citations_delta", "citation": { "cited_text": "No." } });
    let answer = whole(
        &[
            (
                json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} }),
                vec![json!({ "type": "input_json_delta", "partial_json": "{}" })],
            ),
            (
                json!({ "type": "web_search_tool_result", "content": [{ "title": "No." }] }),
                Vec::new(),
            ),
            (json!({ "type": "text", "text": "" }), vec![citation, delta]),
        ],
        "pause_turn",
        Usage::default(),
    )
    .await;
    assert_eq!(answer.text, "Yes.");
    assert!(answer.tool_calls.is_empty() && answer.thinking.is_none());
    let reason = answer.finish_reason.unwrap();
    assert_eq!(reason.code(), "pause_turn");
}

#[tokio::test]
async fn each_counter_is_that_of_its_last_report() {
    let used = Usage::new(7, 9).cached(3, 5);
    let block = json!({ "type": "text", "text": "Yes." });
    let answer = whole(&[(block, Vec::new())], "end_turn", used).await;
    assert_eq!(answer.text, "Yes.");
    assert_eq!(answer.usage, used);
}

#[tokio::test]
async fn a_failure_amid_an_answer_says_what_it_is() {
    let said = [
        json!({ "type": "message_start", "message": {} }),
        json!({
            "type": "content_block_start", "index": 0,
            "content_block": { "type": "text", "text": "Ye" },
        }),
    ];
    for (kind, expected) in [
        ("rate_limit_error", AiErrorKind::RateLimited),
        ("timeout_error", AiErrorKind::Timeout),
        ("api_error", AiErrorKind::Overloaded),
        ("invalid_request_error", AiErrorKind::InvalidRequest),
        ("of_a_later_version", AiErrorKind::Overloaded),
    ] {
        let error = json!({ "type": "error", "error": { "type": kind, "message": "oh" } });
        let mut frames: Vec<_> = said.iter().cloned().map(event).collect();
        frames.push(event(error));
        let last = answer(&frames).await.pop().unwrap();
        let error = last.unwrap_err();
        assert_eq!(error.kind(), expected, "{kind}");
        assert!(error.body().unwrap().contains(kind));
    }
}

#[tokio::test]
async fn an_answer_of_endless_blocks_is_given_up() {
    let block = || (json!({ "type": "text", "text": "a" }), Vec::new());
    let blocks: Vec<_> = std::iter::repeat_with(block).take(2_000).collect();
    let mut events = answer(&events(&blocks, Some("end_turn"), &Usage::default())).await;
    let error = events.pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), AiErrorKind::InvalidResponse);
}
