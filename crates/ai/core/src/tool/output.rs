//! What a tool gives back.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::ToolError;
use crate::{ResultPart, ToolCall, ToolResult};

/// What a tool gives back: parts for the model, and data for user interfaces.
///
/// Text, numbers, `()`, JSON values and [`Json`] convert into one.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model is given: text, and pictures where the model can see.
    pub parts: Vec<ResultPart>,
    /// Whether the tool failed, and the parts say how.
    pub is_error: bool,
    /// The result as data, for user interfaces; it is never cut, and no model sees it.
    pub structured_content: Option<Value>,
}

/// A result that is given to the model as JSON, and to user interfaces as data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl ToolOutput {
    /// Text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::parts([ResultPart::Text { text: text.into() }])
    }

    /// These parts.
    pub fn parts(parts: impl IntoIterator<Item = ResultPart>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Adds a picture: an `https:` or a `data:` URL.
    #[must_use]
    pub fn with_image(mut self, url: impl Into<String>, mime_type: Option<String>) -> Self {
        self.parts.push(ResultPart::Image {
            url: url.into(),
            mime_type,
        });
        self
    }

    /// Sets the data for user interfaces.
    #[must_use]
    pub fn with_structured_content(mut self, value: impl Into<Value>) -> Self {
        self.structured_content = Some(value.into());
        self
    }

    /// Says that the tool failed.
    #[must_use]
    pub fn failed(mut self) -> Self {
        self.is_error = true;
        self
    }

    /// The result of `call` with this in it.
    #[must_use]
    pub fn into_result(self, call: &ToolCall) -> ToolResult {
        ToolResult {
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            parts: self.parts,
            is_error: self.is_error,
            structured_content: self.structured_content,
        }
    }
}

/// What a handler may return: anything that is an output, or a `Result` with it.
///
/// An error may be a [`ToolError`] or any error that converts into one.
pub trait IntoToolResult {
    /// The output or the error.
    ///
    /// # Errors
    /// What the handler returned as one, or a value that is no JSON.
    fn into_tool_result(self) -> Result<ToolOutput, ToolError>;
}

impl<T: IntoToolResult, E: Into<ToolError>> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        self.map_err(Into::into)?.into_tool_result()
    }
}

impl<T: Serialize> IntoToolResult for Json<T> {
    fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
        Ok(serde_json::to_value(self.0)?.into())
    }
}

impl From<Value> for ToolOutput {
    /// JSON text for the model, and the value for user interfaces; a string is its text.
    fn from(value: Value) -> Self {
        match value {
            Value::String(text) => Self::text(text),
            value => Self::text(value.to_string()).with_structured_content(value),
        }
    }
}

impl From<()> for ToolOutput {
    /// `ok`, so that the model reads an answer.
    fn from((): ()) -> Self {
        Self::text("ok")
    }
}

impl From<Vec<ResultPart>> for ToolOutput {
    fn from(parts: Vec<ResultPart>) -> Self {
        Self::parts(parts)
    }
}

macro_rules! text {
    ($($type:ty),+) => {$(
        impl From<$type> for ToolOutput {
            fn from(value: $type) -> Self {
                Self::text(value.to_string())
            }
        }
    )+};
}

text!(&str, bool, i32, i64, u32, u64, usize, f64);

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

macro_rules! output {
    ($($type:ty),+) => {$(
        impl IntoToolResult for $type {
            fn into_tool_result(self) -> Result<ToolOutput, ToolError> {
                Ok(self.into())
            }
        }
    )+};
}

output!(
    ToolOutput,
    String,
    &str,
    (),
    Value,
    Vec<ResultPart>,
    bool,
    i32,
    i64,
    u32,
    u64,
    usize,
    f64
);

impl fmt::Debug for ToolOutput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolOutput")
            .field("parts", &self.parts)
            .field("is_error", &self.is_error)
            .finish_non_exhaustive()
    }
}
