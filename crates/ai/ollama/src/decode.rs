//! What comes back: answers of `/api/chat`, whole and in lines, read one way ("Streaming", "Thinking" and "Tool
//! calling" of Ollama's documentation).

use std::collections::BTreeSet;

use roomkit_ai::http::{AnswerDecoder, Frame, Head};
use roomkit_ai::{
    AiError, AiErrorKind, FinishReason, Result, StreamEvent, ToolArguments, ToolCall, Usage,
};
use roomkit_core::model::Metadata;
use serde_json::Value;

use crate::provider::NAME;
use crate::refusal::failure;

/// The most calls of one answer.
const MOST_CALLS: usize = 128;

/// Reads an answer of `/api/chat`, be it in lines or whole.
pub(crate) struct ChatDecoder {
    metadata: Metadata,
    /// The ids of the calls so far.
    calls: BTreeSet<String>,
}

impl ChatDecoder {
    /// A decoder of one answer.
    pub(crate) fn new(head: &Head) -> Self {
        let mut metadata = Metadata::new();
        if let Some(id) = &head.request_id {
            metadata.insert("request_id", id.as_str());
        }
        Self {
            metadata,
            calls: BTreeSet::new(),
        }
    }

    /// Reads a whole answer, which is one line with everything in it.
    pub(crate) fn whole(&mut self, answer: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if !answer.get("message").is_some_and(Value::is_object) && answer.get("error").is_none() {
            let error = error(AiErrorKind::InvalidResponse, "there is no answer in it");
            return Err(error.with_body(answer.to_string()));
        }
        self.line(answer, events)?;
        if !matches!(events.last(), Some(StreamEvent::Done { .. })) {
            self.finish(answer, events);
        }
        Ok(())
    }

    fn line(&mut self, line: &Value, events: &mut Vec<StreamEvent>) -> Result<()> {
        if let Some(error) = failure(NAME, line) {
            return Err(error);
        }
        if let Some(model) = word(line, "model")
            && !self.metadata.contains_key("model")
        {
            self.metadata.insert("model", model);
        }
        let said = line.get("message").unwrap_or(&Value::Null);
        if let Some(thinking) = word(said, "thinking") {
            events.push(StreamEvent::Thinking {
                thinking: thinking.to_owned(),
                signature: None,
            });
        }
        if let Some(text) = word(said, "content") {
            events.push(StreamEvent::Text(text.to_owned()));
        }
        let calls = said.get("tool_calls").and_then(Value::as_array);
        for call in calls.into_iter().flatten() {
            let call = self.call(call)?;
            events.push(StreamEvent::ToolCall(call));
        }
        if line.get("done") == Some(&Value::Bool(true)) {
            self.finish(line, events);
        }
        Ok(())
    }

    /// A call, which always comes whole.
    fn call(&mut self, call: &Value) -> Result<ToolCall> {
        if self.calls.len() >= MOST_CALLS {
            return Err(error(AiErrorKind::InvalidResponse, "too many tool calls"));
        }
        let function = call.get("function").unwrap_or(&Value::Null);
        let name = word(function, "name").unwrap_or_default();
        // Not every version gives ids, and two calls with one id would be one.
        let own = word(call, "id").filter(|id| !self.calls.contains(*id));
        let mut index = self.calls.len();
        let mut id = own.map(str::to_owned);
        let id = loop {
            let next = id.take().unwrap_or_else(|| format!("call_{name}_{index}"));
            if self.calls.insert(next.clone()) {
                break next;
            }
            index += 1;
        };
        let arguments = match function.get("arguments") {
            // Servers that speak the same write them as text.
            Some(Value::String(text)) => ToolArguments::parse(text),
            arguments => ToolArguments::from_value(arguments.cloned().unwrap_or_default()),
        };
        Ok(ToolCall::new(id, name, arguments))
    }

    fn finish(&mut self, line: &Value, events: &mut Vec<StreamEvent>) {
        let mut reason = word(line, "done_reason").map(FinishReason::parse);
        if !self.calls.is_empty() && matches!(reason, None | Some(FinishReason::Stop)) {
            // It is called a stop here, too.
            reason = Some(FinishReason::ToolCalls);
        }
        let count = |name: &str| line.get(name).and_then(Value::as_u64).unwrap_or_default();
        events.push(StreamEvent::Done {
            finish_reason: reason,
            usage: Usage::new(count("prompt_eval_count"), count("eval_count")),
            metadata: std::mem::take(&mut self.metadata),
        });
    }
}

impl AnswerDecoder for ChatDecoder {
    fn read(&mut self, frame: &Frame, events: &mut Vec<StreamEvent>) -> Result<()> {
        let line = serde_json::from_str::<Value>(&frame.data).ok();
        let Some(line) = line.filter(Value::is_object) else {
            let problem = "a piece of the answer cannot be read";
            return Err(error(AiErrorKind::InvalidResponse, problem).with_body(&*frame.data));
        };
        self.line(&line, events)
    }

    fn end(&mut self, _events: &mut Vec<StreamEvent>) -> Result<()> {
        // The last line alone says that the answer is complete.
        Err(error(AiErrorKind::Unreachable, "the answer was cut off"))
    }
}

fn error(kind: AiErrorKind, message: &str) -> AiError {
    AiError::new(kind, NAME, message)
}

/// Text that is there and not empty.
fn word<'v>(value: &'v Value, name: &str) -> Option<&'v str> {
    let text = value.get(name)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
