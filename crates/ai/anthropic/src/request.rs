//! What is sent: a turn's context as a request of the Messages API ("Create a Message", read on 2026-11-30).

use std::borrow::Cow;

use roomkit_ai::{
    AiContext, AiMessage, Part, ResultPart, Role, ToolCall, ToolDefinition, ToolResult,
};
use serde_json::{Map, Value, json};

use crate::config::AnthropicConfig;
use crate::sealed::{Block, Kept, Place, open, places};
use crate::thinking::{Off, Thinking};

/// The least budget of thinking that the vendor takes.
const LEAST_BUDGET: u32 = 1_024;
/// What is thought on where thinking is switched on without a number.
const DEFAULT_BUDGET: u32 = 4_096;
/// The room for an answer where nobody set a limit.
const ANSWER: u32 = 1_024;
/// The room for thinking where nobody set a limit and the model thinks as it sees fit.
const UNASKED: u32 = 15_000;

/// What is sent where a turn says nothing.
#[derive(Debug)]
pub(crate) struct Settings {
    model: String,
    max_tokens: Option<u32>,
    temperature: Option<f32>,
    effort: Option<String>,
    caches: bool,
    thinking: Thinking,
    is_official: bool,
    sees: bool,
    extra_body: Map<String, Value>,
}

/// Whether a model is to think, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Thinks {
    Off,
    /// As the model does where nothing is said.
    Unsaid,
    On(Option<u32>),
}

impl Settings {
    pub(crate) fn new(config: &AnthropicConfig, sees: bool) -> Self {
        Self {
            model: config.model.clone(),
            max_tokens: config.max_tokens,
            temperature: config.temperature,
            effort: config.reasoning_effort.clone(),
            caches: config.enable_prompt_caching,
            thinking: config.thinking(),
            is_official: config.is_official(),
            sees,
            extra_body: config.extra_body.clone(),
        }
    }

    /// Whether this body needs the vendor's leave to drop thinking.
    pub(crate) fn binds(body: &Map<String, Value>) -> bool {
        body.get("thinking")
            .is_some_and(|thinking| thinking.get("block_binding").is_some())
    }

    /// The body of a request, for an answer that is whole or streamed.
    pub(crate) fn request(&self, context: &AiContext, stream: bool) -> Map<String, Value> {
        let mut thinks = match (context.thinking_budget, context.enable_thinking) {
            (Some(0), _) | (None, Some(false)) => Thinks::Off,
            (Some(budget), _) => Thinks::On(Some(budget)),
            (None, Some(true)) => Thinks::On(None),
            (None, None) => Thinks::Unsaid,
        };
        let keeps = thinks != Thinks::Off;
        let mut messages: Vec<Value> = (context.messages.iter())
            .filter_map(|message| self.message(message, keeps))
            .collect();
        if !self.thinking.adaptive && lacks_thinking(&messages) {
            // The vendor refuses to think on where it is not told how the thinking began.
            thinks = Thinks::Unsaid;
        }
        let (limit, thinking) = self.limits(context, thinks);
        let mut body = Map::new();
        let mut set = |name: &str, value: Value| body.insert(name.to_owned(), value);
        set("model", self.model.as_str().into());
        set("max_tokens", limit.into());
        let has_thinking = thinking.as_ref().is_some_and(|thinking| {
            thinking["type"] == "enabled" || thinking["type"] == "adaptive"
        });
        let temperature = context.temperature.or(self.temperature);
        if let Some(temperature) =
            temperature.filter(|_| self.thinking.temperature && !has_thinking)
        {
            // As it was written: 0.7 and not 0.699999988079071.
            let written: Option<f64> = temperature.to_string().parse().ok();
            set("temperature", written.into());
        }
        let is_off = matches!(self.thinking.off, Off::Word(_)) && thinks == Thinks::Off;
        let effort = context
            .reasoning_effort
            .as_deref()
            .or(self.effort.as_deref());
        // Not to think and to make the utmost effort is refused.
        let effort = effort.filter(|effort| !(is_off && matches!(*effort, "xhigh" | "max")));
        if let Some(effort) = effort {
            set("output_config", json!({ "effort": effort }));
        }
        if let Some(thinking) = thinking {
            set("thinking", thinking);
        }
        let mut system = system(context);
        let mut tools: Vec<Value> = context.tools.iter().map(tool).collect();
        if self.caches {
            mark(tools.last_mut());
            mark(system.last_mut());
            // The end of the round before, up to which all is in the cache, and that of this one.
            for message in messages.iter_mut().rev().take(2) {
                let blocks = message.get_mut("content").and_then(Value::as_array_mut);
                mark(
                    blocks
                        .into_iter()
                        .flatten()
                        .rev()
                        .find(|block| is_markable(block)),
                );
            }
        }
        if !system.is_empty() {
            set("system", system.into());
        }
        if !tools.is_empty() {
            set("tools", tools.into());
        }
        set("messages", messages.into());
        if stream {
            set("stream", true.into());
        }
        for (name, value) in &self.extra_body {
            body.entry(name).or_insert_with(|| value.clone());
        }
        body
    }

    /// The limit of tokens, and what is said of thinking.
    fn limits(&self, context: &AiContext, thinks: Thinks) -> (u32, Option<Value>) {
        let set = context.max_tokens.or(self.max_tokens);
        let Thinking {
            adaptive,
            unasked,
            off,
            bound,
            ..
        } = self.thinking;
        let is_on = matches!(thinks, Thinks::On(_)) || (thinks == Thinks::Unsaid && unasked);
        let asked = match thinks {
            Thinks::On(budget) => budget,
            _ => None,
        };
        if adaptive {
            let room = match (asked, is_on) {
                (Some(budget), _) => budget,
                (None, true) => UNASKED,
                (None, false) if off == Off::Silence && unasked => UNASKED,
                (None, false) => 0,
            };
            let limit = set.unwrap_or(ANSWER.saturating_add(room));
            let mut thinking = match (is_on, off) {
                // Its reasoning is left out of the answer where it is not asked to be summed up.
                (true, _) => json!({ "type": "adaptive", "display": "summarized" }),
                (false, Off::Word(word)) if thinks == Thinks::Off => json!({ "type": word }),
                _ => return (limit, None),
            };
            if is_on && bound {
                let drops = json!({ "prefix_mismatch_behavior": "drop_block" });
                put(&mut thinking, "block_binding", drops);
            }
            return (limit, Some(thinking));
        }
        if !is_on {
            return (set.unwrap_or(ANSWER), None);
        }
        let budget = asked.unwrap_or(DEFAULT_BUDGET).max(LEAST_BUDGET);
        let limit = set.unwrap_or(ANSWER.saturating_add(budget));
        // The budget is a part of the limit, which counts more.
        let budget = budget.min(limit.saturating_sub(1));
        let thinking = json!({ "type": "enabled", "budget_tokens": budget });
        (limit, (budget >= LEAST_BUDGET).then_some(thinking))
    }

    /// A message; nothing where the vendor takes none.
    fn message(&self, message: &AiMessage, keeps_thinking: bool) -> Option<Value> {
        let (role, content) = match message.role {
            // It stands before all others.
            Role::System => return None,
            Role::Assistant => ("assistant", self.assistant(message, keeps_thinking)),
            _ => ("user", self.user(message)),
        };
        (!content.is_empty()).then(|| json!({ "role": role, "content": content }))
    }

    fn user(&self, message: &AiMessage) -> Vec<Value> {
        // Results come first, as the vendor wants them.
        let results = message.tool_results().map(|result| self.result(result));
        let mut content: Vec<Value> = results.collect();
        let mut has_picture = false;
        for part in &message.parts {
            match part {
                Part::Text { text } => content.extend(self::text(text)),
                Part::Image { url, mime_type } => {
                    has_picture = true;
                    if self.sees {
                        content.push(image(url, mime_type.as_deref()));
                    }
                }
                _ => {}
            }
        }
        if content.is_empty() && has_picture {
            content.extend(text("[image]"));
        }
        content
    }

    fn result(&self, result: &ToolResult) -> Value {
        let mut content: Vec<Value> = Vec::new();
        for part in &result.parts {
            match part {
                ResultPart::Text { text } => content.extend(self::text(text)),
                ResultPart::Image { url, mime_type } if self.sees => {
                    content.push(image(url, mime_type.as_deref()));
                }
                _ => content.extend(text("[image]")),
            }
        }
        let mut block = json!({ "type": "tool_result", "tool_use_id": id(&result.tool_call_id) });
        if !content.is_empty() {
            put(&mut block, "content", content.into());
        }
        if result.is_error {
            put(&mut block, "is_error", true.into());
        }
        block
    }

    /// What the model said before, with its thinking where it was.
    fn assistant(&self, message: &AiMessage, keeps_thinking: bool) -> Vec<Value> {
        let mut content = Vec::new();
        let (mut said, mut calls) = (Vec::new(), Vec::new());
        let mut kept = Vec::new();
        for part in &message.parts {
            match part {
                Part::Text { text } => said.push(text.as_str()),
                Part::ToolCall(call) => calls.push(call),
                Part::Thinking {
                    thinking,
                    signature,
                } if keeps_thinking => match (signature.as_deref(), signature.as_deref().map(open))
                {
                    (Some(signature), Some(Kept::Signature)) => content.push(json!({
                        "type": "thinking", "thinking": thinking, "signature": signature,
                    })),
                    (_, Some(Kept::Blocks(blocks))) => kept.push(blocks),
                    // Anthropic's own are always signed; what is not is of another vendor.
                    (None, _) if !self.is_official && !thinking.is_empty() => {
                        content.push(json!({ "type": "thinking", "thinking": thinking }));
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        if let ([blocks], [] | [_]) = (&*kept, &*said)
            && content.is_empty()
            && let whole = said.first().copied().unwrap_or_default()
            && let Some(places) = places(blocks, whole, calls.len())
        {
            let mut calls = calls.iter();
            return places
                .into_iter()
                .filter_map(|place| match place {
                    Place::Thinking(block) => thought(block),
                    Place::Text(said) => text(said),
                    Place::Call => calls.next().map(|call| tool_use(call)),
                })
                .collect();
        }
        content.extend(kept.iter().flatten().filter_map(thought));
        content.extend(said.into_iter().filter_map(text));
        content.extend(calls.into_iter().map(tool_use));
        content
    }
}

/// What the agent is told before the conversation.
fn system(context: &AiContext) -> Vec<Value> {
    let prompt = context.system_prompt.iter().map(Cow::from);
    let later = context
        .messages
        .iter()
        .filter(|message| message.role == Role::System)
        .map(AiMessage::text);
    prompt.chain(later).filter_map(|said| text(&said)).collect()
}

/// A block of text; the vendor takes none that is blank.
fn text(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text }))
}

fn image(url: &str, mime_type: Option<&str>) -> Value {
    let source = match url
        .strip_prefix("data:")
        .and_then(|url| url.split_once(','))
    {
        Some((about, data)) => {
            let own = about.split(';').next().filter(|own| !own.is_empty());
            json!({
                "type": "base64", "data": data,
                "media_type": own.or(mime_type).unwrap_or("image/png"),
            })
        }
        None => json!({ "type": "url", "url": url }),
    };
    json!({ "type": "image", "source": source })
}

fn thought(block: &Block) -> Option<Value> {
    block
        .is_thinking()
        .then(|| serde_json::to_value(block).ok())?
}

fn tool_use(call: &ToolCall) -> Value {
    json!({
        "type": "tool_use", "id": id(&call.id), "name": name(&call.name),
        "input": call.arguments.to_object(),
    })
}

fn tool(tool: &ToolDefinition) -> Value {
    json!({
        "name": tool.name, "description": tool.description, "input_schema": tool.parameters,
    })
}

/// An id as the vendor takes it, for those that another vendor gave.
fn id(id: &str) -> String {
    id.chars()
        .map(|c| match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => c,
            _ => '_',
        })
        .collect()
}

/// A name as the vendor takes it: a model may have called a tool by one that cannot be.
fn name(name: &str) -> String {
    let name: String = id(name).chars().take(128).collect();
    if name.is_empty() {
        return "_".to_owned();
    }
    name
}

/// Sets a member of an object.
fn put(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

fn mark(block: Option<&mut Value>) {
    if let Some(block) = block {
        put(block, "cache_control", json!({ "type": "ephemeral" }));
    }
}

/// Thinking cannot be marked.
fn is_markable(block: &Value) -> bool {
    ["text", "image", "tool_use", "tool_result"]
        .iter()
        .any(|kind| block["type"] == *kind)
}

/// Whether the conversation stops amid a model's calls which no thinking precedes.
fn lacks_thinking(messages: &[Value]) -> bool {
    let is = |block: &Value, kind: &str| block["type"] == *kind;
    let content = |message: Option<&Value>| -> Vec<Value> {
        let content = message.and_then(|message| message["content"].as_array());
        content.cloned().unwrap_or_default()
    };
    let answers = messages.last();
    if !content(answers)
        .iter()
        .any(|block| is(block, "tool_result"))
    {
        return false;
    }
    let asked = messages
        .iter()
        .rev()
        .find(|message| message["role"] == "assistant");
    match content(asked).first() {
        Some(first) => !is(first, "thinking") && !is(first, "redacted_thinking"),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing)]

    use super::*;

    /// The limit of tokens and what is said of thinking for a model at Anthropic's address.
    fn said(model: &str, budget: Option<u32>, effort: Option<&str>) -> (Value, Value, Value) {
        let config = AnthropicConfig::new(model).temperature(0.5);
        let mut context = AiContext::new([AiMessage::user("Well?")]);
        context.thinking_budget = budget;
        context.reasoning_effort = effort.map(Into::into);
        let body = Settings::new(&config, true).request(&context, true);
        let get = |name: &str| body.get(name).cloned().unwrap_or_default();
        assert_eq!(
            body.contains_key("temperature"),
            config.thinking().temperature && budget != Some(2_000),
            "{model}"
        );
        (
            get("max_tokens"),
            get("thinking"),
            get("output_config")["effort"].clone(),
        )
    }

    #[test]
    fn thinking_is_asked_for_as_the_model_wants_it() {
        let none = Value::Null;
        let kind = |kind: &str| json!({ "type": kind });
        let adaptive = json!({ "type": "adaptive", "display": "summarized" });
        let mut bound = adaptive.clone();
        bound["block_binding"] = json!({ "prefix_mismatch_behavior": "drop_block" });
        let enabled = json!({ "type": "enabled", "budget_tokens": 2_000 });
        for (model, unsaid, off, on) in [
            (
                "claude-haiku-4-5",
                (1_024, &none),
                (1_024, &none),
                (3_024, &enabled),
            ),
            (
                "claude-opus-4-8",
                (1_024, &none),
                (1_024, &none),
                (3_024, &adaptive),
            ),
            (
                "claude-opus-5",
                (16_024, &adaptive),
                (1_024, &kind("disabled")),
                (3_024, &adaptive),
            ),
            (
                "claude-sonnet-5-5",
                (16_024, &bound),
                (1_024, &kind("between_tools")),
                (3_024, &bound),
            ),
            (
                "claude-opus-5-5",
                (16_024, &bound),
                (16_024, &none),
                (3_024, &bound),
            ),
        ] {
            for (budget, (limit, thinking)) in [(None, unsaid), (Some(0), off), (Some(2_000), on)] {
                let expected = (limit.into(), thinking.clone(), none.clone());
                assert_eq!(said(model, budget, None), expected, "{model} {budget:?}");
            }
        }
    }

    #[test]
    fn the_utmost_effort_is_not_asked_of_a_model_that_is_not_to_think() {
        let effort = |model, budget| said(model, budget, Some("max")).2;
        assert_eq!(effort("claude-opus-5", None), "max");
        assert_eq!(effort("claude-opus-5", Some(0)), Value::Null);
        assert_eq!(effort("claude-opus-5-5", Some(0)), "max");
        assert_eq!(said("claude-opus-5", Some(0), Some("low")).2, "low");
    }

    #[test]
    fn anthropic_gets_no_thinking_that_is_not_signed() {
        let thinking = |signature: Option<&str>| Part::Thinking {
            thinking: "Hm.".into(),
            signature: signature.map(Into::into),
        };
        let parts = [
            thinking(None),
            thinking(Some("c2ln")),
            thinking(Some("{}")),
            Part::text("Yes."),
        ];
        let context = AiContext::new([AiMessage::new(Role::Assistant, parts)]);
        let config = AnthropicConfig::new("claude-opus-5-5").enable_prompt_caching(false);
        let body = Settings::new(&config, true).request(&context, false);
        let expected = json!([
            { "type": "thinking", "thinking": "Hm.", "signature": "c2ln" },
            { "type": "text", "text": "Yes." },
        ]);
        assert_eq!(body["messages"][0]["content"], expected);
    }
}
