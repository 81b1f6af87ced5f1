//! Plain text.

use serde::Serialize;

use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::validate::ValidationError;

/// A plain text message (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TextContent {
    /// The text.
    pub body: String,
    /// Its language, as an ISO 639-1 code.
    pub language: Option<String>,
}

impl TextContent {
    /// Makes a text of no stated language.
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            language: None,
        }
    }
}

impl FromFields for TextContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            body: fields.required("body")?,
            language: fields.optional("language")?,
        })
    }
}

deserialize_from_fields!(TextContent);
