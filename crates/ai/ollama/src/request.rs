//! What is sent: a turn's context as a request of `/api/chat` ("Generate a chat message" of Ollama's API reference,
//! and `api/types.go` of its repository at fb30760, 2026-08-21).

use roomkit_ai::{AiContext, AiMessage, Part, Role, ToolDefinition, ToolResult};
use serde_json::{Map, Value, json};

use crate::config::{OllamaConfig, Think};

/// The body of a request, for an answer that is whole or streamed.
pub(crate) fn request(
    config: &OllamaConfig,
    context: &AiContext,
    stream: bool,
) -> Map<String, Value> {
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
    set("model", config.model.as_str().into());
    set("messages", messages(config, context).into());
    // Unless it is told not to, the server streams.
    set("stream", stream.into());
    if !context.tools.is_empty() {
        let tools: Vec<Value> = context.tools.iter().map(tool).collect();
        set("tools", tools.into());
    }
    let options = options(config, context);
    if !options.is_empty() {
        set("options", options.into());
    }
    if let Some(think) = think(config, context) {
        set("think", json!(think));
    }
    if let Some(keep) = &config.keep_alive {
        set("keep_alive", json!(keep));
    }
    body
}

/// Whether the model is to think: what the turn's budget says, else its switch, else its effort, else the settings.
/// A level that is set somewhere is kept where thinking is switched on.
fn think(config: &OllamaConfig, context: &AiContext) -> Option<Think> {
    let effort = context.reasoning_effort.as_deref().map(Think::from);
    let budget = context.thinking_budget.map(|budget| budget > 0);
    match budget.or(context.enable_thinking) {
        Some(false) => Some(Think::Switch(false)),
        Some(true) => {
            let level = config.think.clone();
            let level = level.filter(|think| matches!(think, Think::Level(_)));
            Some(effort.or(level).unwrap_or(Think::Switch(true)))
        }
        None => effort.or_else(|| config.think.clone()),
    }
}

fn options(config: &OllamaConfig, context: &AiContext) -> Map<String, Value> {
    let mut options = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            options.insert(name.to_owned(), value);
        }
    };
    let limit = context.max_tokens.or(config.max_tokens);
    set("num_predict", limit.map(Value::from));
    set("num_ctx", config.num_ctx.map(Value::from));
    let temperature = context.temperature.or(config.temperature);
    set("temperature", temperature.map(decimal));
    set("top_p", config.top_p.map(decimal));
    set("top_k", config.top_k.map(Value::from));
    set("min_p", config.min_p.map(decimal));
    for (name, value) in &config.options {
        options.entry(name).or_insert_with(|| value.clone());
    }
    options
}

fn messages(config: &OllamaConfig, context: &AiContext) -> Vec<Value> {
    let sees = config.supports_vision;
    let mut messages = Vec::new();
    if let Some(prompt) = context.system_prompt.as_ref().filter(|p| !p.is_empty()) {
        messages.push(json!({ "role": "system", "content": prompt }));
    }
    for message in &context.messages {
        let mut pictures = Vec::new();
        let before = messages.len();
        for result in message.tool_results() {
            messages.push(self::result(result, sees, &mut pictures));
        }
        // The server looks at pictures in messages of the user's alone.
        if !pictures.is_empty() {
            messages.push(json!({ "role": "user", "content": "", "images": pictures }));
        }
        if messages.len() > before {
            continue;
        }
        match message.role {
            Role::System => {
                messages.push(json!({ "role": "system", "content": message.text() }));
            }
            Role::Assistant => messages.extend(assistant(message)),
            _ => messages.push(user(message, sees)),
        }
    }
    messages
}

fn result(result: &ToolResult, sees: bool, pictures: &mut Vec<Value>) -> Value {
    let (mut text, parts) = result.split();
    let before = pictures.len();
    if sees {
        pictures.extend(parts.iter().filter_map(picture));
    }
    // What cannot be shown is named in its place.
    if pictures.len() - before < parts.len() {
        text = result.as_text();
    }
    json!({
        "role": "tool", "content": text, "tool_name": result.name,
        "tool_call_id": result.tool_call_id,
    })
}

fn user(message: &AiMessage, sees: bool) -> Value {
    let is_picture = |part: &&Part| matches!(part, Part::Image { .. });
    let all = message.parts.iter().filter(is_picture).count();
    let pictures: Vec<Value> = (message.parts.iter())
        .filter(|_| sees)
        .filter_map(picture)
        .collect();
    let text = message.text();
    if pictures.len() < all && text.is_empty() && pictures.is_empty() {
        return json!({ "role": "user", "content": "[image]" });
    }
    let mut said = json!({ "role": "user", "content": text });
    if !pictures.is_empty() {
        put(&mut said, "images", pictures.into());
    }
    said
}

/// What the model said before, its reasoning beside it; nothing where there is nothing in it.
fn assistant(message: &AiMessage) -> Option<Value> {
    let thinking: String = (message.parts.iter())
        .filter_map(|part| match part {
            Part::Thinking { thinking, .. } => Some(thinking.as_str()),
            _ => None,
        })
        .collect();
    let calls: Vec<Value> = (message.tool_calls().enumerate())
        .map(|(index, call)| {
            json!({
                "id": call.id, "type": "function",
                "function": {
                    "index": index, "name": call.name, "arguments": call.arguments.to_object(),
                },
            })
        })
        .collect();
    let text = message.text();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut said = json!({ "role": "assistant", "content": text });
    if !thinking.is_empty() {
        put(&mut said, "thinking", thinking.into());
    }
    if !calls.is_empty() {
        put(&mut said, "tool_calls", calls.into());
    }
    Some(said)
}

/// Sets a member of an object.
fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// A picture's data in base64: the server fetches none by its address.
fn picture(part: &Part) -> Option<Value> {
    let Part::Image { url, .. } = part else {
        return None;
    };
    let (about, data) = url.strip_prefix("data:")?.split_once(',')?;
    about.ends_with(";base64").then(|| data.into())
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
    written.into()
}
