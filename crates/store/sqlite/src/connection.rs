//! A connection as this store uses it: its pragmas, and whether the file is one of ours.

use std::path::Path;
use std::time::Duration;

use roomkit_core::Result;
use rusqlite::{Connection, OpenFlags};

use crate::config::{SqliteConfig, Synchronous};
use crate::error::Doing;

/// Statements that a connection keeps prepared; more than there are in this crate.
const STATEMENTS: usize = 128;
/// Pages in the write-ahead log at which a commit itself writes it back. The writer's thread does so
/// much earlier, between commits.
const LOG_PAGES: u32 = 4000;
/// What the write-ahead log is cut down to after a checkpoint, in bytes.
const LOG_LIMIT: u32 = 64 * 1024 * 1024;

/// The longest that SQLite can be told to wait: some 24 days.
const LONGEST_WAIT: Duration = Duration::from_millis(i32::MAX as u64);

/// Sets how long a connection waits for another program.
pub(crate) fn wait_for(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(timeout.min(LONGEST_WAIT))
}

/// The connection that writes.
pub(crate) fn for_writing(path: &Path, config: &SqliteConfig) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let what = format!("opening {}", path.display());
    let connection = Connection::open_with_flags(path, flags).doing(&what)?;
    set_up(&connection, config).doing(&what)?;
    Ok(connection)
}

/// Sets what only a writer sets, once the file is known to be ours: it changes the file.
pub(crate) fn begin_to_write(connection: &Connection, config: &SqliteConfig) -> Result<()> {
    let synchronous = match config.synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};
             PRAGMA journal_size_limit = {LOG_LIMIT}; PRAGMA wal_autocheckpoint = {LOG_PAGES};"
        ))
        .and_then(|()| match config.max_pages {
            Some(pages) => connection.pragma_update(None, "max_page_count", pages),
            None => Ok(()),
        })
        .doing("preparing the database for writing")
}

/// A connection that reads.
pub(crate) fn for_reading(path: &Path, config: &SqliteConfig) -> Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let what = format!("opening {} for reading", path.display());
    let connection = Connection::open_with_flags(path, flags).doing(&what)?;
    set_up(&connection, config).doing(&what)?;
    connection
        .pragma_update(None, "query_only", true)
        .doing(&what)?;
    Ok(connection)
}

fn set_up(connection: &Connection, config: &SqliteConfig) -> rusqlite::Result<()> {
    wait_for(connection, config.busy_timeout)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // SQLite reads a number that does not fit as none.
    let cache_kib = config.cache_kib.min(i32::MAX.unsigned_abs());
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib))?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(())
}
