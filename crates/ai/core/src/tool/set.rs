//! A set of tools, by name.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::name::is_name;
use super::{Tool, schema};
use crate::ToolDefinition;

/// Tools with names that differ, in the order in which they were added. Cloning it copies pointers.
#[derive(Clone, Default)]
pub struct ToolSet {
    entries: Vec<Entry>,
    by_name: HashMap<Arc<str>, usize>,
}

#[derive(Clone)]
struct Entry {
    definition: Arc<ToolDefinition>,
    tool: Arc<dyn Tool>,
}

/// Why a tool cannot be put into a set.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ToolSetError {
    /// The set has a tool of that name.
    #[error("tool_duplicate_name: there is a tool named `{name}` already")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Vendors do not take the name.
    #[error(
        "tool_invalid_name: `{name}` is no name for a tool: 1 to 64 ASCII letters, digits, `_` and `-`"
    )]
    InvalidName {
        /// The name.
        name: String,
    },
    /// The schema of the arguments is none of an object.
    #[error("tool_invalid_schema: `{name}`: {problem}")]
    InvalidSchema {
        /// The tool.
        name: String,
        /// What is wrong, and where.
        problem: String,
    },
}

impl ToolSetError {
    /// The stable code, such as `tool_duplicate_name`.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Duplicate { .. } => "tool_duplicate_name",
            Self::InvalidName { .. } => "tool_invalid_name",
            Self::InvalidSchema { .. } => "tool_invalid_schema",
        }
    }

    /// Whether the same may succeed later: never.
    #[must_use]
    pub const fn is_retryable(&self) -> bool {
        false
    }
}

impl ToolSet {
    /// No tool.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    ///
    /// # Errors
    /// When its name is taken or none that vendors take, or its schema is none of an object.
    pub fn add(&mut self, tool: impl Tool) -> Result<(), ToolSetError> {
        self.add_shared(Arc::new(tool))
    }

    /// Adds a tool that others hold too.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_shared(&mut self, tool: Arc<dyn Tool>) -> Result<(), ToolSetError> {
        let definition = tool.definition().clone();
        let name = definition.name.clone();
        if !is_name(&name) {
            return Err(ToolSetError::InvalidName { name });
        }
        if self.by_name.contains_key(name.as_str()) {
            return Err(ToolSetError::Duplicate { name });
        }
        if let Some(problem) = schema::unsound(&definition.parameters) {
            return Err(ToolSetError::InvalidSchema { name, problem });
        }
        let position = self.entries.len();
        self.entries.push(Entry {
            definition: Arc::new(definition),
            tool,
        });
        self.by_name.insert(name.into(), position);
        Ok(())
    }

    /// The same with one more tool.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn with(mut self, tool: impl Tool) -> Result<Self, ToolSetError> {
        self.add(tool)?;
        Ok(self)
    }

    /// Adds all tools of another set.
    ///
    /// # Errors
    /// When a name is taken; then none was added.
    pub fn merge(&mut self, other: &Self) -> Result<(), ToolSetError> {
        if let Some(name) = other.names().find(|name| self.contains(name)) {
            let name = name.to_owned();
            return Err(ToolSetError::Duplicate { name });
        }
        for entry in &other.entries {
            let name = Arc::from(entry.definition.name.as_str());
            self.by_name.insert(name, self.entries.len());
            self.entries.push(entry.clone());
        }
        Ok(())
    }

    /// The tools of which `keep` is true.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&ToolDefinition) -> bool) -> Self {
        let mut kept = Self::new();
        for entry in self.entries.iter().filter(|entry| keep(&entry.definition)) {
            let name = Arc::from(entry.definition.name.as_str());
            kept.by_name.insert(name, kept.entries.len());
            kept.entries.push(entry.clone());
        }
        kept
    }

    /// The tool of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.entry(name).map(|entry| &entry.tool)
    }

    /// What the model is told of the tool of a name, as it was when the tool was added.
    #[must_use]
    pub fn definition(&self, name: &str) -> Option<&ToolDefinition> {
        self.entry(name).map(|entry| &*entry.definition)
    }

    /// Whether there is a tool of that name.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// What the model is told of each tool.
    pub fn definitions(&self) -> impl Iterator<Item = &ToolDefinition> {
        self.entries.iter().map(|entry| &*entry.definition)
    }

    /// The names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.definitions()
            .map(|definition| definition.name.as_str())
    }

    /// How many tools there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.get(*self.by_name.get(name)?)
    }
}

impl fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
