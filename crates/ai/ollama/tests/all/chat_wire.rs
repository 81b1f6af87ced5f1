//! `/api/chat` as Ollama documents it (docs.ollama.com: "Generate a chat message", "List models", "Streaming", "Tool
//! calling", "Errors"; `docs/` and `api/types.go` of its repository at fb30760, 2026-08-21). It stops with `stop` or
//! `length`; other reasons, arguments as text and calls without ids or indexes are of other versions and servers.

use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiResponse, FinishReason, ToolArguments, ToolCall};
use roomkit_testkit::ai::{Asked, Quirk, Told, Wire, WireFrame, cut};
use serde_json::{Value, json};

pub(crate) struct ChatWire;

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

fn call(index: usize, call: &ToolCall, quirk: Quirk) -> Value {
    let arguments = match &call.arguments {
        ToolArguments::Object(object) => object.clone().into(),
        ToolArguments::Malformed { text, .. } => Value::from(text.as_str()),
    };
    let mut function = json!({ "index": index, "name": call.name, "arguments": arguments });
    let (mut indexed, mut identified) = (true, true);
    match quirk {
        Quirk::ReusedIndexes => function["index"] = 0.into(),
        Quirk::NoIndexes => indexed = false,
        Quirk::NoIds => identified = false,
        Quirk::NoIndexesNorIds => (indexed, identified) = (false, false),
        _ => {}
    }
    if !indexed {
        function.as_object_mut().unwrap().remove("index");
    }
    let mut call_of = json!({ "function": function });
    if identified {
        call_of["id"] = call.id.as_str().into();
    }
    call_of
}

pub(crate) fn line(message: Value) -> Value {
    json!({
        "model": "model-a", "created_at": "2026-01-01T00:00:00.1Z", "message": message,
        "done": false,
    })
}

fn done(answer: &AiResponse, message: Value) -> Value {
    let mut line = line(message);
    let reason = answer.finish_reason.as_ref().map(|reason| match reason {
        FinishReason::ToolCalls => "stop",
        other => other.code(),
    });
    line["done"] = true.into();
    line["done_reason"] = reason.into();
    line["total_duration"] = 5_191_566_416_u64.into();
    line["load_duration"] = 2_154_458.into();
    line["prompt_eval_count"] = answer.usage.total_input_tokens().into();
    line["prompt_eval_duration"] = 383_809.into();
    line["eval_count"] = answer.usage.output_tokens.into();
    line["eval_duration"] = 4_799_921_000_u64.into();
    line
}

fn calls(answer: &AiResponse, quirk: Quirk) -> Vec<Value> {
    let calls = answer.tool_calls.iter().enumerate();
    calls.map(|(index, own)| call(index, own, quirk)).collect()
}

impl Wire for ChatWire {
    fn framing(&self) -> Framing {
        Framing::Lines
    }

    fn whole(&self, answer: &AiResponse) -> Value {
        let mut message = json!({ "role": "assistant", "content": answer.text });
        if let Some(thinking) = &answer.thinking {
            message["thinking"] = thinking.as_str().into();
        }
        if !answer.tool_calls.is_empty() {
            message["tool_calls"] = calls(answer, Quirk::None).into();
        }
        done(answer, message)
    }

    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>> {
        let texts = cut(&answer.text, 5).into_iter();
        if quirk == Quirk::Bare {
            let mut lines: Vec<_> = texts
                .map(|text| WireFrame::json(json!({ "message": { "content": text } })))
                .collect();
            lines.push(WireFrame::json(json!({ "done": true })));
            return Some(lines);
        }
        // Names stand with their arguments, and the last line alone says that it is the last.
        if matches!(
            quirk,
            Quirk::LateNames | Quirk::RepeatedNames | Quirk::NoEnd
        ) {
            return None;
        }
        let mut lines = Vec::new();
        let thinking = answer.thinking.iter().flat_map(|thinking| cut(thinking, 3));
        lines.extend(
            thinking.map(|piece| {
                line(json!({ "role": "assistant", "content": "", "thinking": piece }))
            }),
        );
        if !answer.text.is_empty() {
            lines.extend(texts.map(|text| line(json!({ "role": "assistant", "content": text }))));
        }
        let said = |calls: Vec<Value>| {
            line(json!({ "role": "assistant", "content": "", "tool_calls": calls }))
        };
        let calls = calls(answer, quirk);
        if quirk == Quirk::None {
            lines.extend(calls.into_iter().map(|call| said(vec![call])));
        } else if !calls.is_empty() {
            lines.push(said(calls));
        }
        lines.push(done(answer, json!({ "role": "assistant", "content": "" })));
        Some(lines.into_iter().map(WireFrame::json).collect())
    }

    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value) {
        let (status, prefix) = match kind {
            AiErrorKind::Unauthorized => (401, "unauthorized: "),
            AiErrorKind::NotFound => (404, "model 'm' not found: "),
            AiErrorKind::RateLimited => (429, "too many requests: "),
            AiErrorKind::ContextOverflow => (400, "the input length exceeds the context length: "),
            AiErrorKind::Overloaded => (503, "server busy: "),
            _ => (400, "\"m\" does not support tools: "),
        };
        (status, json!({ "error": format!("{prefix}{message}") }))
    }

    fn failure(&self) -> Option<WireFrame> {
        let error = "an error was encountered while running the model";
        Some(WireFrame::json(json!({ "error": error })))
    }

    fn models(&self, ids: &[&str]) -> Option<Value> {
        let model = |id: &&str| {
            json!({
                "name": id, "model": id, "modified_at": "2026-01-01T00:00:00Z", "size": 1,
                "digest": "d", "details": { "format": "gguf", "families": ["llama"] },
                "capabilities": ["completion", "tools"],
            })
        };
        let models: Vec<Value> = ids.iter().map(model).collect();
        Some(json!({ "models": models }))
    }

    fn request_id_header(&self) -> Option<&str> {
        None
    }

    fn credential(&self, asked: &Asked) -> Option<String> {
        let value = asked.header("authorization")?;
        value.strip_prefix("Bearer ").map(str::to_owned)
    }

    fn conversation(&self, body: &Value) -> Vec<Told> {
        assert!(body["stream"].is_boolean(), "it streams unless told not to");
        let mut told = Vec::new();
        for message in body["messages"].as_array().unwrap() {
            let said = word(message, "content").to_owned();
            let pictures = message["images"].as_array().into_iter().flatten();
            let pictures: Vec<String> = pictures
                .map(|data| format!("data:image/png;base64,{}", data.as_str().unwrap()))
                .collect();
            match word(message, "role") {
                "system" => told.push(Told::System(said)),
                "user" => told.push(Told::User(said, pictures)),
                "tool" => {
                    assert!(pictures.is_empty() && !word(message, "tool_name").is_empty());
                    let id = word(message, "tool_call_id").to_owned();
                    told.push(Told::Result(id, said, pictures));
                }
                "assistant" => {
                    if !said.is_empty() {
                        told.push(Told::Assistant(said));
                    }
                    for call in message["tool_calls"].as_array().into_iter().flatten() {
                        let function = &call["function"];
                        told.push(Told::Call(
                            word(call, "id").to_owned(),
                            word(function, "name").to_owned(),
                            function["arguments"].clone(),
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
                assert_eq!(tool["type"], "function");
                assert!(tool["function"]["parameters"].is_object());
                word(&tool["function"], "name").to_owned()
            })
            .collect()
    }
}
