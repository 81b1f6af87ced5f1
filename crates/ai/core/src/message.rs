//! Messages as a model reads them: roles, parts, tool calls and their results.

use std::borrow::Cow;

use roomkit_core::model::Metadata;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Parts, SharedText};

/// Who says a message of the model's conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// Whoever set the agent up.
    System,
    /// Anybody in the room but this agent.
    User,
    /// This agent.
    Assistant,
    /// A tool, with its results.
    Tool,
}

/// One message of the conversation that a model is given.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct AiMessage {
    /// Who says it.
    pub role: Role,
    /// What is said, in order.
    pub parts: Parts,
    /// Data of the application; no provider sends it.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// A part of a message.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// Text.
    Text {
        /// The text.
        text: SharedText,
    },
    /// A picture.
    Image {
        /// Where it is: an `https:` or a `data:` URL.
        url: String,
        /// Its media type, such as `image/png`, where it is known.
        #[serde(default)]
        mime_type: Option<String>,
    },
    /// The model's own reasoning of an earlier round.
    Thinking {
        /// The reasoning.
        thinking: String,
        /// The vendor's opaque token that goes with it, to be given back unchanged.
        #[serde(default)]
        signature: Option<String>,
    },
    /// A call of a tool that the model made.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
}

/// A call of a tool, as a model asked for it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Tells this call from the others of its turn. Where the vendor gives none, the provider makes one.
    pub id: String,
    /// The tool's name, as the model wrote it: it may be no tool that was offered.
    pub name: String,
    /// What it is called with.
    #[serde(default)]
    pub arguments: ToolArguments,
    /// What the vendor wants back with the call.
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// What a tool is called with, as far as the model wrote it as it must.
///
/// What is no JSON object is kept as it came, and is never executed.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolArguments {
    /// What the model wrote instead of one.
    Malformed {
        /// What it wrote.
        #[serde(rename = "malformed_arguments")]
        text: String,
        /// What is wrong with it, in words that the model can use and that do not repeat it.
        problem: String,
    },
    /// A JSON object; whether it fits the tool's schema is checked where the tool is called.
    Object(Map<String, Value>),
}

/// What a tool answered.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call that it answers.
    pub tool_call_id: String,
    /// The tool's name.
    pub name: String,
    /// What the model is given: text, and pictures where the model can see.
    pub parts: Vec<ResultPart>,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// The result as data, for user interfaces; no provider sends it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
}

/// A part of what a tool answered.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture.
    Image {
        /// Where it is: an `https:` or a `data:` URL.
        url: String,
        /// Its media type, where it is known.
        #[serde(default)]
        mime_type: Option<String>,
    },
}

impl AiMessage {
    /// A message of these parts.
    pub fn new(role: Role, parts: impl IntoIterator<Item = Part>) -> Self {
        Self {
            role,
            parts: parts.into_iter().collect(),
            metadata: Metadata::new(),
        }
    }

    /// What somebody in the room said.
    pub fn user(text: impl Into<SharedText>) -> Self {
        Self::new(Role::User, [Part::text(text)])
    }

    /// What this agent said.
    pub fn assistant(text: impl Into<SharedText>) -> Self {
        Self::new(Role::Assistant, [Part::text(text)])
    }

    /// The results of a round's tool calls.
    pub fn tool(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Part::ToolResult))
    }

    /// Its texts, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        });
        joined(texts)
    }

    /// The calls of tools in it.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
    }

    /// The results of tools in it.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}

impl Part {
    /// Text.
    pub fn text(text: impl Into<SharedText>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture.
    pub fn image(url: impl Into<String>) -> Self {
        Self::Image {
            url: url.into(),
            mime_type: None,
        }
    }
}

impl ToolCall {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: ToolArguments) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments,
            metadata: Metadata::new(),
        }
    }
}

impl ToolArguments {
    /// Reads what a model wrote. Nothing at all is an object without members, as vendors send it for
    /// tools that take nothing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::default();
        }
        match serde_json::from_str::<Value>(text) {
            Ok(value) => Self::from_value(value),
            Err(error) => Self::Malformed {
                text: text.to_owned(),
                problem: format!(
                    "the arguments are no JSON: line {}, column {}",
                    error.line(),
                    error.column()
                ),
            },
        }
    }

    /// Takes what a vendor sent as JSON already; null is an object without members.
    #[must_use]
    pub fn from_value(value: Value) -> Self {
        let kind = match value {
            Value::Object(object) => return Self::Object(object),
            Value::Null => return Self::default(),
            Value::Array(_) => "an array",
            Value::String(_) => "a string",
            Value::Number(_) => "a number",
            Value::Bool(_) => "a boolean",
        };
        Self::Malformed {
            text: value.to_string(),
            problem: format!("the arguments must be a JSON object, not {kind}"),
        }
    }

    /// The object, where it is one.
    #[must_use]
    pub fn as_object(&self) -> Option<&Map<String, Value>> {
        match self {
            Self::Object(object) => Some(object),
            Self::Malformed { .. } => None,
        }
    }

    /// The object to give back to a vendor; an empty one where the model wrote none.
    #[must_use]
    pub fn to_object(&self) -> Cow<'_, Map<String, Value>> {
        match self {
            Self::Object(object) => Cow::Borrowed(object),
            Self::Malformed { .. } => Cow::Owned(Map::new()),
        }
    }

    /// What is wrong with it, where something is.
    #[must_use]
    pub fn problem(&self) -> Option<&str> {
        match self {
            Self::Object(_) => None,
            Self::Malformed { problem, .. } => Some(problem),
        }
    }
}

impl Default for ToolArguments {
    fn default() -> Self {
        Self::Object(Map::new())
    }
}

impl ToolResult {
    /// A result in text.
    pub fn text(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            parts: vec![ResultPart::Text { text: text.into() }],
            is_error: false,
            structured_content: None,
        }
    }

    /// A failure in words for the model.
    pub fn error(call: &ToolCall, text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(call, text)
        }
    }

    /// The texts joined by line breaks, with `[image]` in the place of a picture.
    #[must_use]
    pub fn as_text(&self) -> Cow<'_, str> {
        joined(self.parts.iter().map(|part| match part {
            ResultPart::Text { text } => text.as_str(),
            ResultPart::Image { .. } => "[image]",
        }))
    }

    /// For vendors that take no picture in a result: the text for the result, and the pictures for a
    /// message of the user's after it.
    ///
    /// A result of pictures alone is `[see image below]`, so that each call has an answer.
    #[must_use]
    pub fn split(&self) -> (Cow<'_, str>, Vec<Part>) {
        let images: Vec<Part> = self
            .parts
            .iter()
            .filter_map(|part| match part {
                ResultPart::Image { url, mime_type } => Some(Part::Image {
                    url: url.clone(),
                    mime_type: mime_type.clone(),
                }),
                ResultPart::Text { .. } => None,
            })
            .collect();
        let texts = || {
            self.parts.iter().filter_map(|part| match part {
                ResultPart::Text { text } => Some(text.as_str()),
                ResultPart::Image { .. } => None,
            })
        };
        if texts().next().is_none() && !images.is_empty() {
            return (Cow::Borrowed("[see image below]"), images);
        }
        (joined(texts()), images)
    }
}

/// Borrows where there is only one text.
fn joined<'a>(mut texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let first = texts.next().unwrap_or_default();
    let Some(second) = texts.next() else {
        return Cow::Borrowed(first);
    };
    let mut all = format!("{first}\n{second}");
    for text in texts {
        all.push('\n');
        all.push_str(text);
    }
    Cow::Owned(all)
}

// What people said does not belong into logs: the forms for debugging show shapes alone.
mod debug {
    use std::fmt;

    use super::{AiMessage, Part, ResultPart, ToolArguments, ToolCall, ToolResult};

    impl fmt::Debug for AiMessage {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("AiMessage")
                .field("role", &self.role)
                .field("parts", &self.parts)
                .finish_non_exhaustive()
        }
    }

    impl fmt::Debug for Part {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Text { text } => write!(f, "Text({} bytes)", text.len()),
                Self::Image { url, mime_type } => {
                    write!(f, "Image({} bytes, {mime_type:?})", url.len())
                }
                Self::Thinking { thinking, .. } => write!(f, "Thinking({} bytes)", thinking.len()),
                Self::ToolCall(call) => call.fmt(f),
                Self::ToolResult(result) => result.fmt(f),
            }
        }
    }

    impl fmt::Debug for ToolCall {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("ToolCall")
                .field("id", &self.id)
                .field("name", &self.name)
                .field("arguments", &self.arguments)
                .finish_non_exhaustive()
        }
    }

    impl fmt::Debug for ToolArguments {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Object(object) => write!(f, "Object({} members)", object.len()),
                Self::Malformed { text, problem } => {
                    write!(f, "Malformed({} bytes: {problem})", text.len())
                }
            }
        }
    }

    impl fmt::Debug for ToolResult {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("ToolResult")
                .field("tool_call_id", &self.tool_call_id)
                .field("name", &self.name)
                .field("parts", &self.parts)
                .field("is_error", &self.is_error)
                .finish_non_exhaustive()
        }
    }

    impl fmt::Debug for ResultPart {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self {
                Self::Text { text } => write!(f, "Text({} bytes)", text.len()),
                Self::Image { url, mime_type } => {
                    write!(f, "Image({} bytes, {mime_type:?})", url.len())
                }
            }
        }
    }
}
