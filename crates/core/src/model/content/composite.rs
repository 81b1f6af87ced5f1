//! Content made of several parts.

use serde::Serialize;
use serde_json::Value;

use super::nesting::Nesting;
use super::{EventContent, parse};
use crate::model::fields::{Fields, FromFields, convert, deserialize_from_fields};
use crate::model::validate::ValidationError;

/// A message of several parts, in order (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CompositeContent {
    /// The parts; at least one. Composites lie in one another at most
    /// [`MAX_COMPOSITE_DEPTH`](super::MAX_COMPOSITE_DEPTH) deep.
    pub parts: Vec<EventContent>,
}

impl CompositeContent {
    /// Makes a message of these parts.
    pub fn new(parts: impl IntoIterator<Item = EventContent>) -> Self {
        Self {
            parts: parts.into_iter().collect(),
        }
    }

    /// Checks that there are parts, how deep they lie, and each of them.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first part that breaks a rule, by its path, such as `parts[1].url`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.check(Nesting::default())
    }

    pub(super) fn check(&self, nesting: Nesting) -> Result<(), ValidationError> {
        let nesting = nesting.composite()?;
        not_empty(&self.parts)?;
        for (position, part) in self.parts.iter().enumerate() {
            part.check(nesting)
                .map_err(|error| error.within(path(position)))?;
        }
        Ok(())
    }

    pub(super) fn read(fields: &mut Fields, nesting: Nesting) -> Result<Self, ValidationError> {
        let nesting = nesting.composite()?;
        let values: Vec<Value> = fields.required("parts")?;
        not_empty(&values)?;
        let mut parts = Vec::with_capacity(values.len());
        for (position, value) in values.into_iter().enumerate() {
            let path = path(position);
            let part = parse::content(convert(&path, value)?, nesting);
            parts.push(part.map_err(|error| error.within(path))?);
        }
        Ok(Self { parts })
    }
}

impl FromFields for CompositeContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Self::read(fields, Nesting::default())
    }
}

deserialize_from_fields!(CompositeContent);

fn path(position: usize) -> String {
    format!("parts[{position}]")
}

fn not_empty<T>(parts: &[T]) -> Result<(), ValidationError> {
    if parts.is_empty() {
        return Err(ValidationError::new("parts", "must not be empty"));
    }
    Ok(())
}
