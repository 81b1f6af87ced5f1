//! What SQLite says, as an error of the core: what was being done, and whether it may pass.

use roomkit_core::{Error, ErrorKind, Result};
use rusqlite::ErrorCode;

/// A failure of the store that trying again does not mend.
pub(crate) fn failed(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::StoreFailed, problem)
}

/// Says what was being done when SQLite failed.
pub(crate) trait Doing<T> {
    /// `what` names the action and its object, never what was said in a room.
    fn doing(self, what: &str) -> Result<T>;
}

impl<T> Doing<T> for rusqlite::Result<T> {
    fn doing(self, what: &str) -> Result<T> {
        self.map_err(|error| of_sqlite(what, error))
    }
}

/// The core's error for one of SQLite. Busy, locked and full pass: the other program lets go, or
/// somebody makes room.
pub(crate) fn of_sqlite(what: &str, error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code();
    let why = match code {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            ": another program holds the database"
        }
        Some(ErrorCode::DiskFull) => ": the disk is full",
        Some(ErrorCode::ReadOnly) => ": the database cannot be written",
        Some(ErrorCode::DatabaseCorrupt) => ": the database is damaged",
        Some(ErrorCode::NotADatabase) => ": the file is no SQLite database",
        Some(ErrorCode::SystemIoFailure) => ": the disk failed",
        Some(ErrorCode::CannotOpen) => ": the file cannot be opened",
        _ => "",
    };
    let passes = matches!(
        code,
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
    );
    failed(format!("{what} failed{why}"))
        .retryable(passes)
        .with_source(error)
}

/// Whether a statement broke a rule that the database itself keeps, such as a key that is there once.
pub(crate) fn is_constraint(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation)
}

/// The same error for each of several callers.
pub(crate) fn again(error: &Error) -> Error {
    let copy = Error::new(error.kind(), error.message()).retryable(error.is_retryable());
    match std::error::Error::source(error) {
        Some(source) => copy.with_source(source.to_string()),
        None => copy,
    }
}
