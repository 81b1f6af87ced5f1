//! What is sent follows from the model, the address and the settings; the settings win.

use roomkit_ai::{
    AiContext, AiErrorKind, AiMessage, AiProvider, AiResponse, Part, Role, ToolArguments, ToolCall,
    ToolDefinition, ToolResult, Usage,
};
use roomkit_ai_anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit_testkit::ai::{Asked, Reply, VendorServer, Wire};
use serde_json::{Value, json};

use crate::messages_wire::MessagesWire;

pub(crate) async fn asked(
    server: &VendorServer,
    config: AnthropicConfig,
    context: &AiContext,
) -> Asked {
    server.reply([Reply::json(
        200,
        &MessagesWire.whole(&AiResponse::text("Yes.")),
    )]);
    let provider = AnthropicProvider::new(config.base_url(server.base_url())).unwrap();
    let answer = provider.generate(context).await.unwrap();
    assert_eq!(answer.text, "Yes.");
    server.take_asked().remove(0)
}

pub(crate) async fn sent(config: AnthropicConfig, context: &AiContext) -> Value {
    let server = VendorServer::start().await;
    asked(&server, config, context).await.body
}

pub(crate) fn asking() -> AiContext {
    AiContext::new([AiMessage::user("Well?")])
}

fn plain(model: &str) -> AnthropicConfig {
    AnthropicConfig::new(model).enable_prompt_caching(false)
}

#[tokio::test]
async fn another_address_gets_the_plainest_form() {
    let mut context = asking();
    context.temperature = Some(0.7);
    let body = sent(plain("claude-opus-5-5"), &context).await;
    let well = json!({ "role": "user", "content": [{ "type": "text", "text": "Well?" }] });
    let expected = json!({
        "model": "claude-opus-5-5", "max_tokens": 1024, "temperature": 0.7, "messages": [well],
    });
    assert_eq!(body, expected);
    let config = plain("claude-opus-5-5")
        .supports_custom_temperature(false)
        .reasoning_effort("low")
        .max_tokens(5)
        .extra_body("top_k", 20)
        .extra_body("model", "another");
    let body = sent(config, &context).await;
    let expected = json!({
        "model": "claude-opus-5-5", "max_tokens": 5, "output_config": { "effort": "low" },
        "top_k": 20, "messages": [well],
    });
    assert_eq!(body, expected);
}

#[tokio::test]
async fn the_turns_settings_win_over_the_configured() {
    let config = plain("m")
        .max_tokens(5)
        .temperature(0.1)
        .reasoning_effort("low");
    let mut context = asking();
    let body = sent(config.clone(), &context).await;
    assert_eq!(body["max_tokens"], 5);
    assert_eq!(body["temperature"], 0.1);
    assert_eq!(body["output_config"]["effort"], "low");
    context.reasoning_effort = Some("high".into());
    context.max_tokens = Some(7);
    context.temperature = Some(1.0);
    let body = sent(config, &context).await;
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["temperature"], 1.0);
    assert_eq!(body["output_config"]["effort"], "high");
}

/// Where a body is marked for the cache.
fn marks(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            if object.get("cache_control") == Some(&json!({ "type": "ephemeral" })) {
                found.push(at.to_owned());
            }
            for (key, value) in object {
                marks(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                marks(value, &format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn what_stays_the_same_is_marked_for_the_cache() {
    let call = ToolCall::new("toolu_1", "look", ToolArguments::default());
    let thinking = Part::Thinking {
        thinking: "Hm.".into(),
        signature: Some("c2ln".into()),
    };
    let tool = |name| ToolDefinition::new(name, "", ToolDefinition::nothing());
    let context = AiContext::new([
        AiMessage::user("Well?"),
        AiMessage::new(Role::Assistant, [thinking, Part::ToolCall(call.clone())]),
        AiMessage::tool([ToolResult::text(&call, "Seen.")]),
    ])
    .system_prompt("Be brief.")
    .tools(["look", "listen"].map(tool));
    let mut found = Vec::new();
    marks(
        &sent(AnthropicConfig::new("m"), &context).await,
        "",
        &mut found,
    );
    // Four at most, and never the thinking.
    let expected = [
        "/messages/1/content/1",
        "/messages/2/content/0",
        "/system/0",
        "/tools/1",
    ];
    assert_eq!(found, expected);
    found.clear();
    marks(&sent(plain("m"), &context).await, "", &mut found);
    assert!(found.is_empty());
}

#[tokio::test]
async fn what_the_vendor_would_refuse_is_not_sent() {
    let call = ToolCall::new("call:1/é", "look up!", ToolArguments::default());
    let nameless = ToolCall::new("call_2", "", ToolArguments::default());
    let context = AiContext::new([
        AiMessage::new(Role::System, [Part::text("It is late.")]),
        AiMessage::user(" \n"),
        AiMessage::user("Well?"),
        AiMessage::assistant(""),
        AiMessage::new(
            Role::Assistant,
            [&call, &nameless].map(|call| Part::ToolCall(call.clone())),
        ),
        AiMessage::tool([
            ToolResult::text(&call, ""),
            ToolResult::error(&nameless, "There is no such tool."),
        ]),
    ])
    .system_prompt("Be brief.");
    let body = sent(plain("m"), &context).await;
    let text = |text: &str| json!({ "type": "text", "text": text });
    assert_eq!(
        body["system"],
        json!([text("Be brief."), text("It is late.")])
    );
    let expected = json!([
        { "role": "user", "content": [text("Well?")] },
        { "role": "assistant", "content": [
            { "type": "tool_use", "id": "call_1__", "name": "look_up_", "input": {} },
            { "type": "tool_use", "id": "call_2", "name": "_", "input": {} },
        ] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "call_1__" },
            { "type": "tool_result", "tool_use_id": "call_2", "is_error": true,
              "content": [text("There is no such tool.")] },
        ] },
    ]);
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn pictures_go_by_address_or_as_data() {
    let picture = |url: &str, kind: Option<&str>| Part::Image {
        url: url.into(),
        mime_type: kind.map(Into::into),
    };
    let pictures = [
        picture("https://example.org/a.png", None),
        picture("data:image/webp;base64,AAAA", Some("image/png")),
        picture("data:;base64,AAAA", Some("image/gif")),
    ];
    let context = AiContext::new([AiMessage::new(Role::User, pictures)]);
    let body = sent(plain("claude-x"), &context).await;
    let sources: Vec<&Value> = body["messages"][0]["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| &block["source"])
        .collect();
    let data = |kind: &str| json!({ "type": "base64", "media_type": kind, "data": "AAAA" });
    let expected = [
        &json!({ "type": "url", "url": "https://example.org/a.png" }),
        &data("image/webp"),
        &data("image/gif"),
    ];
    assert_eq!(sources, expected);
    let body = sent(plain("m"), &context).await;
    assert_eq!(body["messages"][0]["content"][0]["text"], "[image]");
}

#[tokio::test]
async fn every_page_of_models_is_read() {
    let server = VendorServer::start().await;
    let page = |ids: &[&str], more: bool| {
        let mut page = MessagesWire.models(ids).unwrap();
        page["has_more"] = more.into();
        Reply::json(200, &page)
    };
    let provider =
        AnthropicProvider::new(plain("m").base_url(server.base_url()).api_key("sk-ant-1")).unwrap();
    server.reply([page(&["claude-opus-5", "b"], true), page(&["c"], false)]);
    let models = provider.list_models().await.unwrap();
    let ids: Vec<&str> = models.iter().map(|model| model.id.as_str()).collect();
    assert_eq!(ids, ["claude-opus-5", "b", "c"]);
    assert_eq!(models[1].context_window, Some(200_000));
    assert_eq!(models[1].supports_vision, Some(true));
    assert_eq!(models[1].capabilities, ["image_input", "thinking"]);
    assert!(models[0].pricing.is_some(), "from the catalogue");
    let paths: Vec<String> = server.take_asked().into_iter().map(|a| a.path).collect();
    assert_eq!(
        paths,
        ["/v1/models?limit=1000", "/v1/models?limit=1000&after_id=b"]
    );
    // A server that begins anew for ever is not followed for ever.
    server.reply(vec![page(&["a"], true); 30]);
    assert_eq!(provider.list_models().await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_limit_of_money_is_not_waited_for() {
    let server = VendorServer::start().await;
    let error = json!({ "type": "billing_error", "message": "no credit" });
    let refusal = Reply::json(402, &json!({ "type": "error", "error": error }));
    server.reply(vec![refusal; 3]);
    let provider = AnthropicProvider::new(plain("m").base_url(server.base_url())).unwrap();
    let error = provider.generate(&asking()).await.unwrap_err();
    assert_eq!(error.kind(), AiErrorKind::RateLimited);
    assert!(!error.is_retryable());
    assert_eq!(server.take_asked().len(), 1);
}

#[tokio::test]
async fn a_turn_without_a_key_is_not_sent_to_anthropic() {
    let provider = AnthropicProvider::new(AnthropicConfig::new("claude-opus-5-5")).unwrap();
    let error = provider.generate(&asking()).await.unwrap_err();
    assert_eq!(error.kind(), AiErrorKind::Unauthorized);
    assert!(error.message().starts_with("api_key"), "{error}");
}

#[test]
fn bad_settings_are_refused_by_name() {
    let new = AnthropicConfig::new;
    for (config, field) in [
        (new(""), "model"),
        (new("m").max_tokens(0), "max_tokens"),
        (new("m").temperature(1.1), "temperature"),
        (new("m").temperature(f32::NAN), "temperature"),
        (new("m").base_url("api.example.org"), "base_url"),
        (new("m").header("a b", "c"), "headers"),
        (new("m").header("a", "c\nd"), "headers"),
    ] {
        let error = AnthropicProvider::new(config).unwrap_err();
        assert_eq!(error.kind(), AiErrorKind::InvalidRequest);
        assert!(error.message().starts_with(field), "{error}");
    }
}

#[test]
fn a_configuration_file_names_the_model_and_nothing_unknown() {
    let read = |value: Value| serde_json::from_value::<AnthropicConfig>(value);
    let config = read(json!({
        "model": "claude-opus-5-5", "api_key": "sk-secret", "headers": { "x-tenant": "secret" },
        "http": { "total_timeout_ms": 5_000 },
    }));
    let config = config.unwrap();
    assert!(config.enable_prompt_caching);
    assert_eq!(config.http.total_timeout_ms, 5_000);
    let provider = AnthropicProvider::new(config.clone()).unwrap();
    let shown = format!("{config:?} {provider:?}");
    assert!(!shown.contains("secret"), "{shown}");
    assert!(read(json!({ "api_key": "k" })).is_err(), "no model");
    assert!(read(json!({ "model": "m", "modle": "m" })).is_err());
}

#[test]
fn what_a_model_can_do_and_costs_is_known_without_asking() {
    let provider = |model: &str| AnthropicProvider::new(AnthropicConfig::new(model)).unwrap();
    assert!(provider("claude-opus-5-5").capabilities().vision);
    assert!(provider("claude-opus-9").capabilities().vision, "by its id");
    assert!(!provider("m").capabilities().vision);
    let provider = provider("claude-opus-5-5");
    let pricing = provider.catalog_entry().unwrap().pricing.clone().unwrap();
    let used = Usage::new(1_000_000, 1_000_000).cached(1_000_000, 1_000_000);
    assert!((pricing.cost_for(&used) - 29.2).abs() < 1e-9);
}
