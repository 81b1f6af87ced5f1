//! Chat Completions as a wire, for the many providers that speak them.
//!
//! Shapes are those of OpenAI's API reference: "Create chat completion", "The chat completion object", "The
//! chat completion chunk object", "List models" and "Error codes", as read on 2026-11-30. `reasoning_content` is
//! of servers that speak the same, such as DeepSeek's and vLLM, and so are the quirks.

use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiResponse, ToolCall, Usage};
use serde_json::{Value, json};

use super::server::Asked;
use super::wire::{Quirk, Told, Wire, WireFrame, cut, written};

/// The wire of Chat Completions.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ChatCompletionsWire;

impl ChatCompletionsWire {
    /// The wire.
    #[must_use]
    pub const fn new() -> Self {
        Self
    }
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The text and the pictures of a message's content.
fn content(content: &Value) -> (String, Vec<String>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let url = |part: &Value| part["image_url"]["url"].as_str().map(str::to_owned);
    (texts.join("\n"), parts.iter().filter_map(url).collect())
}

fn usage(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.total_input_tokens(), "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_input_tokens() + usage.output_tokens,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_input_tokens, "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens, "audio_tokens": 0,
        },
    })
}

fn reason(answer: &AiResponse) -> Value {
    answer
        .finish_reason
        .as_ref()
        .map(|reason| reason.code())
        .into()
}

fn chunk(delta: &Value, finish_reason: &Value) -> WireFrame {
    WireFrame::json(json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model-a",
        "service_tier": "default", "system_fingerprint": "fp_1", "usage": null,
        "choices": [{
            "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish_reason,
        }],
    }))
}

fn bare(delta: &Value) -> WireFrame {
    WireFrame::json(json!({ "choices": [{ "delta": delta }], "usage": {} }))
}

/// The pieces of one call.
fn pieces(at: usize, call: &ToolCall, quirk: Quirk) -> Vec<Value> {
    let (mut indexed, mut identified) = (Some(at), true);
    match quirk {
        Quirk::ReusedIndexes => indexed = Some(0),
        Quirk::NoIndexes => indexed = None,
        Quirk::NoIds => identified = false,
        Quirk::NoIndexesNorIds => (indexed, identified) = (None, false),
        _ => {}
    }
    let mut arguments = match quirk {
        Quirk::WholeCalls => vec![written(&call.arguments)],
        _ => cut(&written(&call.arguments), 3),
    };
    if !matches!(
        quirk,
        Quirk::WholeCalls | Quirk::LateNames | Quirk::RepeatedNames
    ) {
        // The first piece names the call alone.
        arguments.insert(0, String::new());
    }
    let count = arguments.len();
    let of_piece = |(number, arguments): (usize, String)| {
        let mut piece = json!({ "function": { "arguments": arguments } });
        let is_first = number == 0;
        if let Some(index) = indexed {
            piece["index"] = index.into();
        }
        if (is_first || quirk == Quirk::RepeatedNames) && identified {
            piece["id"] = call.id.as_str().into();
            piece["type"] = "function".into();
        }
        let is_named = match quirk {
            Quirk::RepeatedNames => true,
            Quirk::LateNames => number == 1 || count == 1,
            _ => is_first,
        };
        if is_named {
            piece["function"]["name"] = call.name.as_str().into();
        }
        piece
    };
    arguments.into_iter().enumerate().map(of_piece).collect()
}

impl Wire for ChatCompletionsWire {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn whole(&self, answer: &AiResponse) -> Value {
        let call = |call: &ToolCall| {
            json!({
                "id": call.id, "type": "function",
                "function": { "name": call.name, "arguments": written(&call.arguments) },
            })
        };
        let mut message = json!({
            "role": "assistant", "content": null, "refusal": null, "annotations": [],
        });
        if !answer.text.is_empty() {
            message["content"] = answer.text.as_str().into();
        }
        if let Some(thinking) = &answer.thinking {
            message["reasoning_content"] = thinking.as_str().into();
        }
        if !answer.tool_calls.is_empty() {
            message["tool_calls"] = answer.tool_calls.iter().map(call).collect();
        }
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "model-a",
            "choices": [{
                "index": 0, "message": message, "logprobs": null, "finish_reason": reason(answer),
            }],
            "usage": usage(&answer.usage), "service_tier": "default",
        })
    }

    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>> {
        let texts = || cut(&answer.text, 5).into_iter();
        if quirk == Quirk::Bare {
            let mut frames: Vec<_> = texts()
                .map(|text| bare(&json!({ "content": text })))
                .collect();
            frames.push(WireFrame::word("[DONE]"));
            return Some(frames);
        }
        let mut deltas = vec![json!({ "role": "assistant", "content": "", "refusal": null })];
        if let Some(thinking) = &answer.thinking {
            let pieces = cut(thinking, 3).into_iter();
            deltas
                .extend(pieces.map(|piece| json!({ "reasoning_content": piece, "content": null })));
        }
        if !answer.text.is_empty() {
            deltas.extend(texts().map(|text| json!({ "content": text })));
        }
        let calls = answer.tool_calls.iter().enumerate();
        let mut calls: Vec<_> = calls.map(|(at, call)| pieces(at, call, quirk)).collect();
        if quirk == Quirk::None {
            // With an index each, they may come by turns.
            while calls.iter().any(|pieces| !pieces.is_empty()) {
                for pieces in calls.iter_mut().filter(|pieces| !pieces.is_empty()) {
                    deltas.push(json!({ "tool_calls": [pieces.remove(0)] }));
                }
            }
        } else {
            let pieces = calls.into_iter().flatten();
            deltas.extend(pieces.map(|piece| json!({ "tool_calls": [piece] })));
        }
        let mut frames: Vec<_> = deltas
            .iter()
            .map(|delta| chunk(delta, &Value::Null))
            .collect();
        frames.push(chunk(&json!({}), &reason(answer)));
        if quirk != Quirk::NoEnd {
            frames.push(WireFrame::json(json!({
                "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
                "model": "model-a", "choices": [], "usage": usage(&answer.usage),
            })));
            frames.push(WireFrame::word("[DONE]"));
        }
        Some(frames)
    }

    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value) {
        let (status, kind, code) = match kind {
            AiErrorKind::Unauthorized => (401, "invalid_request_error", Some("invalid_api_key")),
            AiErrorKind::NotFound => (404, "invalid_request_error", Some("model_not_found")),
            AiErrorKind::RateLimited => (429, "tokens", Some("rate_limit_exceeded")),
            AiErrorKind::ContextOverflow => {
                let code = "context_length_exceeded";
                (400, "invalid_request_error", Some(code))
            }
            AiErrorKind::Overloaded => (503, "server_error", None),
            _ => (400, "invalid_request_error", None),
        };
        let error = json!({ "message": message, "type": kind, "param": null, "code": code });
        (status, json!({ "error": error }))
    }

    fn failure(&self) -> Option<WireFrame> {
        let error = json!({ "message": "oh", "type": "server_error", "param": null, "code": null });
        Some(WireFrame::json(json!({ "error": error })))
    }

    fn keep_alives(&self) -> Vec<WireFrame> {
        vec![WireFrame::comment("PROCESSING")]
    }

    fn models(&self, ids: &[&str]) -> Option<Value> {
        let model =
            |id: &&str| json!({ "id": id, "object": "model", "created": 1, "owned_by": "o" });
        let data: Vec<Value> = ids.iter().map(model).collect();
        Some(json!({ "object": "list", "data": data }))
    }

    fn request_id_header(&self) -> Option<&str> {
        Some("x-request-id")
    }

    fn credential(&self, asked: &Asked) -> Option<String> {
        let value = asked.header("authorization")?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    }

    fn conversation(&self, body: &Value) -> Vec<Told> {
        let mut told = Vec::new();
        for message in body["messages"].as_array().unwrap() {
            let (said, pictures) = content(&message["content"]);
            match text(message, "role") {
                "system" => told.push(Told::System(said)),
                "user" => told.push(Told::User(said, pictures)),
                "tool" => {
                    let id = text(message, "tool_call_id").to_owned();
                    told.push(Told::Result(id, said, pictures));
                }
                "assistant" => {
                    if !message["content"].is_null() {
                        told.push(Told::Assistant(said));
                    }
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        assert_eq!(call["type"], "function");
                        let function = &call["function"];
                        told.push(Told::Call(
                            text(call, "id").to_owned(),
                            text(function, "name").to_owned(),
                            serde_json::from_str(text(function, "arguments")).unwrap(),
                        ));
                    }
                }
                other => panic!("a message of {other:?}"),
            }
        }
        told
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        tools
            .map(|tool| {
                assert!(tool["function"]["parameters"].is_object());
                text(&tool["function"], "name").to_owned()
            })
            .collect()
    }
}
