//! Messages made from a template that a provider has approved.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::validate::ValidationError;

/// A message made from an approved template, as WhatsApp and RCS ask for (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TemplateContent {
    /// The template's id at the provider.
    pub template_id: String,
    /// The template's language. Default: `en`.
    pub language: String,
    /// What takes the place of each variable.
    pub parameters: BTreeMap<String, String>,
    /// The text for channels without templates.
    pub body: Option<String>,
}

impl TemplateContent {
    /// The language of a template that states none.
    pub const DEFAULT_LANGUAGE: &str = "en";

    /// Makes a message of a template without variables, in the default language.
    pub fn new(template_id: impl Into<String>) -> Self {
        Self {
            template_id: template_id.into(),
            language: Self::DEFAULT_LANGUAGE.to_owned(),
            parameters: BTreeMap::new(),
            body: None,
        }
    }
}

impl FromFields for TemplateContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            template_id: fields.required("template_id")?,
            language: fields.or("language", Self::DEFAULT_LANGUAGE.to_owned())?,
            parameters: fields.or_default("parameters")?,
            body: fields.optional("body")?,
        })
    }
}

deserialize_from_fields!(TemplateContent);
