//! How deep content may lie in content.

use crate::model::validate::ValidationError;

/// How many composites may lie in one another (RFC §5.3).
pub const MAX_COMPOSITE_DEPTH: usize = 5;

/// What a piece of content lies in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Nesting {
    composites: usize,
    in_edit: bool,
}

impl Nesting {
    /// Goes into a composite.
    pub(super) fn composite(self) -> Result<Self, ValidationError> {
        if self.composites == MAX_COMPOSITE_DEPTH {
            return Err(ValidationError::new(
                "parts",
                format_args!("composite content may nest at most {MAX_COMPOSITE_DEPTH} levels"),
            ));
        }
        Ok(Self {
            composites: self.composites + 1,
            ..self
        })
    }

    /// Goes into the new content of an edit.
    pub(super) fn edit(self) -> Result<Self, ValidationError> {
        self.outside_edit("an edit")?;
        Ok(Self {
            in_edit: true,
            ..self
        })
    }

    /// Comes upon a delete.
    pub(super) fn delete(self) -> Result<(), ValidationError> {
        self.outside_edit("a delete")
    }

    fn outside_edit(self, what: &str) -> Result<(), ValidationError> {
        if self.in_edit {
            return Err(ValidationError::new(
                "type",
                format_args!("{what} may not lie in the new content of an edit"),
            ));
        }
        Ok(())
    }
}
