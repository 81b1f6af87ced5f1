//! What comes back: messages whole and as events, read one way ("Streaming messages" and "Stop reasons and
//! fallback", read on 2026-11-30).

use std::collections::BTreeMap;

use roomkit_ai::http::{AnswerDecoder, Frame, Head};
use roomkit_ai::{
    AiError, AiErrorKind, FinishReason, Result, StreamEvent, ToolArguments, ToolCall, Usage,
};
use roomkit_core::model::Metadata;
use serde_json::Value;

use crate::provider::NAME;
use crate::refusal::failure;
use crate::sealed::{Block, seal};

/// The most blocks of one answer.
const MOST_BLOCKS: u64 = 1_024;

/// Reads an answer of the Messages API, be it in events or whole.
pub(crate) struct MessageDecoder {
    metadata: Metadata,
    /// Blocks that have begun and not ended, by index.
    open: BTreeMap<u64, Open>,
    last: u64,
    begun: u64,
    /// Blocks that have ended.
    blocks: Vec<Block>,
    calls: usize,
    has_answer: bool,
    has_thought: bool,
    finish_reason: Option<FinishReason>,
    usage: Usage,
}

/// A block that is being written.
enum Open {
    Text {
        bytes: usize,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    /// Of a tool of the vendor's own, or of a later version.
    Other,
}

impl MessageDecoder {
    /// A decoder of one answer.
    pub(crate) fn new(head: &Head) -> Self {
        let mut metadata = Metadata::new();
        if let Some(id) = &head.request_id {
            metadata.insert("request_id", id.as_str());
        }
        Self {
            metadata,
            open: BTreeMap::new(),
            last: 0,
            begun: 0,
            blocks: Vec::new(),
            calls: 0,
            has_answer: false,
            has_thought: false,
            finish_reason: None,
            usage: Usage::default(),
        }
    }

    /// Reads a whole message.
    pub(crate) fn whole(&mut self, message: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if word(message, "type") == Some("error") {
            return Err(failure(NAME, message));
        }
        let Some(content) = message.get("content").and_then(Value::as_array) else {
            let error = error(AiErrorKind::InvalidResponse, "there is no answer in it");
            return Err(error.with_body(message.to_string()));
        };
        self.about(message);
        for block in content {
            self.start(None, block, events)?;
            self.stop(self.last, events);
        }
        self.stopped(message);
        self.finish(events);
        Ok(())
    }

    fn event(&mut self, kind: &str, event: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        let index = event.get("index").and_then(Value::as_u64);
        match kind {
            "message_start" => self.about(event.get("message").unwrap_or(&Value::Null)),
            "content_block_start" => {
                let block = event.get("content_block").unwrap_or(&Value::Null);
                self.start(index, block, events)?;
            }
            "content_block_delta" => {
                let delta = event.get("delta").unwrap_or(&Value::Null);
                self.delta(index.unwrap_or(self.last), delta, events)?;
            }
            "content_block_stop" => self.stop(index.unwrap_or(self.last), events),
            "message_delta" => {
                self.stopped(event.get("delta").unwrap_or(&Value::Null));
                self.count(event);
            }
            "message_stop" => {
                if !self.has_answer {
                    let problem = "there is no answer in it";
                    return Err(error(AiErrorKind::InvalidResponse, problem));
                }
                self.finish(events);
            }
            "error" => return Err(failure(NAME, event)),
            // `ping`, and what is of a later version.
            _ => {}
        }
        Ok(())
    }

    fn start(
        &mut self,
        index: Option<u64>,
        block: &Value,
        events: &mut Vec<StreamEvent>,
    ) -> Result<()> {
        self.has_answer = true;
        // Some servers do not count.
        let index = index.unwrap_or(if self.begun == 0 { 0 } else { self.last + 1 });
        self.stop(index, events);
        self.begun += 1;
        if self.begun > MOST_BLOCKS {
            let problem = "the answer has too many blocks";
            return Err(error(AiErrorKind::InvalidResponse, problem));
        }
        self.last = index;
        let text = |name: &str| word(block, name).unwrap_or_default().to_owned();
        let mut begun = match word(block, "type").unwrap_or_default() {
            "text" => Open::Text { bytes: 0 },
            "thinking" => Open::Thinking {
                thinking: String::new(),
                signature: text("signature"),
            },
            "redacted_thinking" => Open::Redacted { data: text("data") },
            "tool_use" => {
                let id = match word(block, "id") {
                    Some(id) => id.to_owned(),
                    None => format!("call_{}", self.calls),
                };
                self.calls += 1;
                let name = text("name");
                events.push(StreamEvent::ToolCallDelta {
                    id: id.clone(),
                    name: name.clone(),
                    arguments_bytes: 0,
                });
                Open::Call {
                    id,
                    name,
                    input: block.get("input").cloned().unwrap_or_default(),
                    json: String::new(),
                }
            }
            _ => Open::Other,
        };
        match &mut begun {
            Open::Text { bytes } => say(text("text"), bytes, events),
            Open::Thinking { thinking, .. } => {
                think(&text("thinking"), thinking, &mut self.has_thought, events);
            }
            _ => {}
        }
        self.open.insert(index, begun);
        Ok(())
    }

    fn delta(&mut self, index: u64, delta: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if !self.open.contains_key(&index) && word(delta, "text").is_some() {
            self.start(Some(index), &serde_json::json!({ "type": "text" }), events)?;
        }
        let text = |name: &str| word(delta, name).unwrap_or_default();
        match self.open.get_mut(&index) {
            Some(Open::Text { bytes }) => say(text("text").to_owned(), bytes, events),
            Some(Open::Thinking {
                thinking,
                signature,
            }) => {
                think(text("thinking"), thinking, &mut self.has_thought, events);
                signature.push_str(text("signature"));
            }
            Some(Open::Call { id, name, json, .. }) => {
                let more = text("partial_json");
                json.push_str(more);
                if !more.is_empty() {
                    events.push(StreamEvent::ToolCallDelta {
                        id: id.clone(),
                        name: name.clone(),
                        arguments_bytes: json.len(),
                    });
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Ends a block, if it is open.
    fn stop(&mut self, index: u64, events: &mut Vec<StreamEvent>) {
        let block = match self.open.remove(&index) {
            None | Some(Open::Other) => return,
            Some(Open::Text { bytes: 0 }) => return,
            Some(Open::Text { bytes }) => Block::Text { bytes },
            // What is not signed cannot be given back.
            Some(Open::Thinking { signature, .. }) if signature.is_empty() => return,
            Some(Open::Thinking {
                thinking,
                signature,
            }) => Block::Thinking {
                thinking,
                signature,
            },
            Some(Open::Redacted { data }) => Block::RedactedThinking { data },
            Some(Open::Call {
                id,
                name,
                input,
                json,
            }) => {
                // Pieces of text, unless it came whole.
                let arguments = if json.is_empty() {
                    ToolArguments::from_value(input)
                } else {
                    ToolArguments::parse(&json)
                };
                events.push(StreamEvent::ToolCall(ToolCall::new(id, name, arguments)));
                Block::ToolUse
            }
        };
        let is_thinking = block.is_thinking();
        self.blocks.push(block);
        if is_thinking {
            self.sign(events);
        }
    }

    /// Tells under which signature the thinking so far is kept; of several the last counts.
    fn sign(&self, events: &mut Vec<StreamEvent>) {
        if let Some(signature) = seal(&self.blocks) {
            events.push(StreamEvent::Thinking {
                thinking: String::new(),
                signature: Some(signature),
            });
        }
    }

    fn about(&mut self, message: &Value) {
        if let Some(model) = word(message, "model") {
            self.metadata.insert("model", model);
        }
        self.count(message);
    }

    fn stopped(&mut self, said: &Value) {
        if let Some(reason) = word(said, "stop_reason") {
            self.has_answer = true;
            self.finish_reason = Some(FinishReason::parse(reason));
        }
    }

    /// Takes the counters that are there; each is of all so far.
    fn count(&mut self, said: &Value) {
        let usage = said.get("usage").unwrap_or(&Value::Null);
        let number = |name: &str| usage.get(name).and_then(Value::as_u64);
        let details = usage.get("output_tokens_details");
        let thought = details.and_then(|details| details.get("thinking_tokens")?.as_u64());
        for (counter, count) in [
            (&mut self.usage.input_tokens, number("input_tokens")),
            (&mut self.usage.output_tokens, number("output_tokens")),
            (
                &mut self.usage.cache_read_input_tokens,
                number("cache_read_input_tokens"),
            ),
            (
                &mut self.usage.cache_creation_input_tokens,
                number("cache_creation_input_tokens"),
            ),
            (&mut self.usage.reasoning_tokens, thought),
        ] {
            *counter = count.unwrap_or(*counter);
        }
    }

    /// The end: what is open, and `Done`.
    fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        while let Some((&index, _)) = self.open.first_key_value() {
            self.stop(index, events);
        }
        // What came after the thinking may have to be kept with it.
        let thought = self.blocks.iter().any(Block::is_thinking);
        if thought && !self.blocks.last().is_some_and(Block::is_thinking) {
            self.sign(events);
        }
        let mut reason = self.finish_reason.take();
        if self.calls > 0 && matches!(reason, None | Some(FinishReason::Stop)) {
            reason = Some(FinishReason::ToolCalls);
        }
        events.push(StreamEvent::Done {
            finish_reason: reason,
            usage: self.usage,
            metadata: std::mem::take(&mut self.metadata),
        });
    }
}

impl AnswerDecoder for MessageDecoder {
    fn read(&mut self, frame: &Frame, events: &mut Vec<StreamEvent>) -> Result<()> {
        let data = frame.data.trim();
        if data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let event = serde_json::from_str::<Value>(data).ok();
        let Some(event) = event.filter(Value::is_object) else {
            let problem = "a piece of the answer cannot be read";
            return Err(error(AiErrorKind::InvalidResponse, problem).with_body(data));
        };
        match word(&event, "type").unwrap_or(&frame.event) {
            // Answered whole what was asked to be streamed.
            "message" if event.get("content").is_some() => self.whole(&event, events),
            "message" if event.get("error").is_some() => Err(failure(NAME, &event)),
            kind => self.event(kind, &event, events),
        }
    }

    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<()> {
        if self.finish_reason.is_some() {
            self.finish(events);
            return Ok(());
        }
        Err(error(AiErrorKind::Unreachable, "the answer was cut off"))
    }
}

fn say(text: String, bytes: &mut usize, events: &mut Vec<StreamEvent>) {
    *bytes += text.len();
    if !text.is_empty() {
        events.push(StreamEvent::Text(text));
    }
}

/// Tells more of a block's thinking; what is of another block begins after an empty line.
fn think(more: &str, thinking: &mut String, has_thought: &mut bool, events: &mut Vec<StreamEvent>) {
    if more.is_empty() {
        return;
    }
    let mut tell = |thinking: &str| {
        events.push(StreamEvent::Thinking {
            thinking: thinking.to_owned(),
            signature: None,
        });
    };
    if std::mem::replace(has_thought, true) && thinking.is_empty() {
        tell("\n\n");
    }
    tell(more);
    thinking.push_str(more);
}

fn error(kind: AiErrorKind, message: &str) -> AiError {
    AiError::new(kind, NAME, message)
}

/// Text that is there and not empty.
fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let text = value.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
