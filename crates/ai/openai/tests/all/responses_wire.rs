//! Responses as OpenAI documents them (API reference, "Create a model response", "The response object",
//! "Streaming events", as read on 2026-11-30); refusals, keys and models are those of Chat Completions.

use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiResponse, FinishReason, Usage};
use roomkit_testkit::ai::{Asked, ChatCompletionsWire, Quirk, Told, Wire, WireFrame, cut, written};
use serde_json::{Value, json};

pub(crate) struct ResponsesWire;

const CHAT: ChatCompletionsWire = ChatCompletionsWire::new();

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The text and the pictures of a message or a result.
fn content(content: &Value) -> (String, Vec<String>) {
    if let Some(text) = content.as_str() {
        return (text.to_owned(), Vec::new());
    }
    let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| part["text"].as_str())
        .collect();
    let url = |part: &Value| part["image_url"].as_str().map(str::to_owned);
    (texts.join("\n"), parts.iter().filter_map(url).collect())
}

fn usage(usage: &Usage) -> Value {
    json!({
        "input_tokens": usage.total_input_tokens(), "output_tokens": usage.output_tokens,
        "total_tokens": usage.total_input_tokens() + usage.output_tokens,
        "input_tokens_details": { "cached_tokens": usage.cache_read_input_tokens },
        "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}

/// The items of an answer, in order.
fn items(answer: &AiResponse) -> Vec<Value> {
    let mut items = Vec::new();
    if let Some(thinking) = &answer.thinking {
        items.push(json!({
            "type": "reasoning", "id": "rs_1", "encrypted_content": "c2VhbGVk",
            "summary": [{ "type": "summary_text", "text": thinking }],
        }));
    }
    if !answer.text.is_empty() {
        let part = json!({ "type": "output_text", "text": answer.text, "annotations": [] });
        items.push(json!({
            "type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [part],
        }));
    }
    for call in &answer.tool_calls {
        items.push(json!({
            "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id,
            "name": call.name, "arguments": written(&call.arguments), "status": "completed",
        }));
    }
    items
}

fn response(answer: &AiResponse) -> Value {
    let why = match &answer.finish_reason {
        Some(FinishReason::Length) => Some("max_output_tokens"),
        Some(FinishReason::ContentFilter) => Some("content_filter"),
        _ => None,
    };
    let status = if why.is_some() {
        "incomplete"
    } else {
        "completed"
    };
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "model-a",
        "status": status, "error": null, "output": items(answer), "store": false,
        "incomplete_details": why.map(|reason| json!({ "reason": reason })),
        "usage": usage(&answer.usage),
    })
}

fn events(answer: &AiResponse, quirk: Quirk) -> Vec<Value> {
    let mut created = response(answer);
    created["status"] = "in_progress".into();
    created["output"] = json!([]);
    created["usage"] = Value::Null;
    let mut events = vec![
        json!({ "type": "response.created", "response": created }),
        json!({ "type": "response.in_progress", "response": created }),
    ];
    let all = items(answer);
    for (at, item) in all.iter().enumerate() {
        let about = |kind: &str| json!({ "type": kind, "output_index": at, "item_id": item["id"] });
        let deltas = |kind: &str, text: &str, count: usize| -> Vec<Value> {
            let piece = |piece: String| {
                let mut event = about(kind);
                event["delta"] = piece.into();
                event
            };
            cut(text, count).into_iter().map(piece).collect()
        };
        let mut empty = item.clone();
        empty["status"] = "in_progress".into();
        match word(item, "type") {
            "reasoning" => {
                empty["summary"] = json!([]);
                empty["encrypted_content"] = "cGFydA".into();
            }
            "message" => empty["content"] = json!([]),
            _ => empty["arguments"] = "".into(),
        }
        events.push(json!({
            "type": "response.output_item.added", "output_index": at, "item": empty,
        }));
        match word(item, "type") {
            "reasoning" => {
                events.push(about("response.reasoning_summary_part.added"));
                let text = word(&item["summary"][0], "text");
                events.extend(deltas("response.reasoning_summary_text.delta", text, 3));
                events.push(about("response.reasoning_summary_text.done"));
                events.push(about("response.reasoning_summary_part.done"));
            }
            "message" => {
                events.push(about("response.content_part.added"));
                let text = word(&item["content"][0], "text");
                events.extend(deltas("response.output_text.delta", text, 5));
                events.push(about("response.output_text.done"));
                events.push(about("response.content_part.done"));
            }
            _ if quirk == Quirk::WholeCalls => {}
            _ => {
                let text = word(item, "arguments");
                events.extend(deltas("response.function_call_arguments.delta", text, 3));
                let mut done = about("response.function_call_arguments.done");
                done["arguments"] = text.into();
                events.push(done);
            }
        }
        events.push(json!({
            "type": "response.output_item.done", "output_index": at, "item": item,
        }));
    }
    let response = response(answer);
    let kind = format!("response.{}", word(&response, "status"));
    events.push(json!({ "type": kind, "response": response }));
    events
}

impl Wire for ResponsesWire {
    fn framing(&self) -> Framing {
        Framing::Events
    }

    fn whole(&self, answer: &AiResponse) -> Value {
        response(answer)
    }

    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>> {
        let events = match quirk {
            Quirk::None | Quirk::WholeCalls => events(answer, quirk),
            Quirk::Bare => {
                let delta = |delta| json!({ "type": "response.output_text.delta", "delta": delta });
                let mut events: Vec<_> = cut(&answer.text, 5).into_iter().map(delta).collect();
                events.push(json!({ "type": "response.completed", "response": null }));
                events
            }
            // Calls are items with an index and an id each, and the last event must come.
            _ => return None,
        };
        let frame = |(number, mut event): (usize, Value)| {
            let name = word(&event, "type").to_owned();
            event["sequence_number"] = number.into();
            WireFrame::json(event).named(name)
        };
        Some(events.into_iter().enumerate().map(frame).collect())
    }

    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value) {
        CHAT.refusal(kind, message)
    }

    fn failure(&self) -> Option<WireFrame> {
        let error = json!({ "code": "server_error", "message": "oh" });
        let response = json!({ "id": "resp_1", "status": "failed", "error": error });
        let event = json!({ "type": "response.failed", "response": response });
        Some(WireFrame::json(event).named("response.failed"))
    }

    fn keep_alives(&self) -> Vec<WireFrame> {
        vec![
            WireFrame::comment("keep-alive"),
            WireFrame::json(json!({ "type": "keepalive", "sequence_number": 3 }))
                .named("keepalive"),
        ]
    }

    fn models(&self, ids: &[&str]) -> Option<Value> {
        CHAT.models(ids)
    }

    fn request_id_header(&self) -> Option<&str> {
        Some("x-request-id")
    }

    fn credential(&self, asked: &Asked) -> Option<String> {
        CHAT.credential(asked)
    }

    fn conversation(&self, body: &Value) -> Vec<Told> {
        let mut told = Vec::new();
        if let Some(prompt) = body["instructions"].as_str() {
            told.push(Told::System(prompt.to_owned()));
        }
        for item in body["input"].as_array().unwrap() {
            let call_id = || word(item, "call_id").to_owned();
            let (text, pictures) = content(&item["content"]);
            told.push(match (word(item, "type"), word(item, "role")) {
                ("function_call", _) => Told::Call(
                    call_id(),
                    word(item, "name").to_owned(),
                    serde_json::from_str(word(item, "arguments")).unwrap(),
                ),
                ("function_call_output", _) => {
                    let (text, pictures) = content(&item["output"]);
                    Told::Result(call_id(), text, pictures)
                }
                (_, "user") => Told::User(text, pictures),
                (_, "assistant") => Told::Assistant(text),
                other => panic!("an item of {other:?}"),
            });
        }
        told
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        let tools = body["tools"].as_array().into_iter().flatten();
        tools.map(|tool| word(tool, "name").to_owned()).collect()
    }
}
