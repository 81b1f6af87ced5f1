//! Notices of the framework.

use serde::Serialize;

use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::metadata::Metadata;
use crate::model::validate::ValidationError;

/// A notice made by a program (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SystemContent {
    /// The notice in words.
    pub body: String,
    /// What it is about, for programs.
    pub code: Option<String>,
    /// The facts, for programs.
    pub data: Metadata,
}

impl SystemContent {
    /// Makes a notice without data.
    pub fn new(code: impl Into<String>, body: impl Into<String>) -> Self {
        Self {
            body: body.into(),
            code: Some(code.into()),
            data: Metadata::new(),
        }
    }
}

impl FromFields for SystemContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            body: fields.required("body")?,
            code: fields.optional("code")?,
            data: fields.or_default("data")?,
        })
    }
}

deserialize_from_fields!(SystemContent);
