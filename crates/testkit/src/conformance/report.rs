//! What became of the files, in the form in which it is shown.

use std::fmt;

use serde_json::Value;

use super::self_check::Tally;

/// What became of one file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct FileReport {
    /// The scenario's name, else the file's.
    pub name: String,
    /// What is wrong, a line each: differences, or why the file could not be checked. Nothing when it
    /// passed.
    pub problems: Vec<String>,
    /// The trace that was left, where it came to that.
    pub trace: Option<Value>,
    /// What the self-check tried, where it was asked for.
    pub changes: Option<Tally>,
}

impl FileReport {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            problems: Vec::new(),
            trace: None,
            changes: None,
        }
    }

    /// Whether nothing is wrong.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.problems.is_empty()
    }
}

impl fmt::Display for FileReport {
    /// A line that says `ok` or `FAILED`, then the problems, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.passed() { "ok" } else { "FAILED" };
        write!(f, "{verdict} {}", self.name)?;
        if let Some(changes) = &self.changes {
            write!(f, ": {changes}")?;
        }
        for problem in &self.problems {
            write!(f, "\n  {problem}")?;
        }
        Ok(())
    }
}

/// What became of all files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summary {
    /// How many files passed.
    pub passed: usize,
    /// How many did not.
    pub failed: usize,
    /// What the self-check tried in all of them, where it was asked for.
    pub changes: Option<Tally>,
}

impl Summary {
    /// Counts a file.
    pub fn add(&mut self, report: &FileReport) {
        if report.passed() {
            self.passed += 1;
        } else {
            self.failed += 1;
        }
        if let Some(changes) = &report.changes {
            self.changes.get_or_insert_default().add(changes);
        }
    }

    /// Whether every file passed.
    #[must_use]
    pub const fn all_passed(&self) -> bool {
        self.failed == 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(changes) = &self.changes {
            writeln!(f, "{changes}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}
