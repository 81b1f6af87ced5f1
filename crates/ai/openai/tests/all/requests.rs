//! What is sent follows from the model, the address and the settings; the settings win.

use roomkit_ai::{
    AiContext, AiErrorKind, AiMessage, AiProvider, AiResponse, Part, Role, ToolDefinition, Usage,
};
use roomkit_ai_openai::{OpenAiApi, OpenAiConfig, OpenAiProvider};
use roomkit_testkit::ai::{ChatCompletionsWire, Reply, VendorServer, Wire};
use serde_json::{Value, json};

use crate::responses_wire::ResponsesWire;

const CHAT: ChatCompletionsWire = ChatCompletionsWire::new();

async fn sent(server: &VendorServer, config: OpenAiConfig, context: &AiContext) -> Value {
    let wire: &dyn Wire = match config.api {
        OpenAiApi::Responses => &ResponsesWire,
        _ => &CHAT,
    };
    server.reply([Reply::json(200, &wire.whole(&AiResponse::text("Yes.")))]);
    let provider = OpenAiProvider::new(config.base_url(server.base_url())).unwrap();
    let answer = provider.generate(context).await.unwrap();
    assert_eq!(answer.text, "Yes.");
    server.take_asked().remove(0).body
}

fn asking() -> AiContext {
    let mut context = AiContext::new([AiMessage::user("Well?")]);
    context.temperature = Some(0.7);
    context.max_tokens = Some(100);
    context
}

#[tokio::test]
async fn settings_win_over_what_follows_from_the_model() {
    let server = VendorServer::start().await;
    // Another address than OpenAI's: the plainest form, whatever the model is called.
    let body = sent(&server, OpenAiConfig::new("gpt-5.4"), &asking()).await;
    let expected = json!({
        "model": "gpt-5.4", "messages": [{ "role": "user", "content": "Well?" }],
        "max_tokens": 100, "temperature": 0.7,
    });
    assert_eq!(body, expected);
    let config = OpenAiConfig::new("gpt-5.4")
        .use_max_completion_tokens(true)
        .supports_custom_temperature(false)
        .reasoning_effort("low")
        .extra_body("top_k", 20)
        .extra_body("model", "another");
    let body = sent(&server, config.clone(), &asking()).await;
    let expected = json!({
        "model": "gpt-5.4", "messages": [{ "role": "user", "content": "Well?" }],
        "max_completion_tokens": 100, "reasoning_effort": "low", "top_k": 20,
    });
    assert_eq!(body, expected);
    let tool = ToolDefinition::new("t", "", ToolDefinition::nothing());
    let body = sent(&server, config, &asking().tools([tool])).await;
    assert!(body.get("reasoning_effort").is_none());
}

#[tokio::test]
async fn the_turns_settings_win_over_the_configured() {
    let server = VendorServer::start().await;
    let config = OpenAiConfig::new("m")
        .max_tokens(5)
        .temperature(0.1)
        .reasoning_effort("low");
    let mut context = AiContext::new([AiMessage::user("Well?")]);
    let body = sent(&server, config.clone(), &context).await;
    assert_eq!(body["max_tokens"], 5);
    assert_eq!(body["temperature"], 0.1);
    assert_eq!(body["reasoning_effort"], "low");
    context.reasoning_effort = Some("high".into());
    context.max_tokens = Some(7);
    context.temperature = Some(1.0);
    let body = sent(&server, config, &context).await;
    assert_eq!(body["max_tokens"], 7);
    assert_eq!(body["temperature"], 1.0);
    assert_eq!(body["reasoning_effort"], "high");
}

#[tokio::test]
async fn responses_are_not_stored_and_their_reasoning_goes_back() {
    let server = VendorServer::start().await;
    let config = OpenAiConfig::new("gpt-5.4")
        .api(OpenAiApi::Responses)
        .reasoning_summary("auto")
        .reasoning_effort("low")
        .supports_custom_temperature(false);
    let provider = OpenAiProvider::new(config.clone().base_url(server.base_url())).unwrap();
    let mut thought = AiResponse::text("Yes.");
    thought.thinking = Some("Hm.".into());
    thought.usage = Usage::new(1, 2);
    server.reply([Reply::json(200, &ResponsesWire.whole(&thought))]);
    let answer = provider.generate(&asking()).await.unwrap();
    let body = server.take_asked().remove(0).body;
    assert_eq!(body["store"], false);
    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
    assert_eq!(
        body["reasoning"],
        json!({ "effort": "low", "summary": "auto" })
    );
    assert_eq!(body["max_output_tokens"], 100);
    assert!(body.get("temperature").is_none());

    let mut context = asking();
    let signature = answer.thinking_signature.clone();
    assert!(signature.is_some());
    let thinking = |signature| Part::Thinking {
        thinking: "Hm.".into(),
        signature,
    };
    let parts = [
        thinking(signature),
        thinking(Some("another vendor's".into())),
        Part::text(answer.text),
    ];
    context
        .messages
        .push(AiMessage::new(Role::Assistant, parts));
    let body = sent(&server, config, &context).await;
    let kinds: Vec<&str> = body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| {
            item["type"]
                .as_str()
                .unwrap_or_else(|| item["role"].as_str().unwrap())
        })
        .collect();
    assert_eq!(kinds, ["user", "reasoning", "message"]);
    let expected = json!({
        "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
        "summary": [{ "type": "summary_text", "text": "Hm." }],
    });
    assert_eq!(body["input"][1], expected);
}

#[tokio::test]
async fn servers_that_write_reasoning_into_the_text_get_it_back_there() {
    let server = VendorServer::start().await;
    let provider = OpenAiProvider::new(OpenAiConfig::new("m").base_url(server.base_url())).unwrap();
    let written = AiResponse::text("<think>Hm.</think>\n\nYes.");
    server.reply([Reply::json(200, &CHAT.whole(&written))]);
    let answer = provider.generate(&asking()).await.unwrap();
    assert_eq!(answer.thinking.as_deref(), Some("Hm."));
    assert_eq!(answer.text, "Yes.");
    server.take_asked();
    let parts = [
        Part::Thinking {
            thinking: "Hm.".into(),
            signature: None,
        },
        Part::text("Yes."),
    ];
    let mut context = asking();
    context
        .messages
        .push(AiMessage::new(Role::Assistant, parts));
    let body = sent(&server, OpenAiConfig::new("m"), &context).await;
    assert_eq!(body["messages"][1]["content"], "<think>Hm.</think>Yes.");
}

#[tokio::test]
async fn headers_name_the_organisation_and_what_a_proxy_wants() {
    let server = VendorServer::start().await;
    server.reply([Reply::json(200, &CHAT.whole(&AiResponse::text("Yes.")))]);
    let config = OpenAiConfig::new("m")
        .base_url(server.base_url())
        .organization("org-1")
        .project("proj-1")
        .header("x-proxy-key", "a secret of the proxy's");
    assert!(!format!("{config:?}").contains("secret"));
    let provider = OpenAiProvider::new(config).unwrap();
    assert!(!format!("{provider:?}").contains("secret"));
    provider.generate(&asking()).await.unwrap();
    let asked = server.take_asked().remove(0);
    assert_eq!(asked.header("openai-organization"), Some("org-1"));
    assert_eq!(asked.header("openai-project"), Some("proj-1"));
    assert_eq!(asked.header("x-proxy-key"), Some("a secret of the proxy's"));
    assert_eq!(asked.header("authorization"), None, "there is no key");
}

#[tokio::test]
async fn a_turn_without_a_key_is_not_sent_to_openai() {
    let provider = OpenAiProvider::new(OpenAiConfig::new("gpt-5.4")).unwrap();
    let error = provider.generate(&asking()).await.unwrap_err();
    assert_eq!(error.kind(), AiErrorKind::Unauthorized);
    assert!(error.message().starts_with("api_key"), "{error}");
}

#[test]
fn bad_settings_are_refused_by_name() {
    let new = OpenAiConfig::new;
    for (config, field) in [
        (new(""), "model"),
        (new("m").max_tokens(0), "max_tokens"),
        (new("m").temperature(2.1), "temperature"),
        (new("m").temperature(f32::NAN), "temperature"),
        (new("m").base_url("api.example.org"), "base_url"),
        (new("m").base_url("ftp://example.org"), "base_url"),
        (new("m").base_url("https://example.org/?key=x"), "base_url"),
        (new("m").header("a b", "c"), "headers"),
        (new("m").header("a", "c\nd"), "headers"),
    ] {
        let error = OpenAiProvider::new(config).unwrap_err();
        assert_eq!(error.kind(), AiErrorKind::InvalidRequest);
        assert!(error.message().starts_with(field), "{error}");
    }
    let mut config = new("m");
    config.http.idle_timeout_ms = 0;
    let error = OpenAiProvider::new(config).unwrap_err();
    assert!(
        error.message().starts_with("http.idle_timeout_ms"),
        "{error}"
    );
}

#[test]
fn a_configuration_file_names_the_model_and_nothing_unknown() {
    let read = |value: Value| serde_json::from_value::<OpenAiConfig>(value);
    let config = read(json!({
        "model": "gpt-5.4", "api_key": "sk-secret", "api": "responses",
        "http": { "total_timeout_ms": 5_000 },
    }));
    let config = config.unwrap();
    assert_eq!(config.api, OpenAiApi::Responses);
    assert_eq!(config.http.total_timeout_ms, 5_000);
    assert_eq!(config.http.max_attempts, 3);
    assert!(!format!("{config:?}").contains("sk-secret"));
    assert!(read(json!({ "api_key": "k" })).is_err(), "no model");
    assert!(read(json!({ "model": "m", "modle": "m" })).is_err());
}

#[test]
fn what_a_model_can_do_is_known_without_asking() {
    let can = |config: OpenAiConfig| OpenAiProvider::new(config).unwrap().capabilities();
    assert!(can(OpenAiConfig::new("gpt-4o")).vision);
    assert!(
        can(OpenAiConfig::new("gpt-5-2026-01-01")).vision,
        "by its id"
    );
    assert!(!can(OpenAiConfig::new("gpt-3.5-turbo")).vision);
    assert!(can(OpenAiConfig::new("gpt-3.5-turbo").supports_vision(true)).vision);
    assert!(
        !can(OpenAiConfig::new("gpt-5.4")).thinking,
        "nothing is told of it"
    );
    let responses = |model: &str| OpenAiConfig::new(model).api(OpenAiApi::Responses);
    assert!(can(responses("gpt-5.4")).thinking);
    assert!(!can(responses("gpt-4.1")).thinking);
    assert!(!can(responses("gpt-5.4").reasoning_summary("none")).thinking);
    let provider = OpenAiProvider::new(OpenAiConfig::new("gpt-5.6-terra")).unwrap();
    let entry = provider.catalog_entry().unwrap();
    let cost = entry
        .pricing
        .as_ref()
        .unwrap()
        .cost_for(&Usage::new(1_000_000, 0));
    assert_eq!(cost, 4.0, "more than 272,000 tokens cost twice as much");
}
