//! What came of an import, table by table and, where something is missing, row by row.

use std::fmt;

/// What an import brought, and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportReport {
    /// Every table with how many of its rows came over. Of each, `imported` and its rows among
    /// `problems` make `rows`.
    pub tables: Vec<TableReport>,
    /// Every row that did not come over; `*` is the key of those that a damaged file does not tell apart.
    pub problems: Vec<RowProblem>,
}

/// A table of the Python package's database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableReport {
    /// Its name.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// How many of them came over.
    pub imported: u64,
}

/// A row that did not come over.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RowProblem {
    /// Its table.
    pub table: String,
    /// Its key: the room's id and the row's own, as far as they can be read, or its rowid.
    pub key: String,
    /// Why; never what is in the row.
    pub reason: String,
}

impl ImportReport {
    /// Whether every row came over.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.problems.is_empty()
    }

    /// A table by its name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&TableReport> {
        self.tables.iter().find(|table| table.table == name)
    }
}

impl fmt::Display for ImportReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for table in &self.tables {
            writeln!(
                f,
                "{}: {} of {} rows",
                table.table, table.imported, table.rows
            )?;
        }
        for problem in &self.problems {
            writeln!(f, "{} {}: {}", problem.table, problem.key, problem.reason)?;
        }
        Ok(())
    }
}
