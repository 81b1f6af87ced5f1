//! Formatted text with things to press.

use serde::Serialize;

use crate::model::enums::RichFormat;
use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::metadata::Metadata;
use crate::model::validate::ValidationError;

/// Formatted text with interactive elements (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RichContent {
    /// The text, with its markup.
    pub body: String,
    /// The markup of the text. Default: Markdown.
    pub format: RichFormat,
    /// The text for channels that show no markup; made from `body` when absent.
    pub plain_text: Option<String>,
    /// Buttons, each an object such as `{"text": …, "payload": …}`.
    pub buttons: Vec<Metadata>,
    /// Cards, each an object such as `{"title": …}`.
    pub cards: Vec<Metadata>,
    /// Answers to suggest.
    pub quick_replies: Vec<String>,
}

impl RichContent {
    /// Makes Markdown text without interactive elements.
    pub fn new(body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            format: RichFormat::default(),
            plain_text: None,
            buttons: Vec::new(),
            cards: Vec::new(),
            quick_replies: Vec::new(),
        }
    }
}

impl FromFields for RichContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            body: fields.required("body")?,
            format: fields.or_default("format")?,
            plain_text: fields.optional("plain_text")?,
            buttons: fields.or_default("buttons")?,
            cards: fields.or_default("cards")?,
            quick_replies: fields.or_default("quick_replies")?,
        })
    }
}

deserialize_from_fields!(RichContent);
