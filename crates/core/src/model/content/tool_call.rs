//! Calls of tools by agents.

use serde::Serialize;
use serde_json::Value;

use crate::model::enums::ToolCallStatus;
use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::metadata::Metadata;
use crate::model::validate::ValidationError;

/// A tool call of an agent: the same content at its start and at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ToolCallContent {
    /// The tool's name.
    pub tool_name: String,
    /// The id of the call; start and end have the same.
    pub tool_id: String,
    /// What the tool is called with.
    pub arguments: Metadata,
    /// What it returned. Default: null.
    pub result: Value,
    /// How far the call is. Default: pending.
    pub status: ToolCallStatus,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
    /// Why it failed.
    pub error: Option<String>,
    /// What it returned as an object, where the tool declares one.
    pub structured_content: Option<Metadata>,
}

impl ToolCallContent {
    /// Makes a call that has just begun, without arguments.
    pub fn new(tool_name: impl Into<String>, tool_id: impl Into<String>) -> Self {
        Self {
            tool_name: tool_name.into(),
            tool_id: tool_id.into(),
            arguments: Metadata::new(),
            result: Value::Null,
            status: ToolCallStatus::default(),
            duration_ms: None,
            error: None,
            structured_content: None,
        }
    }
}

impl FromFields for ToolCallContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            tool_name: fields.required("tool_name")?,
            tool_id: fields.required("tool_id")?,
            arguments: fields.or_default("arguments")?,
            result: fields.or_default("result")?,
            status: fields.or_default("status")?,
            duration_ms: fields.optional("duration_ms")?,
            error: fields.optional("error")?,
            structured_content: fields.optional("structured_content")?,
        })
    }
}

deserialize_from_fields!(ToolCallContent);
