//! What comes back: the items of an answer, whole and as they come.

use std::collections::BTreeMap;
use std::sync::Arc;

use roomkit_ai::chat_completions::failure;
use roomkit_ai::http::{AnswerDecoder, Frame, Head};
use roomkit_ai::{
    AiError, AiErrorKind, FinishReason, Result, StreamEvent, ToolArguments, ToolCall, Usage,
};
use roomkit_core::model::Metadata;
use serde_json::{Value, json};

/// The most items of one answer.
const MOST_ITEMS: usize = 512;

/// Reads one answer.
#[derive(Debug)]
pub(super) struct ResponseDecoder {
    provider: Arc<str>,
    metadata: Metadata,
    items: BTreeMap<u64, Item>,
    /// The sealed reasoning, to be given back with the next request.
    reasoning: Vec<Value>,
    has_thought: bool,
    has_called: bool,
    refused: bool,
    /// A piece did not say of which item it is, so that all of them count as told.
    without_index: bool,
}

/// What was told of an item so far.
#[derive(Debug, Default)]
struct Item {
    call_id: String,
    name: String,
    arguments_bytes: usize,
    /// Its text or its reasoning was told as it came.
    told: bool,
    done: bool,
}

impl ResponseDecoder {
    pub(super) fn new(head: &Head) -> Self {
        let mut metadata = Metadata::new();
        if let Some(id) = &head.request_id {
            metadata.insert("request_id", id.as_str());
        }
        Self {
            provider: "openai".into(),
            metadata,
            items: BTreeMap::new(),
            reasoning: Vec::new(),
            has_thought: false,
            has_called: false,
            refused: false,
            without_index: false,
        }
    }

    /// Reads a whole answer.
    pub(super) fn whole(&mut self, response: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if let Some(error) = failure(&self.provider, response) {
            return Err(error);
        }
        self.about(response);
        match word(response, "status") {
            Some("failed" | "cancelled") => return Err(self.failed(response)),
            _ if response.get("output").is_some_and(Value::is_array) => {}
            _ => {
                return Err(self.error(AiErrorKind::InvalidResponse, "there is no answer in it"));
            }
        }
        self.finish(response, events)
    }

    fn event(&mut self, event: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        let delta = || word(event, "delta").unwrap_or_default();
        match word(event, "type").unwrap_or_default() {
            "response.created" | "response.in_progress" => {
                self.about(event.get("response").unwrap_or(event));
            }
            "response.output_text.delta" => {
                self.item(event)?.told = true;
                say(delta(), events);
            }
            "response.refusal.delta" => {
                self.refused = true;
                self.item(event)?.told = true;
                say(delta(), events);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.item(event)?.told = true;
                self.think(delta(), events);
            }
            "response.reasoning_summary_part.added" if self.has_thought => {
                self.think("\n\n", events);
            }
            "response.output_item.added" => {
                let added = event.get("item").unwrap_or(&Value::Null);
                let call_id = word(added, "call_id").unwrap_or_default().to_owned();
                let name = word(added, "name").unwrap_or_default().to_owned();
                let item = self.item(event)?;
                (item.call_id, item.name) = (call_id, name);
                announce(item, events);
            }
            "response.function_call_arguments.delta" => {
                let bytes = delta().len();
                let item = self.item(event)?;
                item.arguments_bytes += bytes;
                announce(item, events);
            }
            "response.output_item.done" => {
                let at = index(event);
                if let Some(item) = event.get("item") {
                    self.done(at, item, events)?;
                }
            }
            "response.completed" | "response.incomplete" => {
                let response = event.get("response").unwrap_or(&Value::Null);
                self.about(response);
                return self.finish(response, events);
            }
            "response.failed" => {
                return Err(self.failed(event.get("response").unwrap_or(event)));
            }
            "error" => return Err(self.failed(event)),
            // What brings nothing that is told elsewhere, or is of a later version.
            _ => {}
        }
        Ok(())
    }

    /// Takes an item that is whole, once.
    fn done(&mut self, at: u64, item: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        let without_index = self.without_index;
        let known = self.at(at)?;
        if std::mem::replace(&mut known.done, true) {
            return Ok(());
        }
        let told = known.told || without_index;
        match word(item, "type").unwrap_or_default() {
            "message" => {
                let parts = item.get("content").and_then(Value::as_array);
                for part in parts.into_iter().flatten() {
                    let refusal = word(part, "refusal");
                    self.refused |= refusal.is_some();
                    if !told {
                        say(refusal.or(word(part, "text")).unwrap_or_default(), events);
                    }
                }
            }
            "function_call" => {
                let id = match (&*known.call_id, word(item, "call_id")) {
                    ("", Some(id)) => id.to_owned(),
                    ("", None) => format!("call_{at}"),
                    (announced, _) => announced.to_owned(),
                };
                let name = word(item, "name").unwrap_or(&known.name).to_owned();
                let arguments = word(item, "arguments").unwrap_or_default();
                self.has_called = true;
                let arguments = ToolArguments::parse(arguments);
                events.push(StreamEvent::ToolCall(ToolCall::new(id, name, arguments)));
            }
            "reasoning" => self.reasoned(item, told, events),
            // Items of tools that OpenAI runs itself.
            _ => {}
        }
        Ok(())
    }

    fn reasoned(&mut self, item: &Value, told: bool, events: &mut Vec<StreamEvent>) {
        if !told {
            let lists = ["summary", "content"].map(|name| item.get(name).and_then(Value::as_array));
            let parts = lists.into_iter().flatten().flatten();
            for text in parts.filter_map(|part| word(part, "text")) {
                if self.has_thought {
                    self.think("\n\n", events);
                }
                self.think(text, events);
            }
        }
        // Without its seal it cannot be given back, since nothing is stored.
        if word(item, "encrypted_content").is_none() {
            return;
        }
        let kept = ["id", "summary", "encrypted_content"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), item.get(name)?.clone())));
        let mut kept: serde_json::Map<String, Value> = kept.collect();
        kept.insert("type".into(), "reasoning".into());
        kept.entry("summary").or_insert_with(|| json!([]));
        self.reasoning.push(kept.into());
        events.push(StreamEvent::Thinking {
            thinking: String::new(),
            // All of it so far: of several signatures the last counts.
            signature: serde_json::to_string(&self.reasoning).ok(),
        });
    }

    /// The end: what was not told before, and `Done`.
    fn finish(&mut self, response: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        let output = response.get("output").and_then(Value::as_array);
        for (at, item) in (0..).zip(output.into_iter().flatten()) {
            self.done(at, item, events)?;
        }
        let why = response.get("incomplete_details");
        let why = why.and_then(|details| word(details, "reason"));
        let finish_reason = match why {
            _ if self.refused => FinishReason::ContentFilter,
            Some(reason) => FinishReason::parse(reason),
            None if word(response, "status") == Some("incomplete") => {
                FinishReason::Other("incomplete".into())
            }
            None if self.has_called => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        };
        events.push(StreamEvent::Done {
            finish_reason: Some(finish_reason),
            usage: response.get("usage").map(usage).unwrap_or_default(),
            metadata: std::mem::take(&mut self.metadata),
        });
        Ok(())
    }

    fn think(&mut self, thinking: &str, events: &mut Vec<StreamEvent>) {
        if thinking.is_empty() {
            return;
        }
        self.has_thought = true;
        events.push(StreamEvent::Thinking {
            thinking: thinking.to_owned(),
            signature: None,
        });
    }

    fn about(&mut self, response: &Value) {
        for (name, key) in [("model", "model"), ("id", "response_id")] {
            if let Some(value) = word(response, name) {
                self.metadata.insert(key, value);
            }
        }
    }

    fn item(&mut self, event: &Value) -> Result<&mut Item> {
        self.without_index |= event.get("output_index").is_none();
        self.at(index(event))
    }

    fn at(&mut self, index: u64) -> Result<&mut Item> {
        if self.items.len() >= MOST_ITEMS && !self.items.contains_key(&index) {
            return Err(self.error(
                AiErrorKind::InvalidResponse,
                "the answer has too many items",
            ));
        }
        Ok(self.items.entry(index).or_default())
    }

    /// The error of an event or a response that says that it failed.
    fn failed(&self, said: &Value) -> AiError {
        // An event names its error itself, a response holds it.
        let wrapped = match said.get("error").filter(|error| error.is_object()) {
            Some(error) => json!({ "error": error }),
            None => json!({ "error": said }),
        };
        let unknown = || self.error(AiErrorKind::Overloaded, "the server says that it failed");
        failure(&self.provider, &wrapped).unwrap_or_else(unknown)
    }

    fn error(&self, kind: AiErrorKind, message: &str) -> AiError {
        AiError::new(kind, &*self.provider, message)
    }
}

impl AnswerDecoder for ResponseDecoder {
    fn read(&mut self, frame: &Frame, events: &mut Vec<StreamEvent>) -> Result<()> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let unreadable = || {
            self.error(
                AiErrorKind::InvalidResponse,
                "a piece of the answer cannot be read",
            )
            .with_body(data)
        };
        let Ok(event) = serde_json::from_str::<Value>(data) else {
            return Err(unreadable());
        };
        if !event.is_object() {
            return Err(unreadable());
        }
        if word(&event, "object") == Some("response") {
            // Answered whole what was asked to be streamed.
            return self.whole(&event, events);
        }
        let is_event = event.get("type").is_some();
        match failure(&self.provider, &event).filter(|_| !is_event) {
            Some(error) => Err(error),
            None => self.event(&event, events),
        }
    }

    fn end(&mut self, _events: &mut Vec<StreamEvent>) -> Result<()> {
        Err(self.error(AiErrorKind::Unreachable, "the answer was cut off"))
    }
}

fn say(text: &str, events: &mut Vec<StreamEvent>) {
    if !text.is_empty() {
        events.push(StreamEvent::Text(text.to_owned()));
    }
}

/// Tells that a call is being written, once it has an id.
fn announce(item: &Item, events: &mut Vec<StreamEvent>) {
    if !item.call_id.is_empty() {
        events.push(StreamEvent::ToolCallDelta {
            id: item.call_id.clone(),
            name: item.name.clone(),
            arguments_bytes: item.arguments_bytes,
        });
    }
}

fn index(event: &Value) -> u64 {
    let index = event.get("output_index").and_then(Value::as_u64);
    index.unwrap_or_default()
}

/// Text that is there and not empty.
fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let text = value.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The tokens of an answer. The vendor counts what its cache had within the input.
fn usage(usage: &Value) -> Usage {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let detail = |of: &str, name: &str| usage.get(of).map_or(0, |details| number(details, name));
    let cached = detail("input_tokens_details", "cached_tokens");
    let written = detail("input_tokens_details", "cache_write_tokens");
    let input = number(usage, "input_tokens").saturating_sub(cached.saturating_add(written));
    Usage::new(input, number(usage, "output_tokens"))
        .cached(cached, written)
        .reasoning(detail("output_tokens_details", "reasoning_tokens"))
}
