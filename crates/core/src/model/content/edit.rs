//! Changes of earlier messages: edits and deletions.

use serde::Serialize;

use super::nesting::Nesting;
use super::{EventContent, parse};
use crate::model::enums::DeleteType;
use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::ids::EventId;
use crate::model::validate::ValidationError;

/// A new version of an earlier message (RFC §5.3, §10.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EditContent {
    /// The message that changes.
    pub target_event_id: EventId,
    /// What it says from now on; neither an edit nor a delete, nor a composite that holds one.
    pub new_content: Box<EventContent>,
    /// Who changes it: `sender` or `system`. Default: `sender`.
    pub edit_source: Option<String>,
}

impl EditContent {
    /// The source of an edit that states none.
    pub const DEFAULT_SOURCE: &str = "sender";

    /// Makes an edit by the message's author.
    pub fn new(target: impl Into<EventId>, new_content: impl Into<EventContent>) -> Self {
        Self {
            target_event_id: target.into(),
            new_content: Box::new(new_content.into()),
            edit_source: Some(Self::DEFAULT_SOURCE.to_owned()),
        }
    }

    /// Checks the new content.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when the new content is an edit or a delete or breaks a rule of its own, by
    /// its path, such as `new_content.latitude`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.check(Nesting::default())
    }

    pub(super) fn check(&self, nesting: Nesting) -> Result<(), ValidationError> {
        let nesting = nesting.edit()?;
        self.new_content
            .check(nesting)
            .map_err(|error| error.within("new_content"))
    }

    pub(super) fn read(fields: &mut Fields, nesting: Nesting) -> Result<Self, ValidationError> {
        let nesting = nesting.edit()?;
        let source: Option<String> = fields.optional("edit_source")?;
        Ok(Self {
            target_event_id: fields.required("target_event_id")?,
            new_content: parse::content(fields.required("new_content")?, nesting)
                .map(Box::new)
                .map_err(|error| error.within("new_content"))?,
            edit_source: source.or_else(|| Some(Self::DEFAULT_SOURCE.to_owned())),
        })
    }
}

impl FromFields for EditContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Self::read(fields, Nesting::default())
    }
}

/// The deletion of an earlier message (RFC §5.3, §10.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeleteContent {
    /// The message that goes.
    pub target_event_id: EventId,
    /// On whose authority. Default: its sender's.
    pub delete_type: DeleteType,
    /// Why.
    pub reason: Option<String>,
}

impl DeleteContent {
    /// Makes a deletion by the message's author, without a reason.
    pub fn new(target: impl Into<EventId>) -> Self {
        Self {
            target_event_id: target.into(),
            delete_type: DeleteType::default(),
            reason: None,
        }
    }
}

impl FromFields for DeleteContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        Ok(Self {
            target_event_id: fields.required("target_event_id")?,
            delete_type: fields.or_default("delete_type")?,
            reason: fields.optional("reason")?,
        })
    }
}

deserialize_from_fields!(EditContent, DeleteContent);
