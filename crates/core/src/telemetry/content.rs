//! What of others' words may be logged: nothing, unless the kit was told to.

use std::fmt::{self, Display};

/// Stands for what is not logged.
pub(crate) const REDACTED: &str = "[redacted]";

/// Whether the words of people, agents and providers, and of errors that may repeat them, are logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LogContent(pub(crate) bool);

impl LogContent {
    /// A value as it may be logged.
    pub(crate) fn show<T: Display>(self, value: T) -> Shown<T> {
        Shown(self.0.then_some(value))
    }
}

/// A value in a log line, or what stands for it.
pub(crate) struct Shown<T>(Option<T>);

impl<T: Display> Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str(REDACTED),
        }
    }
}
