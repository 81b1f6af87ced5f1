//! What comes back: answers of Chat Completions, whole and in chunks, read one way.

use std::sync::Arc;

use roomkit_core::model::Metadata;
use serde_json::Value;

use super::calls::{Calls, Piece};
use super::dialect::Dialect;
use super::refusal::failure;
use super::think::ThinkTags;
use crate::http::{AnswerDecoder, Frame, Head};
use crate::{AiError, AiErrorKind, FinishReason, Result, StreamEvent, Usage};

/// Reads an answer of Chat Completions, be it in chunks or whole.
pub struct ChatDecoder {
    provider: Arc<str>,
    tags: Option<ThinkTags>,
    calls: Calls,
    finish_reason: Option<FinishReason>,
    refused: bool,
    usage: Usage,
    metadata: Metadata,
    has_begun: bool,
    read_usage: fn(&Value) -> Usage,
}

impl ChatDecoder {
    /// A decoder of one answer.
    #[must_use]
    pub fn new(dialect: &Dialect, head: &Head) -> Self {
        let mut metadata = Metadata::new();
        if let Some(id) = &head.request_id {
            metadata.insert("request_id", id.as_str());
        }
        Self {
            provider: Arc::clone(&dialect.provider),
            tags: dialect.think_tags.then(ThinkTags::default),
            calls: Calls::default(),
            finish_reason: None,
            refused: false,
            usage: Usage::default(),
            metadata,
            has_begun: false,
            read_usage: usage,
        }
    }

    /// Reads one chunk, or a whole answer.
    ///
    /// # Errors
    /// When the vendor says that it failed, or it is no chunk.
    pub fn chunk(&mut self, chunk: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if !chunk.is_object() {
            return Err(self.unreadable(&chunk.to_string()));
        }
        if let Some(error) = failure(&self.provider, chunk) {
            return Err(error);
        }
        if let Some(model) = chunk.get("model").and_then(Value::as_str)
            && !self.metadata.contains_key("model")
        {
            self.metadata.insert("model", model);
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.usage = (self.read_usage)(usage);
        }
        let choices = chunk.get("choices").and_then(Value::as_array);
        // There is one unless more were asked for, in whatever place it stands.
        let Some(choice) = choices.and_then(|choices| choices.first()) else {
            return Ok(());
        };
        self.has_begun = true;
        let said = choice.get("delta").filter(|delta| delta.is_object());
        if let Some(said) = said.or_else(|| choice.get("message")) {
            self.said(said, events)?;
        }
        if let Some(reason) = word(choice, "finish_reason") {
            self.finish_reason = Some(FinishReason::parse(reason));
        }
        Ok(())
    }

    /// The end of the answer: calls, and `Done`.
    ///
    /// # Errors
    /// When there was no answer.
    pub fn finish(&mut self, events: &mut Vec<StreamEvent>) -> Result<()> {
        if !self.has_begun {
            return Err(self.error(AiErrorKind::InvalidResponse, "there is no answer in it"));
        }
        if let Some(tags) = &mut self.tags {
            tags.end(events);
        }
        let calls = self.calls.end();
        let mut reason = self.finish_reason.take();
        if self.refused {
            reason = Some(FinishReason::ContentFilter);
        } else if !calls.is_empty() && matches!(reason, None | Some(FinishReason::Stop)) {
            // Some servers call that a stop too.
            reason = Some(FinishReason::ToolCalls);
        }
        events.extend(calls.into_iter().map(StreamEvent::ToolCall));
        events.push(StreamEvent::Done {
            finish_reason: reason,
            usage: self.usage,
            metadata: std::mem::take(&mut self.metadata),
        });
        Ok(())
    }

    fn said(&mut self, said: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        let reasoning = word(said, "reasoning_content").or_else(|| word(said, "reasoning"));
        if let Some(thinking) = reasoning {
            events.push(StreamEvent::Thinking {
                thinking: thinking.to_owned(),
                signature: None,
            });
        }
        if let Some(text) = word(said, "content") {
            match &mut self.tags {
                Some(tags) => tags.read(text, events),
                None => events.push(StreamEvent::Text(text.to_owned())),
            }
        }
        if let Some(text) = word(said, "refusal") {
            self.refused = true;
            events.push(StreamEvent::Text(text.to_owned()));
        }
        let calls = said.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let function = call.get("function").unwrap_or(&Value::Null);
            let arguments = match function.get("arguments") {
                Some(Value::String(text)) => text.clone(),
                Some(object @ Value::Object(_)) => object.to_string(),
                _ => String::new(),
            };
            let piece = Piece {
                index: call.get("index").and_then(Value::as_u64),
                id: word(call, "id"),
                name: word(function, "name"),
                arguments: &arguments,
            };
            match self.calls.take(&piece) {
                Ok(event) => events.push(event),
                Err(_) => {
                    return Err(self.error(AiErrorKind::InvalidResponse, "too many tool calls"));
                }
            }
        }
        Ok(())
    }

    fn unreadable(&self, text: &str) -> AiError {
        self.error(
            AiErrorKind::InvalidResponse,
            "a piece of the answer cannot be read",
        )
        .with_body(text)
    }

    fn error(&self, kind: AiErrorKind, message: &str) -> AiError {
        AiError::new(kind, &*self.provider, message)
    }
}

impl AnswerDecoder for ChatDecoder {
    fn read(&mut self, frame: &Frame, events: &mut Vec<StreamEvent>) -> Result<()> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            return self.finish(events);
        }
        match serde_json::from_str(data) {
            Ok(chunk) => self.chunk(&chunk, events),
            // What servers send to show that they live.
            Err(_) if data.is_empty() => Ok(()),
            Err(_) => Err(self.unreadable(data)),
        }
    }

    fn end(&mut self, events: &mut Vec<StreamEvent>) -> Result<()> {
        if self.finish_reason.is_some() {
            return self.finish(events);
        }
        Err(self.error(AiErrorKind::Unreachable, "the answer was cut off"))
    }
}

/// Text that is there and not empty.
fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let text = value.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}

/// The tokens of an answer. The vendor counts what its cache had within the prompt.
fn usage(usage: &Value) -> Usage {
    let number = |value: &Value, name: &str| value.get(name).and_then(Value::as_u64).unwrap_or(0);
    let detail = |of: &str, name: &str| usage.get(of).map_or(0, |details| number(details, name));
    let cached = detail("prompt_tokens_details", "cached_tokens");
    let written = match detail("prompt_tokens_details", "cache_write_tokens") {
        0 => number(usage, "cache_write_tokens"),
        written => written,
    };
    let input = number(usage, "prompt_tokens").saturating_sub(cached.saturating_add(written));
    Usage::new(input, number(usage, "completion_tokens"))
        .cached(cached, written)
        .reasoning(detail("completion_tokens_details", "reasoning_tokens"))
}

impl std::fmt::Debug for ChatDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatDecoder")
            .field("provider", &self.provider)
            .field("finish_reason", &self.finish_reason)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}
