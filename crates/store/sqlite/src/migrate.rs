//! The schema: which version a file has, and how it gets to ours.

use std::path::Path;

use roomkit_core::{Error, Result};
use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Doing, failed};
use crate::search;

/// What marks a file as ours, in its header: "rkit".
const APPLICATION_ID: i32 = 0x726b_6974;

/// A step from one version to the next: statements, then what SQL alone cannot do.
pub(crate) struct Migration {
    pub(crate) sql: &'static str,
    pub(crate) then: Option<fn(&Connection) -> Result<()>>,
}

/// Every step, in order; the version of a file is how many it has taken.
pub(crate) const ALL: &[Migration] = &[
    Migration {
        sql: include_str!("migrations/0001_rooms.sql"),
        then: None,
    },
    Migration {
        sql: include_str!("migrations/0002_search.sql"),
        then: Some(search::index_all),
    },
];

/// Checks that a file is one of ours of this version, for who may not change it.
pub(crate) fn check(connection: &Connection, path: &Path) -> Result<()> {
    match version(connection, path, ALL.len())? {
        Some(version) if version == ALL.len() => Ok(()),
        Some(version) => Err(failed(format!(
            "{} has schema version {version}, this program reads {}: open it for writing once, \
             which brings it up to date",
            path.display(),
            ALL.len()
        ))),
        None => Err(failed(format!("{} has no schema yet", path.display()))),
    }
}

/// Brings a file to the newest of `migrations`, each step whole or not at all.
///
/// Two that try at once take turns, and the second finds the work done.
pub(crate) fn run(
    connection: &mut Connection,
    path: &Path,
    migrations: &[Migration],
) -> Result<()> {
    let newest = migrations.len();
    while version(connection, path, newest)?.is_none_or(|version| version < newest) {
        step(connection, path, migrations)?;
    }
    Ok(())
}

fn step(connection: &mut Connection, path: &Path, migrations: &[Migration]) -> Result<()> {
    let what = format!("migrating {}", path.display());
    let step = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .doing(&what)?;
    // Another may have been faster: what counts is what is there now that nobody else writes.
    let done = version(&step, path, migrations.len())?.unwrap_or(0);
    let Some(migration) = migrations.get(done) else {
        return Ok(());
    };
    let next = done + 1;
    tracing::info!(path = %path.display(), version = next, "migrating the database");
    let failed_step = |error: Error| {
        failed(format!(
            "{} stays at schema version {done}: the step to {next} failed: {}",
            path.display(),
            error.message()
        ))
        .retryable(error.is_retryable())
        .with_source(error)
    };
    step.execute_batch(migration.sql)
        .doing("its statements")
        .and_then(|()| migration.then.map_or(Ok(()), |then| then(&step)))
        .and_then(|()| {
            let marks =
                format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {next};");
            step.execute_batch(&marks).doing("noting the version")
        })
        .and_then(|()| step.commit().doing("its commit"))
        .map_err(failed_step)
}

/// The schema's version; nothing where the file is empty.
fn version(connection: &Connection, path: &Path, newest: usize) -> Result<Option<usize>> {
    let what = format!("reading the schema of {}", path.display());
    let number = |pragma: &str| -> Result<i32> {
        let found = connection.pragma_query_value(None, pragma, |row| row.get(0));
        found.doing(&what)
    };
    let (application, version) = (number("application_id")?, number("user_version")?);
    if application == APPLICATION_ID {
        return match usize::try_from(version) {
            Ok(version) if version <= newest => Ok(Some(version)),
            _ => Err(failed(format!(
                "{} has schema version {version}, this program knows up to {newest}: a newer one \
                 wrote it, and the file is left as it is",
                path.display()
            ))),
        };
    }
    let tables: i64 = connection
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .doing(&what)?;
    if tables == 0 && application == 0 && version == 0 {
        return Ok(None);
    }
    let hint = if is_pythons(connection).doing(&what)? {
        "it was written by the Python package: bring it over with `python::import`"
    } else {
        "its application_id is another; it is left as it is"
    };
    Err(failed(format!(
        "{} is no database of this store: {hint}",
        path.display()
    )))
}

fn is_pythons(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) = 2 FROM sqlite_schema WHERE name IN ('event_sequences', 'read_markers')",
        [],
        |row| row.get(0),
    )
}
