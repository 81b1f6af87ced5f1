//! What is sent: a turn's context as a request of Responses.

use roomkit_ai::{AiContext, AiMessage, Part, ResultPart, Role, ToolDefinition, ToolResult};
use serde_json::{Map, Value, json};

use super::Settings;

impl Settings {
    /// The body of a request, for an answer that is whole or streamed.
    pub(super) fn request(&self, context: &AiContext, stream: bool) -> Map<String, Value> {
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
        set("model", self.model.as_str().into());
        if let Some(prompt) = context.system_prompt.as_ref().filter(|p| !p.is_empty()) {
            set("instructions", prompt.as_str().into());
        }
        set("input", self.input(context).into());
        // The room keeps the conversation: what OpenAI kept besides could not be edited or deleted there.
        set("store", false.into());
        if let Some(limit) = context.max_tokens.or(self.max_tokens) {
            set("max_output_tokens", limit.into());
        }
        let temperature = context.temperature.or(self.temperature);
        if let Some(temperature) = temperature.filter(|_| self.sends_temperature) {
            // As it was written: 0.7 and not 0.699999988079071.
            let written: Option<f64> = temperature.to_string().parse().ok();
            set("temperature", written.into());
        }
        let effort = context.reasoning_effort.as_ref().or(self.effort.as_ref());
        let mut reasoning = Map::new();
        if let Some(effort) = effort {
            reasoning.insert("effort".into(), effort.as_str().into());
        }
        if let Some(summary) = &self.summary {
            reasoning.insert("summary".into(), summary.as_str().into());
        }
        if !reasoning.is_empty() {
            set("reasoning", reasoning.into());
        }
        if self.thinks {
            set("include", json!(["reasoning.encrypted_content"]));
        }
        if !context.tools.is_empty() {
            let tools: Vec<Value> = context.tools.iter().map(tool).collect();
            set("tools", tools.into());
        }
        if stream {
            set("stream", true.into());
        }
        for (name, value) in &self.extra_body {
            body.entry(name).or_insert_with(|| value.clone());
        }
        body
    }

    fn input(&self, context: &AiContext) -> Vec<Value> {
        let mut input = Vec::new();
        for message in &context.messages {
            let before = input.len();
            input.extend(message.tool_results().map(|result| self.output(result)));
            if input.len() > before {
                continue;
            }
            match message.role {
                Role::System => {
                    input.push(json!({ "role": "developer", "content": message.text() }));
                }
                Role::Assistant => self.assistant(message, &mut input),
                _ => input.push(json!({ "role": "user", "content": self.content(message) })),
            }
        }
        input
    }

    fn content(&self, message: &AiMessage) -> Vec<Value> {
        let part = |part: &Part| match part {
            Part::Text { text } => Some(text_part(text)),
            Part::Image { url, .. } if self.sees => Some(image_part(url)),
            _ => None,
        };
        let content: Vec<Value> = message.parts.iter().filter_map(part).collect();
        if content.is_empty() {
            return vec![text_part("[image]")];
        }
        content
    }

    /// What the model reasoned, said and called, each an item of its own.
    fn assistant(&self, message: &AiMessage, input: &mut Vec<Value>) {
        if self.thinks {
            let signatures = message.parts.iter().filter_map(|part| match part {
                Part::Thinking { signature, .. } => signature.as_deref(),
                _ => None,
            });
            input.extend(signatures.flat_map(reasoning_items));
        }
        let text = message.text();
        if !text.is_empty() {
            let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
            input.push(json!({ "type": "message", "role": "assistant", "content": content }));
        }
        input.extend(message.tool_calls().map(|call| {
            let arguments = Value::Object(call.arguments.to_object().into_owned());
            json!({
                "type": "function_call", "call_id": call.id, "name": call.name,
                "arguments": arguments.to_string(),
            })
        }));
    }

    /// A result; where it has pictures, as a list of parts.
    fn output(&self, result: &ToolResult) -> Value {
        let is_picture = |part: &ResultPart| matches!(part, ResultPart::Image { .. });
        let output: Value = if self.sees && result.parts.iter().any(is_picture) {
            let part = |part: &ResultPart| match part {
                ResultPart::Text { text } => Some(text_part(text)),
                ResultPart::Image { url, .. } => Some(image_part(url)),
                _ => None,
            };
            result.parts.iter().filter_map(part).collect()
        } else {
            result.as_text().into()
        };
        json!({
            "type": "function_call_output", "call_id": result.tool_call_id, "output": output,
        })
    }
}

/// The sealed reasoning of an answer, as [the decoder](super::decode) wrote it; nothing of another vendor's.
fn reasoning_items(signature: &str) -> Vec<Value> {
    let items: Vec<Value> = serde_json::from_str(signature).unwrap_or_default();
    let is_reasoning = |item: &Value| item.get("type").is_some_and(|kind| kind == "reasoning");
    items.into_iter().filter(is_reasoning).collect()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "input_text", "text": text })
}

fn image_part(url: &str) -> Value {
    json!({ "type": "input_image", "image_url": url })
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "type": "function", "name": tool.name, "description": tool.description,
        // Strict schemas must list every property as required, which those of applications do not.
        "parameters": tool.parameters, "strict": false,
    })
}
