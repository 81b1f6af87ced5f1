//! How a model is asked to think, and that what it thought goes back as it was and where it was.

use futures_util::StreamExt;
use roomkit_ai::http::Framing;
use roomkit_ai::{
    AiContext, AiMessage, AiProvider, AiResponse, Part, Role, ToolArguments, ToolCall, ToolResult,
    Usage,
};
use roomkit_ai_anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit_testkit::ai::{Reply, VendorServer};
use serde_json::{Value, json};

use crate::messages_wire::events;
use crate::requests::{asked, asking, sent};

fn plain() -> AnthropicConfig {
    AnthropicConfig::new("m").enable_prompt_caching(false)
}

#[tokio::test]
async fn a_budget_is_a_part_of_the_limit() {
    let enabled = |budget: u32| json!({ "type": "enabled", "budget_tokens": budget });
    for (budget, limit, expected) in [
        (Some(4_096), None, (5_120, enabled(4_096))),
        (Some(5), None, (2_048, enabled(1_024))),
        (None, None, (5_120, enabled(4_096))),
        (Some(4_096), Some(8_000), (8_000, enabled(4_096))),
        (Some(4_096), Some(2_000), (2_000, enabled(1_999))),
        (Some(4_096), Some(1_000), (1_000, Value::Null)),
    ] {
        let mut context = asking();
        context.thinking_budget = budget;
        context.enable_thinking = Some(true);
        context.max_tokens = limit;
        context.temperature = Some(0.5);
        let body = sent(plain(), &context).await;
        let what = format!("{budget:?} of {limit:?}");
        assert_eq!(
            (body["max_tokens"].clone(), body["thinking"].clone()),
            (expected.0.into(), expected.1.clone()),
            "{what}"
        );
        assert_eq!(
            body.get("temperature").is_some(),
            expected.1.is_null(),
            "{what}"
        );
    }
    let mut context = asking();
    context.thinking_budget = Some(0);
    context.enable_thinking = Some(true);
    assert!(sent(plain(), &context).await.get("thinking").is_none());
}

#[tokio::test]
async fn newer_models_think_as_they_see_fit() {
    let server = VendorServer::start().await;
    let config = plain().use_adaptive_thinking(true);
    let mut context = asking();
    context.thinking_budget = Some(4_096);
    let request = asked(&server, config.clone(), &context).await;
    let adaptive = json!({ "type": "adaptive", "display": "summarized" });
    assert_eq!(request.body["thinking"], adaptive);
    assert_eq!(request.body["max_tokens"], 5_120);
    assert_eq!(request.header("anthropic-beta"), None);
    // Where thinking is bound to what came before, the vendor is given leave to drop it.
    let config = config.drop_changed_thinking(true);
    let binding = "thinking-binding-controls-2026-08-01";
    for (own, expected) in [
        (None, binding.to_owned()),
        (Some("one,two"), format!("one,two,{binding}")),
        (Some(binding), binding.to_owned()),
    ] {
        let config = match own {
            Some(own) => config.clone().header("Anthropic-Beta", own),
            None => config.clone(),
        };
        let request = asked(&server, config, &context).await;
        let drops = &request.body["thinking"]["block_binding"]["prefix_mismatch_behavior"];
        assert_eq!(drops, "drop_block");
        assert_eq!(request.header("anthropic-beta"), Some(&*expected));
    }
}

/// What a server says in these blocks comes back whole and as it comes, and goes back as it was.
async fn round_trip(content: Value, deltas: Vec<(Value, Vec<Value>)>) -> AiResponse {
    let server = VendorServer::start().await;
    let provider = AnthropicProvider::new(plain().base_url(server.base_url())).unwrap();
    let whole = json!({
        "type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use",
        "usage": { "input_tokens": 1, "output_tokens": 2 },
    });
    let frames = events(&deltas, Some("tool_use"), &Usage::new(1, 2));
    server.reply([
        Reply::json(200, &whole),
        Reply::stream(Framing::Events, &frames),
    ]);
    let answer = provider.generate(&asking()).await.unwrap();
    let streamed = provider.generate_stream(&asking()).await.unwrap();
    let streamed: Vec<_> = streamed.map(Result::unwrap).collect().await;
    let streamed = AiResponse::of(streamed);
    assert_eq!(streamed.thinking, answer.thinking);
    assert_eq!(streamed.thinking_signature, answer.thinking_signature);
    assert_eq!(streamed.tool_calls, answer.tool_calls);

    let mut context = asking();
    context.messages.extend(said(&answer));
    let body = sent(plain(), &context).await;
    assert_eq!(body["messages"][1]["content"], content);
    // A model that is kept from thinking is not given thoughts.
    context.thinking_budget = Some(0);
    let body = sent(plain(), &context).await;
    let blocks = body["messages"][1]["content"].as_array().unwrap();
    assert!(blocks.iter().all(|block| block["type"] != "thinking"));
    answer
}

/// An answer as the conversation keeps it, with results for its calls.
fn said(answer: &AiResponse) -> [AiMessage; 2] {
    let mut parts = vec![Part::Thinking {
        thinking: answer.thinking.clone().unwrap_or_default(),
        signature: answer.thinking_signature.clone(),
    }];
    if !answer.text.is_empty() {
        parts.push(Part::text(answer.text.as_str()));
    }
    parts.extend(answer.tool_calls.iter().cloned().map(Part::ToolCall));
    let results = answer.tool_calls.iter();
    let results = results.map(|call| ToolResult::text(call, "Seen."));
    [
        AiMessage::new(Role::Assistant, parts),
        AiMessage::tool(results),
    ]
}

fn thinking(text: &str) -> (Value, (Value, Vec<Value>)) {
    let signature = format!("c2ln{text}");
    let whole = json!({ "type": "thinking", "thinking": text, "signature": signature });
    let start = json!({ "type": "thinking", "thinking": "", "signature": "" });
    let mut deltas = vec![json!({ "type": "signature_delta", "signature": signature })];
    if !text.is_empty() {
        deltas.insert(0, json!({ "type": "thinking_delta", "thinking": text }));
    }
    (whole, (start, deltas))
}

fn redacted() -> (Value, (Value, Vec<Value>)) {
    let block = json!({ "type": "redacted_thinking", "data": "c2VhbGVk" });
    (block.clone(), (block, Vec::new()))
}

fn text(text: &str) -> (Value, (Value, Vec<Value>)) {
    let delta = json!({ "type": "text_delta", "text": text });
    let start = json!({ "type": "text", "text": "" });
    (
        json!({ "type": "text", "text": text }),
        (start, vec![delta]),
    )
}

fn call(id: &str) -> (Value, (Value, Vec<Value>)) {
    let block =
        |input: Value| json!({ "type": "tool_use", "id": id, "name": "look", "input": input });
    let delta = json!({ "type": "input_json_delta", "partial_json": "{\"at\":1}" });
    (block(json!({ "at": 1 })), (block(json!({})), vec![delta]))
}

async fn blocks<const N: usize>(blocks: [(Value, (Value, Vec<Value>)); N]) -> AiResponse {
    let (whole, deltas): (Vec<Value>, Vec<_>) = blocks.into_iter().unzip();
    round_trip(whole.into(), deltas).await
}

#[tokio::test]
async fn thinking_goes_back_signed_as_it_was() {
    let answer = blocks([thinking("Hm."), text("Look."), call("a"), call("b")]).await;
    assert_eq!(answer.thinking.as_deref(), Some("Hm."));
    assert_eq!(answer.thinking_signature.as_deref(), Some("c2lnHm."));
    // Reasoning that the vendor does not tell is kept all the same.
    let answer = blocks([thinking(""), call("a")]).await;
    assert_eq!(answer.thinking_signature.as_deref(), Some("c2ln"));
}

#[tokio::test]
async fn redacted_and_interleaved_thinking_goes_back_in_its_place() {
    let answer = blocks([redacted(), text("Look."), call("a")]).await;
    assert!(answer.thinking.unwrap_or_default().is_empty());
    let answer = blocks([thinking("A"), redacted(), thinking("B"), call("a")]).await;
    assert_eq!(answer.thinking.as_deref(), Some("A\n\nB"));
    blocks([
        thinking("A"),
        text("Zürich: "),
        thinking("B"),
        call("a"),
        thinking("C"),
        text("雨?"),
        call("b"),
    ])
    .await;
    blocks([text("First."), thinking("A"), call("a")]).await;
}

#[tokio::test]
async fn thinking_comes_first_where_the_message_has_changed() {
    let mut answer = blocks([text("First."), thinking("A"), call("a")]).await;
    answer.text = "Edited: first.".into();
    let mut context = asking();
    context.messages.extend(said(&answer));
    let body = sent(plain(), &context).await;
    let kinds: Vec<&Value> = body["messages"][1]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["type"])
        .collect();
    assert_eq!(kinds, ["thinking", "text", "tool_use"]);
}

#[tokio::test]
async fn what_another_vendors_model_thought_is_not_sent() {
    let foreign = |signature: Option<&str>| Part::Thinking {
        thinking: "Hm.".into(),
        signature: signature.map(Into::into),
    };
    let sealed = r#"[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"eA=="}]"#;
    let asked = ToolCall::new("call_1", "look", ToolArguments::default());
    let parts = [
        foreign(Some(sealed)),
        Part::text("Look."),
        Part::ToolCall(asked.clone()),
    ];
    let mut context = AiContext::new([
        AiMessage::user("Well?"),
        AiMessage::new(Role::Assistant, parts),
        AiMessage::tool([ToolResult::text(&asked, "Seen.")]),
    ]);
    context.thinking_budget = Some(2_000);
    let body = sent(plain(), &context).await;
    assert_eq!(body["messages"][1]["content"].as_array().unwrap().len(), 2);
    // On a budget, the vendor refuses to think on amid calls whose thinking it is not shown.
    assert!(body.get("thinking").is_none());
    let config = plain().use_adaptive_thinking(true);
    let body = sent(config, &context).await;
    assert_eq!(body["thinking"]["type"], "adaptive");
    // Servers of one's own may sign nothing.
    context.messages[1].parts[0] = foreign(None);
    let body = sent(plain(), &context).await;
    let expected = json!({ "type": "thinking", "thinking": "Hm." });
    assert_eq!(body["messages"][1]["content"][0], expected);
}
