//! The schema: which version a database has, and the steps from there to the one this crate needs.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::{Error, ErrorKind, Result};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor, Row};
use tokio::time::sleep;
use tracing::{debug, info};

use crate::config::PostgresConfig;
use crate::error::{Doing, Failure};

/// How often a connection is tried for, with a wait in between that doubles.
const TRIES: u32 = 6;

/// One step of the schema.
#[derive(Debug, Clone, Copy)]
pub struct Migration {
    /// The version that it leads to; the first is 1, and each follows on the one before.
    pub version: i32,
    /// What it is about.
    pub name: &'static str,
    /// What is run, with `{s}` where the schema belongs.
    pub sql: &'static str,
}

/// Every step there is, in order.
pub const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    name: "rooms",
    sql: include_str!("migrations/0001_rooms.sql"),
}];

/// The tables of the first version; where one of them is there without ours of the versions, it is
/// somebody else's.
const TABLES: &str = "rooms, events, event_sequences, participants, bindings, identities, tasks, \
    observations, identity_addresses, read_markers, event_versions, outcomes, senders, owed";

/// A schema, as it is written in a statement.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    pub(crate) name: String,
    quoted: String,
}

impl Schema {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            quoted: format!("\"{}\"", name.replace('"', "\"\"")),
        }
    }

    /// A statement with the schema in the place of `{s}`.
    pub(crate) fn sql(&self, text: &str) -> Arc<str> {
        text.replace("{s}", &self.quoted).into()
    }

    /// The number of the lock of a room.
    pub(crate) fn room_lock(&self, room: &str) -> i64 {
        self.lock_number(0, room)
    }

    /// The number of the lock under which the schema changes; no room has it.
    fn migration_lock(&self) -> i64 {
        self.lock_number(1, "migrations")
    }

    fn lock_number(&self, kind: u8, what: &str) -> i64 {
        // FNV-1a: any process, of any version of this crate, must come to the same number.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        let bytes = self.name.bytes().chain([kind]).chain(what.bytes());
        for byte in bytes {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        i64::from_ne_bytes(hash.to_ne_bytes())
    }
}

/// Brings the schema up to date, or checks that it is, and names it.
pub(crate) async fn prepare(config: &PostgresConfig, steps: &[Migration]) -> Result<Schema> {
    let doing = Doing::new("opening the database", "");
    let mut connection = connect(config.connect_options()?, config, doing).await?;
    let failed = |error: sqlx::Error| Failure::executing(&error).into_read_error(doing);
    let row = connection
        .fetch_one("SELECT current_schema()::text, current_setting('server_encoding')")
        .await
        .map_err(failed)?;
    let encoding: String = row.try_get(1).map_err(failed)?;
    if encoding != "UTF8" {
        let problem = format!("the database is encoded in {encoding}; only UTF8 holds every text");
        return Err(Error::new(ErrorKind::StoreFailed, problem));
    }
    let name = match &config.schema {
        Some(name) => name.clone(),
        None => {
            let name: Option<String> = row.try_get(0).map_err(failed)?;
            name.ok_or_else(|| {
                let problem = "schema: the search path of the connection names none that is there";
                Error::new(ErrorKind::InvalidInput, problem)
            })?
        }
    };
    if name.contains('$') {
        // The bodies of functions stand between dollar signs.
        let problem = "schema: its name has a `$`";
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    let schema = Schema::new(&name);
    let newest = steps.last().map_or(0, |step| step.version);
    let found = version(&mut connection, &schema, doing).await?;
    check(&schema, found, newest)?;
    if found != Some(newest) {
        if !config.migrate {
            let found = found.map_or("none".to_owned(), |found| found.to_string());
            let problem = format!(
                "schema {name} has version {found} of the tables, and {newest} is needed; \
                 open it once with `migrate` on"
            );
            return Err(Error::new(ErrorKind::StoreFailed, problem));
        }
        migrate(&mut connection, &schema, steps).await?;
    }
    // What is done is done, however the connection ends.
    drop(connection.close().await);
    Ok(schema)
}

/// A connection of its own: in the pool's, the limits on statements would end a long step.
pub(crate) async fn connect(
    options: PgConnectOptions,
    config: &PostgresConfig,
    doing: Doing<'_>,
) -> Result<PgConnection> {
    let limit = Duration::from_millis(config.acquire_timeout_ms);
    let mut wait = Duration::from_millis(50);
    let mut tries = 1;
    loop {
        let failure = match tokio::time::timeout(limit, options.connect()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => Failure::connecting(&error),
            Err(_) => Failure::silent(limit),
        };
        if !failure.transient || tries >= TRIES {
            return Err(failure.into_read_error(doing));
        }
        debug!(cause = %failure, "no connection yet");
        sleep(wait).await;
        wait *= 2;
        tries += 1;
    }
}

/// The version of the tables; nothing where there are none.
async fn version(
    connection: &mut PgConnection,
    schema: &Schema,
    doing: Doing<'_>,
) -> Result<Option<i32>> {
    let failed = |error: sqlx::Error| Failure::executing(&error).into_read_error(doing);
    let columns =
        "SELECT coalesce(array_agg(c.column_name::text ORDER BY c.column_name::text), '{}')
        FROM information_schema.columns AS c
        WHERE c.table_schema = $1 AND c.table_name = 'schema_version'";
    let query = sqlx::query(columns).bind(&schema.name);
    let row: PgRow = query.fetch_one(&mut *connection).await.map_err(failed)?;
    let columns: Vec<String> = row.try_get(0).map_err(failed)?;
    if columns == ["applied_at", "name", "version"] {
        let newest = schema.sql("SELECT max(version) FROM {s}.schema_version");
        let query = sqlx::query(AssertSqlSafe(newest));
        let row: PgRow = query.fetch_one(&mut *connection).await.map_err(failed)?;
        return row.try_get(0).map_err(failed);
    }
    let ours: Vec<&str> = TABLES.split(", ").collect();
    let foreign = "SELECT coalesce(array_agg(t.table_name::text ORDER BY t.table_name::text), '{}')
        FROM information_schema.tables AS t
        WHERE t.table_schema = $1 AND (t.table_name::text = ANY ($2) OR t.table_name = 'schema_version')";
    let query = sqlx::query(foreign).bind(&schema.name).bind(ours);
    let row: PgRow = query.fetch_one(&mut *connection).await.map_err(failed)?;
    let foreign: Vec<String> = row.try_get(0).map_err(failed)?;
    if foreign.is_empty() {
        return Ok(None);
    }
    let problem = format!(
        "schema {} holds tables that this store did not make ({}); give it a schema of its own",
        schema.name,
        foreign.join(", ")
    );
    Err(Error::new(ErrorKind::StoreFailed, problem))
}

fn check(schema: &Schema, found: Option<i32>, newest: i32) -> Result<()> {
    match found {
        Some(found) if found > newest => {
            let problem = format!(
                "schema {} has version {found} of the tables, and this program knows them up to {newest}",
                schema.name
            );
            Err(Error::new(ErrorKind::StoreFailed, problem))
        }
        _ => Ok(()),
    }
}

/// Runs what is missing, each step in a transaction of its own under a lock of the schema.
async fn migrate(
    connection: &mut PgConnection,
    schema: &Schema,
    steps: &[Migration],
) -> Result<()> {
    let newest = steps.last().map_or(0, |step| step.version);
    let number = schema.migration_lock();
    for step in steps {
        let doing = Doing::new("migrating the schema by", step.name);
        let failed = |error: sqlx::Error| Failure::executing(&error).into_read_error(doing);
        let mut transaction = connection.begin().await.map_err(failed)?;
        let unlimited = "SET LOCAL statement_timeout = 0";
        transaction.execute(unlimited).await.map_err(failed)?;
        let lock = sqlx::query("SELECT pg_advisory_xact_lock($1)").bind(number);
        transaction.execute(lock).await.map_err(failed)?;
        // Another process may have been there in the meantime.
        let found = version(&mut transaction, schema, doing).await?;
        check(schema, found, newest)?;
        if found.unwrap_or(0) >= step.version {
            transaction.rollback().await.map_err(failed)?;
            continue;
        }
        if found.is_none() {
            let there = sqlx::query("SELECT 1 FROM pg_namespace WHERE nspname = $1");
            let there = transaction.fetch_optional(there.bind(&schema.name));
            // To make one that is there asks for a right that its owner need not have.
            if there.await.map_err(failed)?.is_none() {
                let make = AssertSqlSafe(schema.sql("CREATE SCHEMA {s}"));
                let made = transaction.execute(sqlx::raw_sql(make));
                made.await.map_err(failed)?;
            }
            let versions = schema.sql(VERSIONS);
            let made = transaction.execute(sqlx::raw_sql(AssertSqlSafe(versions)));
            made.await.map_err(failed)?;
        }
        let sql = sqlx::raw_sql(AssertSqlSafe(schema.sql(step.sql)));
        transaction.execute(sql).await.map_err(failed)?;
        let note = schema.sql("INSERT INTO {s}.schema_version (version, name) VALUES ($1, $2)");
        let note = sqlx::query(AssertSqlSafe(note)).bind(step.version);
        let noted = transaction.execute(note.bind(step.name));
        noted.await.map_err(failed)?;
        transaction.commit().await.map_err(failed)?;
        info!(
            schema = schema.name,
            version = step.version,
            step = step.name,
            "migrated"
        );
    }
    Ok(())
}

const VERSIONS: &str = "CREATE TABLE {s}.schema_version (
        version integer PRIMARY KEY,
        name text NOT NULL,
        applied_at timestamptz NOT NULL DEFAULT now()
    );";
