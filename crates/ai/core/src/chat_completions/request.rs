//! What is sent: a turn's context as a request of Chat Completions.

use serde_json::{Map, Value, json};

use super::dialect::{Dialect, GivesBack, TokenLimit, ToolEffort};
use crate::{AiContext, AiMessage, Part, Role, ToolDefinition};

impl Dialect {
    /// The body of a request, for an answer that is whole or streamed.
    #[must_use]
    pub fn request(&self, context: &AiContext, stream: bool) -> Map<String, Value> {
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
        set("model", (*self.model).into());
        set("messages", self.messages(context).into());
        if let Some(limit) = context.max_tokens.or(self.max_tokens) {
            let name = match self.token_limit {
                TokenLimit::MaxTokens => "max_tokens",
                TokenLimit::MaxCompletionTokens => "max_completion_tokens",
            };
            set(name, limit.into());
        }
        let temperature = context.temperature.or(self.temperature);
        if let Some(temperature) = temperature.filter(|_| self.sends_temperature) {
            set("temperature", decimal(temperature));
        }
        if let Some(effort) = self.effort(context) {
            set("reasoning_effort", effort.into());
        }
        if !context.tools.is_empty() {
            let tools: Vec<Value> = context.tools.iter().map(tool).collect();
            set("tools", tools.into());
        }
        if stream {
            set("stream", true.into());
            if self.stream_usage {
                set("stream_options", json!({ "include_usage": true }));
            }
        }
        for (name, value) in &self.extra_body {
            body.entry(name).or_insert_with(|| value.clone());
        }
        if let Some(adapt) = &self.adapt {
            adapt(context, &mut body);
        }
        body
    }

    fn effort<'c>(&'c self, context: &'c AiContext) -> Option<&'c str> {
        let effort = context.reasoning_effort.as_ref();
        let effort = effort.or(self.reasoning_effort.as_ref());
        match self.tool_effort {
            ToolEffort::Fixed(fixed) if !context.tools.is_empty() => Some(fixed),
            ToolEffort::Omitted if !context.tools.is_empty() => None,
            _ => effort.map(String::as_str),
        }
    }

    fn messages(&self, context: &AiContext) -> Vec<Value> {
        let mut messages = Vec::new();
        if let Some(prompt) = context.system_prompt.as_ref().filter(|p| !p.is_empty()) {
            messages.push(json!({ "role": "system", "content": prompt }));
        }
        // Pictures of results, which stand in a message of the user's: no message may come between the
        // results of one round.
        let mut pictures: Vec<Value> = Vec::new();
        let flush = |messages: &mut Vec<Value>, pictures: &mut Vec<Value>| {
            if !pictures.is_empty() {
                let content = std::mem::take(pictures);
                messages.push(json!({ "role": "user", "content": content }));
            }
        };
        for message in &context.messages {
            let mut is_result = false;
            for result in message.tool_results() {
                is_result = true;
                let (text, images) = if self.vision {
                    result.split()
                } else {
                    (result.as_text(), Vec::new())
                };
                messages.push(json!({
                    "role": "tool", "tool_call_id": result.tool_call_id, "content": text,
                }));
                pictures.extend(images.iter().filter_map(picture));
            }
            if is_result {
                continue;
            }
            flush(&mut messages, &mut pictures);
            match message.role {
                Role::System => {
                    messages.push(json!({ "role": "system", "content": message.text() }));
                }
                Role::Assistant => messages.extend(self.assistant(message)),
                _ => messages.push(json!({ "role": "user", "content": self.content(message) })),
            }
        }
        flush(&mut messages, &mut pictures);
        messages
    }

    /// A message of the user's: text alone as a string, which every server takes.
    fn content(&self, message: &AiMessage) -> Value {
        let is_picture = |part: &Part| matches!(part, Part::Image { .. });
        let has_pictures = message.parts.iter().any(is_picture);
        if has_pictures && self.vision {
            let part = |part: &Part| match part {
                Part::Text { text } => Some(json!({ "type": "text", "text": text })),
                other => picture(other),
            };
            return message.parts.iter().filter_map(part).collect();
        }
        let text = message.text();
        if text.is_empty() && has_pictures {
            return "[image]".into();
        }
        text.into()
    }

    /// What the model said before; nothing where only reasoning is left that it is not given back.
    fn assistant(&self, message: &AiMessage) -> Option<Value> {
        let mut text = message.text().into_owned();
        let thinking = message.parts.iter().filter_map(|part| match part {
            Part::Thinking { thinking, .. } => Some(thinking.as_str()),
            _ => None,
        });
        let thinking: String = thinking.collect();
        let mut said = Map::new();
        said.insert("role".into(), "assistant".into());
        match self.gives_back {
            _ if thinking.is_empty() => {}
            GivesBack::Nothing => {}
            GivesBack::ThinkTags => text = format!("<think>{thinking}</think>{text}"),
            GivesBack::Field(name) => {
                said.insert(name.into(), thinking.into());
            }
        }
        let calls: Vec<Value> = message
            .tool_calls()
            .map(|call| {
                // Arguments are text that holds JSON.
                let arguments = Value::Object(call.arguments.to_object().into_owned());
                json!({
                    "id": call.id, "type": "function",
                    "function": { "name": call.name, "arguments": arguments.to_string() },
                })
            })
            .collect();
        if text.is_empty() && calls.is_empty() {
            return None;
        }
        let content = (!text.is_empty()).then_some(text);
        said.insert("content".into(), content.into());
        if !calls.is_empty() {
            said.insert("tool_calls".into(), calls.into());
        }
        Some(said.into())
    }
}

fn picture(part: &Part) -> Option<Value> {
    match part {
        Part::Image { url, .. } => {
            Some(json!({ "type": "image_url", "image_url": { "url": url } }))
        }
        _ => None,
    }
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name, "description": tool.description, "parameters": tool.parameters,
        },
    })
}

/// A number as it was written: 0.7 and not 0.699999988079071.
fn decimal(number: f32) -> Value {
    let written: Option<f64> = number.to_string().parse().ok();
    written.map_or(Value::Null, Value::from)
}
