//! The Messages API as Anthropic documents it (platform.claude.com/docs: "Create a Message", "Streaming messages",
//! "Stop reasons and fallback", "Claude API errors", "List Models", as read on 2026-11-30). Quirks are of servers
//! that speak the same.

use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiResponse, FinishReason, ToolCall, Usage};
use roomkit_testkit::ai::{Asked, Quirk, Told, Wire, WireFrame, cut, written};
use serde_json::{Value, json};

pub(crate) struct MessagesWire;

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens,
        "cache_creation_input_tokens": usage.cache_creation_input_tokens,
        "cache_read_input_tokens": usage.cache_read_input_tokens,
        "cache_creation": { "ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0 },
        "service_tier": "standard",
    })
}

fn reason(answer: &AiResponse) -> Option<&str> {
    answer.finish_reason.as_ref().map(|reason| match reason {
        FinishReason::Stop => "end_turn",
        FinishReason::ToolCalls => "tool_use",
        FinishReason::Length => "max_tokens",
        FinishReason::ContentFilter => "refusal",
        other => other.code(),
    })
}

fn message(content: Value, reason: Option<&str>, usage: Value) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "model-a",
        "content": content, "stop_reason": reason, "stop_sequence": null, "stop_details": null,
        "usage": usage,
    })
}

/// An event as documented: its name is its type, too.
pub(crate) fn event(data: Value) -> WireFrame {
    let name = word(&data, "type").to_owned();
    WireFrame::json(data).named(name)
}

/// The frames of an answer of these blocks, each with the deltas that fill it.
pub(crate) fn events(
    blocks: &[(Value, Vec<Value>)],
    reason: Option<&str>,
    used: &Usage,
) -> Vec<WireFrame> {
    let start = message(
        json!([]),
        None,
        json!({ "input_tokens": used.input_tokens }),
    );
    let mut frames = vec![event(json!({ "type": "message_start", "message": start }))];
    for (index, (block, deltas)) in blocks.iter().enumerate() {
        frames.push(event(json!({
            "type": "content_block_start", "index": index, "content_block": block,
        })));
        frames.extend(deltas.iter().map(|delta| {
            event(json!({ "type": "content_block_delta", "index": index, "delta": delta }))
        }));
        frames.push(event(
            json!({ "type": "content_block_stop", "index": index }),
        ));
    }
    frames.push(event(json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": usage(used),
    })));
    frames.push(event(json!({ "type": "message_stop" })));
    frames
}

fn blocks(answer: &AiResponse, quirk: Quirk) -> Vec<(Value, Vec<Value>)> {
    let mut blocks = Vec::new();
    if let Some(thinking) = &answer.thinking {
        let pieces = cut(thinking, 3).into_iter();
        let mut deltas: Vec<Value> = pieces
            .map(|piece| json!({ "type": "thinking_delta", "thinking": piece }))
            .collect();
        deltas.push(json!({ "type": "signature_delta", "signature": "c2lnbmVk" }));
        let block = json!({ "type": "thinking", "thinking": "", "signature": "" });
        blocks.push((block, deltas));
    }
    if !answer.text.is_empty() {
        let pieces = cut(&answer.text, 5).into_iter();
        let deltas = pieces.map(|piece| json!({ "type": "text_delta", "text": piece }));
        blocks.push((json!({ "type": "text", "text": "" }), deltas.collect()));
    }
    for call in &answer.tool_calls {
        let mut block = json!({
            "type": "tool_use", "id": call.id, "name": call.name, "input": {},
        });
        if matches!(quirk, Quirk::NoIds | Quirk::NoIndexesNorIds) {
            block.as_object_mut().unwrap().remove("id");
        }
        let mut deltas = vec![json!({ "type": "input_json_delta", "partial_json": "" })];
        if quirk == Quirk::WholeCalls {
            deltas.clear();
            block["input"] = call.arguments.to_object().into_owned().into();
        } else {
            let pieces = cut(&written(&call.arguments), 3).into_iter();
            deltas.extend(
                pieces.map(|piece| json!({ "type": "input_json_delta", "partial_json": piece })),
            );
        }
        blocks.push((block, deltas));
    }
    blocks
}

impl Wire for MessagesWire {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn whole(&self, answer: &AiResponse) -> Value {
        let mut content = Vec::new();
        if let Some(thinking) = &answer.thinking {
            content.push(json!({
                "type": "thinking", "thinking": thinking, "signature": "c2lnbmVk",
            }));
        }
        if !answer.text.is_empty() {
            content.push(json!({ "type": "text", "text": answer.text, "citations": null }));
        }
        let call = |call: &ToolCall| {
            json!({
                "type": "tool_use", "id": call.id, "name": call.name,
                "input": call.arguments.to_object(),
            })
        };
        content.extend(answer.tool_calls.iter().map(call));
        message(content.into(), reason(answer), usage(&answer.usage))
    }

    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>> {
        let mut frames = events(&blocks(answer, quirk), reason(answer), &answer.usage);
        let each = |frames: &mut [WireFrame], change: &dyn Fn(&mut Value)| {
            for frame in frames {
                if let roomkit_testkit::ai::WireData::Json(value) = &mut frame.data {
                    change(value);
                }
            }
        };
        match quirk {
            Quirk::None | Quirk::NoIds | Quirk::WholeCalls => {}
            Quirk::NoIndexes | Quirk::NoIndexesNorIds => each(&mut frames, &|value| {
                value.as_object_mut().unwrap().remove("index");
            }),
            Quirk::ReusedIndexes => each(&mut frames, &|value| {
                if value.get("index").is_some() {
                    value["index"] = 0.into();
                }
            }),
            Quirk::Bare => frames.retain(|frame| {
                let name = frame.event.as_deref();
                matches!(name, Some("content_block_delta" | "message_stop"))
            }),
            Quirk::NoEnd => {
                frames.pop();
            }
            // A call begins with its name, which never comes again.
            _ => return None,
        }
        Some(frames)
    }

    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value) {
        let (status, kind, prefix) = match kind {
            AiErrorKind::Unauthorized => (401, "authentication_error", ""),
            AiErrorKind::NotFound => (404, "not_found_error", ""),
            AiErrorKind::RateLimited => (429, "rate_limit_error", ""),
            AiErrorKind::Overloaded => (529, "overloaded_error", ""),
            AiErrorKind::ContextOverflow => {
                let words = "prompt is too long: 213232 tokens > 200000 maximum: ";
                (400, "invalid_request_error", words)
            }
            _ => (400, "invalid_request_error", ""),
        };
        let error = json!({ "type": kind, "message": format!("{prefix}{message}") });
        let body = json!({ "type": "error", "error": error, "request_id": "req_of_the_body" });
        (status, body)
    }

    fn failure(&self) -> Option<WireFrame> {
        let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
        Some(event(json!({ "type": "error", "error": error })))
    }

    fn keep_alives(&self) -> Vec<WireFrame> {
        vec![event(json!({ "type": "ping" }))]
    }

    fn models(&self, ids: &[&str]) -> Option<Value> {
        let model = |id: &&str| {
            json!({
                "type": "model", "id": id, "display_name": "A model",
                "created_at": "2026-01-01T00:00:00Z", "max_input_tokens": 200_000,
                "max_tokens": 64_000,
                "capabilities": {
                    "image_input": { "supported": true }, "batch": { "supported": false },
                    "thinking": { "supported": true, "types": {} },
                },
            })
        };
        let data: Vec<Value> = ids.iter().map(model).collect();
        Some(json!({
            "data": data, "has_more": false, "first_id": ids.first(), "last_id": ids.last(),
        }))
    }

    fn request_id_header(&self) -> Option<&str> {
        Some("request-id")
    }

    fn credential(&self, asked: &Asked) -> Option<String> {
        assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
        asked.header("x-api-key").map(str::to_owned)
    }

    fn conversation(&self, body: &Value) -> Vec<Told> {
        let mut told = Vec::new();
        for block in body["system"].as_array().into_iter().flatten() {
            told.push(Told::System(word(block, "text").to_owned()));
        }
        for message in body["messages"].as_array().unwrap() {
            let content = message["content"].as_array().unwrap();
            assert!(!content.is_empty(), "the vendor takes no empty message");
            let role = word(message, "role");
            let (mut texts, mut pictures) = (Vec::new(), Vec::new());
            let mut later = Vec::new();
            for block in content {
                match word(block, "type") {
                    "text" => {
                        assert!(!word(block, "text").trim().is_empty());
                        texts.push(word(block, "text"));
                    }
                    "image" => pictures.push(picture(block)),
                    "tool_use" => later.push(Told::Call(
                        word(block, "id").to_owned(),
                        word(block, "name").to_owned(),
                        block["input"].clone(),
                    )),
                    "tool_result" => told.push(result(block)),
                    other => panic!("a block of {other:?}"),
                }
            }
            let said = texts.join("\n");
            match role {
                "user" if !said.is_empty() || !pictures.is_empty() => {
                    told.push(Told::User(said, pictures));
                }
                "assistant" if !said.is_empty() => told.push(Told::Assistant(said)),
                "user" | "assistant" => {}
                other => panic!("a message of {other:?}"),
            }
            told.extend(later);
        }
        told
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        tools
            .map(|tool| {
                assert!(tool["input_schema"].is_object());
                word(tool, "name").to_owned()
            })
            .collect()
    }
}

fn picture(block: &Value) -> String {
    let source = &block["source"];
    match word(source, "type") {
        "base64" => {
            let (kind, data) = (word(source, "media_type"), word(source, "data"));
            format!("data:{kind};base64,{data}")
        }
        "url" => word(source, "url").to_owned(),
        other => panic!("a picture of {other:?}"),
    }
}

fn result(block: &Value) -> Told {
    let content = block["content"].as_array().into_iter().flatten();
    let (mut texts, mut pictures) = (Vec::new(), Vec::new());
    for block in content {
        match word(block, "type") {
            "text" => texts.push(word(block, "text")),
            _ => pictures.push(picture(block)),
        }
    }
    Told::Result(
        word(block, "tool_use_id").to_owned(),
        texts.join("\n"),
        pictures,
    )
}
