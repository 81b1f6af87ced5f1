//! Prepared statements, and the failures of which name what was being done.

use std::fmt;

use roomkit_core::Result;
use rusqlite::{Connection, OptionalExtension, Params, Row};

use crate::error::of_sqlite;

/// Statements of this crate on a connection; each is prepared once.
pub(crate) trait Sql {
    /// Runs a statement and returns how many rows it changed.
    fn run(&self, what: fmt::Arguments<'_>, sql: &str, values: impl Params) -> Result<usize>;

    /// The first row.
    fn one<T>(
        &self,
        what: fmt::Arguments<'_>,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>>;

    /// Every row.
    fn all<T>(
        &self,
        what: fmt::Arguments<'_>,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>>;
}

impl Sql for Connection {
    fn run(&self, what: fmt::Arguments<'_>, sql: &str, values: impl Params) -> Result<usize> {
        self.prepare_cached(sql)
            .and_then(|mut statement| statement.execute(values))
            .map_err(|error| of_sqlite(&what.to_string(), error))
    }

    fn one<T>(
        &self,
        what: fmt::Arguments<'_>,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        self.prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(values, read).optional())
            .map_err(|error| of_sqlite(&what.to_string(), error))
    }

    fn all<T>(
        &self,
        what: fmt::Arguments<'_>,
        sql: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(values, read)?.collect())
            .map_err(|error| of_sqlite(&what.to_string(), error))
    }
}

/// A number that has to fit the signed ones of SQLite; the greatest of those where it does not.
pub(crate) fn capped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A limit or an offset.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
