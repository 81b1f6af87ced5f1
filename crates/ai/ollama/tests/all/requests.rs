//! What is sent follows from the turn and the settings.

use roomkit_ai::{
    AiContext, AiErrorKind, AiMessage, AiProvider, AiResponse, Part, ResultPart, Role,
    ToolArguments, ToolCall, ToolResult,
};
use roomkit_ai_ollama::{KeepAlive, OllamaConfig, OllamaProvider, Think};
use roomkit_testkit::ai::{Asked, Reply, VendorServer, Wire};
use serde_json::{Value, json};

use crate::chat_wire::ChatWire;

async fn asked(config: OllamaConfig, context: &AiContext) -> Asked {
    let server = VendorServer::start().await;
    server.reply([Reply::json(200, &ChatWire.whole(&AiResponse::text("Yes.")))]);
    let provider = OllamaProvider::new(config.base_url(server.base_url())).unwrap();
    let answer = provider.generate(context).await.unwrap();
    assert_eq!(answer.text, "Yes.");
    server.take_asked().remove(0)
}

async fn sent(config: OllamaConfig, context: &AiContext) -> Value {
    asked(config, context).await.body
}

pub(crate) fn asking() -> AiContext {
    AiContext::new([AiMessage::user("Well?")])
}

#[tokio::test]
async fn nothing_is_sent_that_was_not_set() {
    let asked = asked(OllamaConfig::new("m"), &asking()).await;
    let expected = json!({
        "model": "m", "messages": [{ "role": "user", "content": "Well?" }], "stream": false,
    });
    assert_eq!(asked.body, expected);
    assert_eq!(asked.path, "/api/chat");
    assert_eq!(asked.header("authorization"), None, "there is no key");
}

#[tokio::test]
async fn settings_are_options_and_the_turns_win() {
    let config = OllamaConfig::new("m")
        .max_tokens(5)
        .temperature(0.1)
        .num_ctx(8_192)
        .top_p(0.9)
        .top_k(20)
        .min_p(0.0)
        .option("seed", 42)
        .option("num_ctx", 1)
        .keep_alive("5m")
        .header("x-proxy", "a secret");
    let body = sent(config.clone(), &asking()).await;
    let options = json!({
        "num_predict": 5, "temperature": 0.1, "num_ctx": 8_192, "top_p": 0.9, "top_k": 20,
        "min_p": 0.0, "seed": 42,
    });
    assert_eq!(body["options"], options);
    assert_eq!(body["keep_alive"], "5m");
    let mut context = asking();
    context.max_tokens = Some(7);
    context.temperature = Some(0.7);
    let asked = asked(config.keep_alive(-1), &context).await;
    assert_eq!(asked.body["options"]["num_predict"], 7);
    assert_eq!(asked.body["options"]["temperature"], 0.7);
    assert_eq!(asked.body["keep_alive"], -1);
    assert_eq!(asked.header("x-proxy"), Some("a secret"));
}

#[tokio::test]
async fn whether_it_thinks_is_decided_by_the_first_that_says() {
    let level = |level: &str| Some(Think::from(level));
    let (yes, no) = (Some(Think::from(true)), Some(Think::from(false)));
    // Budget, switch and effort of the turn, the settings, and what is sent.
    type Case<'c> = (
        Option<u32>,
        Option<bool>,
        Option<&'c str>,
        Option<Think>,
        Value,
    );
    let cases: [Case<'_>; 14] = [
        (None, None, None, None, Value::Null),
        (None, None, None, yes.clone(), true.into()),
        (None, None, None, no.clone(), false.into()),
        (None, None, None, level("high"), "high".into()),
        (Some(0), None, None, None, false.into()),
        (
            Some(0),
            Some(true),
            Some("low"),
            level("high"),
            false.into(),
        ),
        (Some(1), None, None, None, true.into()),
        (Some(1), Some(false), None, no.clone(), true.into()),
        (Some(1), None, None, level("high"), "high".into()),
        (Some(1), None, Some("low"), level("high"), "low".into()),
        (None, Some(false), Some("low"), yes.clone(), false.into()),
        (None, Some(true), None, no.clone(), true.into()),
        (None, None, Some("low"), level("high"), "low".into()),
        (None, None, Some("low"), no, "low".into()),
    ];
    for (budget, switch, effort, think, expected) in cases {
        let mut context = asking();
        context.thinking_budget = budget;
        context.enable_thinking = switch;
        context.reasoning_effort = effort.map(Into::into);
        let mut config = OllamaConfig::new("m");
        config.think = think.clone();
        let body = sent(config, &context).await;
        assert_eq!(
            body["think"], expected,
            "{budget:?} {switch:?} {effort:?} {think:?}"
        );
    }
}

#[tokio::test]
async fn what_it_thought_and_called_goes_back_beside_what_it_said() {
    let call = |id: &str, name: &str| {
        let mut call = ToolCall::new(id, name, ToolArguments::default());
        call.arguments = ToolArguments::parse(r#"{"at":1}"#);
        call
    };
    let calls = [call("call_look_0", "look"), call("call_listen_1", "listen")];
    let parts = [
        Part::Thinking {
            thinking: "Hm.".into(),
            signature: Some("another vendor's".into()),
        },
        Part::text("Look."),
        Part::ToolCall(calls[0].clone()),
        Part::ToolCall(calls[1].clone()),
    ];
    let mut seen = ToolResult::text(&calls[0], "Seen.");
    seen.parts.push(ResultPart::Image {
        url: "data:image/png;base64,AAAA".into(),
        mime_type: None,
    });
    let context = AiContext::new([
        AiMessage::new(Role::Assistant, parts),
        AiMessage::tool([seen, ToolResult::error(&calls[1], "Deaf.")]),
        AiMessage::new(Role::System, [Part::text("It is late.")]),
        AiMessage::assistant(""),
    ]);
    let called = |id: &str, index: usize, name: &str| {
        json!({
            "id": id, "type": "function",
            "function": { "index": index, "name": name, "arguments": { "at": 1 } },
        })
    };
    let result = |id: &str, name: &str, text: &str| json!({ "role": "tool", "tool_name": name, "tool_call_id": id, "content": text });
    let expected = json!([
        {
            "role": "assistant", "content": "Look.", "thinking": "Hm.",
            "tool_calls": [called("call_look_0", 0, "look"), called("call_listen_1", 1, "listen")],
        },
        result("call_look_0", "look", "Seen."),
        result("call_listen_1", "listen", "Deaf."),
        // After all results, so that each call has its own next to it.
        { "role": "user", "content": "", "images": ["AAAA"] },
        { "role": "system", "content": "It is late." },
    ]);
    let body = sent(OllamaConfig::new("m"), &context).await;
    assert_eq!(body["messages"], expected);
}

#[tokio::test]
async fn pictures_that_cannot_be_sent_are_named() {
    let picture = |url: &str| Part::Image {
        url: url.into(),
        mime_type: None,
    };
    let by_address = "https://example.org/a.png";
    let call = ToolCall::new("call_1", "look", ToolArguments::default());
    let mut result = ToolResult::text(&call, "Seen.");
    result.parts.push(ResultPart::Image {
        url: by_address.into(),
        mime_type: None,
    });
    let context = AiContext::new([
        AiMessage::new(Role::User, [picture(by_address)]),
        AiMessage::new(Role::Assistant, [Part::ToolCall(call)]),
        AiMessage::tool([result]),
    ]);
    let body = sent(OllamaConfig::new("m"), &context).await;
    let contents: Vec<&Value> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["content"])
        .collect();
    assert_eq!(contents, ["[image]", "", "Seen.\n[image]"]);
}

#[test]
fn bad_settings_are_refused_by_name() {
    let new = OllamaConfig::new;
    for (config, field) in [
        (new(""), "model"),
        (new("m").max_tokens(0), "max_tokens"),
        (new("m").num_ctx(0), "num_ctx"),
        (new("m").temperature(-0.1), "temperature"),
        (new("m").temperature(f32::INFINITY), "temperature"),
        (new("m").top_p(1.1), "top_p"),
        (new("m").min_p(f32::NAN), "min_p"),
        (new("m").think(" "), "think"),
        (new("m").keep_alive("5 minutes"), "keep_alive"),
        (new("m").keep_alive("m"), "keep_alive"),
        (new("m").keep_alive(""), "keep_alive"),
        (new("m").base_url("localhost:11434"), "base_url"),
        (new("m").header("a b", "c"), "headers"),
    ] {
        let error = OllamaProvider::new(config).unwrap_err();
        assert_eq!(error.kind(), AiErrorKind::InvalidRequest);
        assert!(error.message().starts_with(field), "{field}: {error}");
    }
    for keep in ["5m", "1h30m", "1.5h", "-1m", "100ms", "0", "-1"] {
        let config = new("m").keep_alive(keep);
        assert!(OllamaProvider::new(config).is_ok(), "{keep}");
    }
}

#[test]
fn a_configuration_file_is_as_the_specification_writes_it() {
    let read = |value: Value| serde_json::from_value::<OllamaConfig>(value);
    let config = read(json!({
        "host": "http://gpu:11434", "model": "qwen3:8b", "max_tokens": null, "temperature": 0.7,
        "think": null, "keep_alive": "5m", "num_ctx": 8_192, "api_key": "secret",
    }));
    let config = config.unwrap();
    assert_eq!(config.base_url, "http://gpu:11434");
    assert_eq!(config.think, None);
    assert_eq!(config.keep_alive, Some(KeepAlive::Duration("5m".into())));
    let provider = OllamaProvider::new(config.clone()).unwrap();
    assert!(!format!("{config:?} {provider:?}").contains("secret"));
    for (think, expected) in [
        (json!(true), Think::Switch(true)),
        (json!("low"), Think::Level("low".into())),
    ] {
        let config = read(json!({ "model": "m", "think": think })).unwrap();
        assert_eq!(config.think, Some(expected));
    }
    for (keep, expected) in [(json!(-1), -1), (json!("0"), 0)] {
        let config = read(json!({ "model": "m", "keep_alive": keep })).unwrap();
        assert_eq!(config.keep_alive, Some(KeepAlive::Seconds(expected)));
    }
    assert!(
        read(json!({ "host": "http://gpu:11434" })).is_err(),
        "no model"
    );
    assert!(read(json!({ "model": "m", "modle": "m" })).is_err());
}

#[test]
fn the_window_is_what_the_model_is_run_with() {
    let window = |config: OllamaConfig| {
        let provider = OllamaProvider::new(config).unwrap();
        let entry = provider.catalog_entry()?;
        entry.context_window
    };
    assert_eq!(window(OllamaConfig::new("qwen3:8b")), Some(40_000));
    let small = OllamaConfig::new("qwen3:8b").num_ctx(2_048);
    assert_eq!(window(small), Some(2_048));
    assert_eq!(window(OllamaConfig::new("own").num_ctx(4_096)), Some(4_096));
    assert_eq!(window(OllamaConfig::new("own")), None);
}
