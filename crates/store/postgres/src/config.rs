//! What an operator sets: where the server is, how many connections are held, how long is waited.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::PayloadKeys;
use serde::Deserialize;
use sqlx::postgres::PgConnectOptions;

/// The most bytes of a name in PostgreSQL.
const NAME_LENGTH: usize = 63;

/// The address of a database, `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; its parameters, such as
/// `sslmode`, are those of libpq. Nothing prints it with its password.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PostgresUrl(String);

impl PostgresUrl {
    /// An address; it is looked at when the store is opened.
    pub fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    /// What a connection is made with.
    pub(crate) fn options(&self) -> Result<PgConnectOptions> {
        let invalid = || {
            let problem = "url: is no address of a PostgreSQL database";
            Error::new(ErrorKind::InvalidInput, problem)
        };
        let schemes = ["postgres://", "postgresql://"];
        if !schemes.iter().any(|scheme| self.0.starts_with(scheme)) {
            return Err(invalid());
        }
        // The parser's own error may quote the address.
        PgConnectOptions::from_str(&self.0).map_err(|_| invalid())
    }
}

impl From<&str> for PostgresUrl {
    fn from(url: &str) -> Self {
        Self::new(url)
    }
}

impl From<String> for PostgresUrl {
    fn from(url: String) -> Self {
        Self(url)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.options() {
            Ok(options) => write!(
                f,
                "postgres://{}:{}/{}",
                options.get_host(),
                options.get_port(),
                options.get_database().unwrap_or_default()
            ),
            Err(_) => f.write_str("<redacted>"),
        }
    }
}

/// How a store, or the locks, reach PostgreSQL.
///
/// ```
/// use roomkit_store_postgres::PostgresConfig;
///
/// let config = PostgresConfig::new("postgres://app:secret@db.internal/rooms")
///     .schema("roomkit")
///     .max_connections(40);
/// assert!(!format!("{config:?}").contains("secret"));
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct PostgresConfig {
    /// The database.
    pub url: PostgresUrl,
    /// The schema that the tables are in; it is made where it is missing. Default: the first of the
    /// connection's search path, which usually is `public`.
    #[serde(default)]
    pub schema: Option<String>,
    /// The most connections in the pool. Default: 20.
    #[serde(default = "defaults::max_connections")]
    pub max_connections: u32,
    /// The connections that are kept open when idle. Default: 0.
    #[serde(default)]
    pub min_connections: u32,
    /// How long a call waits for a connection, in milliseconds. Default: 5000.
    #[serde(default = "defaults::acquire_timeout_ms")]
    pub acquire_timeout_ms: u64,
    /// After how long an idle connection is closed, in milliseconds. Default: 600000.
    #[serde(default = "defaults::idle_timeout_ms")]
    pub idle_timeout_ms: u64,
    /// How long the server may work on one statement, in milliseconds; a server that says nothing
    /// for a fifth longer is given up. Default: 30000.
    #[serde(default = "defaults::statement_timeout_ms")]
    pub statement_timeout_ms: u64,
    /// How long [`PostgresLocks`](crate::PostgresLocks) wait for a room, in milliseconds. Default: 30000.
    #[serde(default = "defaults::lock_timeout_ms")]
    pub lock_timeout_ms: u64,
    /// What the server lists the connections as. Default: `roomkit`.
    #[serde(default = "defaults::application_name")]
    pub application_name: String,
    /// Whether the schema is brought up to date when the store is opened; else one that is not is
    /// refused. Default: yes.
    #[serde(default = "defaults::migrate")]
    pub migrate: bool,
    /// The keys that `raw_payload` is sealed with. Default: none, it is kept as it came.
    #[serde(skip)]
    pub payload_keys: Option<PayloadKeys>,
}

mod defaults {
    pub(super) fn max_connections() -> u32 {
        20
    }

    pub(super) fn acquire_timeout_ms() -> u64 {
        5_000
    }

    pub(super) fn idle_timeout_ms() -> u64 {
        600_000
    }

    pub(super) fn statement_timeout_ms() -> u64 {
        30_000
    }

    pub(super) fn lock_timeout_ms() -> u64 {
        30_000
    }

    pub(super) fn application_name() -> String {
        "roomkit".to_owned()
    }

    pub(super) fn migrate() -> bool {
        true
    }
}

impl PostgresConfig {
    /// The defaults, for a database.
    pub fn new(url: impl Into<PostgresUrl>) -> Self {
        Self {
            url: url.into(),
            schema: None,
            max_connections: defaults::max_connections(),
            min_connections: 0,
            acquire_timeout_ms: defaults::acquire_timeout_ms(),
            idle_timeout_ms: defaults::idle_timeout_ms(),
            statement_timeout_ms: defaults::statement_timeout_ms(),
            lock_timeout_ms: defaults::lock_timeout_ms(),
            application_name: defaults::application_name(),
            migrate: defaults::migrate(),
            payload_keys: None,
        }
    }

    /// Puts the tables into a schema.
    #[must_use]
    pub fn schema(mut self, schema: impl Into<String>) -> Self {
        self.schema = Some(schema.into());
        self
    }

    /// Sets the most connections in the pool.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections;
        self
    }

    /// Sets how many connections are kept open when idle.
    #[must_use]
    pub fn min_connections(mut self, connections: u32) -> Self {
        self.min_connections = connections;
        self
    }

    /// Sets how long a call waits for a connection.
    #[must_use]
    pub fn acquire_timeout(mut self, timeout: Duration) -> Self {
        self.acquire_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets after how long an idle connection is closed.
    #[must_use]
    pub fn idle_timeout(mut self, timeout: Duration) -> Self {
        self.idle_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how long the server may work on one statement.
    #[must_use]
    pub fn statement_timeout(mut self, timeout: Duration) -> Self {
        self.statement_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets how long the lock of a room is waited for.
    #[must_use]
    pub fn lock_timeout(mut self, timeout: Duration) -> Self {
        self.lock_timeout_ms = milliseconds(timeout);
        self
    }

    /// Sets what the server lists the connections as.
    #[must_use]
    pub fn application_name(mut self, name: impl Into<String>) -> Self {
        self.application_name = name.into();
        self
    }

    /// Sets whether the schema is brought up to date when the store is opened.
    #[must_use]
    pub fn migrate(mut self, migrate: bool) -> Self {
        self.migrate = migrate;
        self
    }

    /// Seals what providers sent with a key of the application.
    #[must_use]
    pub fn payload_keys(mut self, keys: PayloadKeys) -> Self {
        self.payload_keys = Some(keys);
        self
    }

    /// Checks every field.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) that names the first field which is not acceptable.
    pub fn validate(&self) -> Result<()> {
        let invalid = |problem: &str| Err(Error::new(ErrorKind::InvalidInput, problem));
        if let Some(schema) = &self.schema {
            let bytes = schema.len();
            if schema.is_empty() || bytes > NAME_LENGTH || schema.contains(['\0', '$']) {
                return invalid("schema: must have 1 to 63 bytes, none of them zero or `$`");
            }
            if schema.starts_with("pg_") {
                return invalid("schema: names that begin with pg_ belong to PostgreSQL");
            }
        }
        if self.application_name.contains('\0') {
            return invalid("application_name: must have no zero byte");
        }
        if self.max_connections == 0 || self.max_connections < self.min_connections {
            return invalid("max_connections: must be at least 1 and min_connections");
        }
        let timeouts = [
            ("acquire_timeout_ms", self.acquire_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("statement_timeout_ms", self.statement_timeout_ms),
            ("lock_timeout_ms", self.lock_timeout_ms),
        ];
        // PostgreSQL holds its timeouts in 31 bits.
        let wrong = |ms: u64| ms == 0 || i32::try_from(ms).is_err();
        if let Some((name, _)) = timeouts.into_iter().find(|(_, ms)| wrong(*ms)) {
            return invalid(&format!("{name}: must be 1 to {}", i32::MAX));
        }
        Ok(())
    }

    /// What the connections are made with on which rooms are read and changed.
    ///
    /// Every table is named with its schema. Else nothing but the server's own is looked at: a function
    /// that anybody put into `public` would be called where it fits its arguments better.
    pub(crate) fn statement_options(&self) -> Result<PgConnectOptions> {
        let options = self.connect_options()?;
        Ok(options.options([
            ("search_path", "pg_catalog, pg_temp"),
            // Every statement goes by an index of its own: it is planned once in a connection. Left to
            // choose, the server plans some of them anew at each call where a table is large.
            ("plan_cache_mode", "force_generic_plan"),
        ]))
    }

    /// What connections are made with.
    pub(crate) fn connect_options(&self) -> Result<PgConnectOptions> {
        use sqlx::ConnectOptions;

        self.validate()?;
        let options = self.url.options()?;
        let timeout = self.statement_timeout_ms.to_string();
        Ok(options
            .application_name(&self.application_name)
            .statement_cache_capacity(200)
            .options([
                ("statement_timeout", timeout.as_str()),
                ("client_min_messages", "warning"),
                // A statement that waited for a row must see what it became.
                ("default_transaction_isolation", "read committed"),
                // A machine that is gone without a word keeps its locks for half a minute, not for
                // the two hours that are usual.
                ("tcp_keepalives_idle", "15"),
                ("tcp_keepalives_interval", "5"),
                ("tcp_keepalives_count", "3"),
                ("tcp_user_timeout", "30000"),
                // Every statement here has an index to go by. The planner would read a table whole that
                // was small when it looked, dead rows included, or where it cannot know how few rows
                // lie beyond a read marker.
                ("enable_seqscan", "off"),
                ("max_parallel_workers_per_gather", "0"),
                ("jit", "off"),
            ])
            .disable_statement_logging())
    }

    /// How long an answer of the server is waited for.
    pub(crate) fn response_timeout(&self) -> Duration {
        Duration::from_millis(self.statement_timeout_ms + self.statement_timeout_ms / 5)
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
