//! What a server answers besides the usual: calls without ids, failures amid an answer, its own models.

use futures_util::StreamExt;
use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiProvider, AiResponse, FinishReason, StreamEvent, Usage};
use roomkit_ai_ollama::{OllamaConfig, OllamaProvider};
use roomkit_testkit::ai::{Reply, VendorServer, WireFrame};
use serde_json::{Value, json};

use crate::chat_wire::line;
use crate::requests::asking;

type Answer = Vec<roomkit_ai::Result<StreamEvent>>;

async fn answer(lines: Vec<Value>) -> Answer {
    let server = VendorServer::start().await;
    let frames: Vec<_> = lines.into_iter().map(WireFrame::json).collect();
    server.reply([Reply::stream(Framing::Lines, &frames)]);
    let config = OllamaConfig::new("m").base_url(server.base_url());
    let provider = OllamaProvider::new(config).unwrap();
    let events = provider.generate_stream(&asking()).await;
    events.unwrap().collect().await
}

#[tokio::test]
async fn calls_without_ids_are_told_apart_by_name_and_place() {
    let call = |id: Option<&str>, name: &str| json!({ "id": id, "function": { "name": name, "arguments": { "at": 1 } } });
    let calls = [
        call(None, "look"),
        call(Some(""), "look"),
        call(Some("call_9"), "listen"),
        call(Some("call_9"), "listen"),
        call(Some("call_look_5"), "look"),
        call(None, "look"),
        call(None, ""),
    ];
    let message = json!({ "role": "assistant", "content": "Well.", "tool_calls": calls });
    let mut last = line(json!({ "role": "assistant", "content": "" }));
    last["done"] = true.into();
    last["done_reason"] = "stop".into();
    let events = answer(vec![line(message), last]).await;
    // The text of a line comes before its calls.
    assert!(matches!(&events[0], Ok(StreamEvent::Text(text)) if text == "Well."));
    let answer = AiResponse::of(events.into_iter().map(Result::unwrap));
    let ids: Vec<&str> = answer.tool_calls.iter().map(|call| &*call.id).collect();
    let expected = [
        "call_look_0",
        "call_look_1",
        "call_9",
        "call_listen_3",
        "call_look_5",
        "call_look_6",
        "call__6",
    ];
    assert_eq!(ids, expected);
    assert_eq!(answer.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(answer.usage, Usage::default());
}

#[tokio::test]
async fn a_failure_amid_an_answer_says_what_it_is() {
    let said = || line(json!({ "role": "assistant", "content": "Ye" }));
    for (failure, expected) in [
        (json!({ "error": "oh" }), AiErrorKind::Overloaded),
        (
            json!({ "error": "oh", "status": 429 }),
            AiErrorKind::RateLimited,
        ),
        (
            json!({ "error": "oh", "status": 401 }),
            AiErrorKind::Unauthorized,
        ),
        (
            json!({ "error": "oh", "status": -1 }),
            AiErrorKind::Overloaded,
        ),
        (
            json!({ "error": "the prompt is longer than the context length currently available" }),
            AiErrorKind::ContextOverflow,
        ),
        (
            json!({ "error": { "message": "input exceeds the available context size" } }),
            AiErrorKind::ContextOverflow,
        ),
    ] {
        let mut events = answer(vec![said(), failure.clone()]).await;
        let error = events.pop().unwrap().unwrap_err();
        assert_eq!(error.kind(), expected, "{failure}");
        assert_eq!(error.body(), Some(&*failure.to_string()));
    }
}

#[tokio::test]
async fn too_many_calls_are_an_error() {
    let call = json!({ "function": { "name": "look", "arguments": {} } });
    let message = json!({ "role": "assistant", "tool_calls": vec![call; 200] });
    let mut events = answer(vec![line(message)]).await;
    let error = events.pop().unwrap().unwrap_err();
    assert_eq!(error.kind(), AiErrorKind::InvalidResponse);
}

#[tokio::test]
async fn the_servers_models_have_what_the_catalogue_knows() {
    let server = VendorServer::start().await;
    let models = json!({ "models": [
        { "name": "gemma3:12b", "model": "gemma3:12b", "capabilities": ["completion", "vision"] },
        { "name": "llava:7b" },
        { "model": "own", "capabilities": ["embedding"] },
        { "size": 1 },
    ] });
    server.reply([Reply::json(200, &models)]);
    let config = OllamaConfig::new("m").base_url(server.base_url());
    let provider = OllamaProvider::new(config.api_key("k-of-the-cloud")).unwrap();
    let models = provider.list_models().await.unwrap();
    let known: Vec<_> = models
        .iter()
        .map(|model| (&*model.id, model.context_window, model.supports_vision))
        .collect();
    let expected = [
        ("gemma3:12b", Some(128_000), Some(true)),
        ("llava:7b", Some(32_000), Some(true)),
        ("own", None, Some(false)),
    ];
    assert_eq!(known, expected);
    let asked = server.take_asked().remove(0);
    assert_eq!((&*asked.method, &*asked.path), ("GET", "/api/tags"));
    assert_eq!(asked.header("authorization"), Some("Bearer k-of-the-cloud"));
}
