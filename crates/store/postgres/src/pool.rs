//! Connections: how one is had, what becomes of it, and when a statement is tried again.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use roomkit_core::Result;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions, PgRow, Postgres};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, warn};

use crate::args::Args;
use crate::config::PostgresConfig;
use crate::error::{Certainty, Doing, Failure};

/// A statement with the schema in it.
pub(crate) type Sql = Arc<str>;

/// How often a statement is tried before its error is handed on.
const TRIES: u32 = 6;
/// The wait before the second try; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);
/// A connection that was idle for longer is asked whether it still lives before it is used: a round
/// trip that a busy store does not pay.
const TRUSTED_FOR: Duration = Duration::from_millis(500);
/// How long is waited for connections to be closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Whether a statement may be sent again when its outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only reads.
    Always,
    /// It writes: only where it certainly changed nothing.
    NotDone,
}

/// The pool, and the limits of what is done with it.
pub(crate) struct Db {
    pool: PgPool,
    acquire_timeout: Duration,
    response_timeout: Duration,
}

impl Db {
    /// A pool without any connection yet.
    pub(crate) fn new(config: &PostgresConfig) -> Result<Self> {
        let options = config.connect_options()?;
        let acquire_timeout = Duration::from_millis(config.acquire_timeout_ms);
        let pool = PgPoolOptions::new()
            .max_connections(config.max_connections)
            .min_connections(config.min_connections)
            .acquire_timeout(acquire_timeout)
            .idle_timeout(Duration::from_millis(config.idle_timeout_ms))
            .test_before_acquire(false)
            .before_acquire(|connection, meta| {
                Box::pin(async move {
                    if meta.idle_for > TRUSTED_FOR {
                        connection.ping().await?;
                    }
                    Ok(true)
                })
            })
            .connect_lazy_with(options);
        Ok(Self {
            pool,
            acquire_timeout,
            response_timeout: config.response_timeout(),
        })
    }

    /// A connection, tried for until the time to wait is over.
    pub(crate) async fn acquire(&self) -> Result<Conn, Failure> {
        let until = Instant::now() + self.acquire_timeout;
        let mut wait = FIRST_WAIT;
        loop {
            let failure = match self.pool.acquire().await {
                Ok(connection) => {
                    return Ok(Conn {
                        connection: Some(connection),
                        busy: false,
                        response_timeout: self.response_timeout,
                    });
                }
                Err(error @ sqlx::Error::PoolTimedOut) => return Err(Failure::connecting(&error)),
                Err(error) => Failure::connecting(&error),
            };
            if !failure.transient || Instant::now() + wait >= until {
                return Err(failure);
            }
            debug!(cause = %failure, "no connection yet");
            sleep(wait).await;
            wait *= 2;
        }
    }

    /// The rows of one statement, which is a transaction of its own.
    pub(crate) async fn rows(
        &self,
        doing: Doing<'_>,
        sql: &Sql,
        args: Args,
        repeat: Repeat,
    ) -> Result<Vec<PgRow>> {
        let rows = self.try_rows(doing, sql, args, repeat).await;
        rows.map_err(|failure| match repeat {
            Repeat::Always => failure.into_read_error(doing),
            Repeat::NotDone => failure.into_error(doing),
        })
    }

    /// The rows of one statement that only reads.
    pub(crate) async fn read(&self, doing: Doing<'_>, sql: &Sql, args: Args) -> Result<Vec<PgRow>> {
        self.rows(doing, sql, args, Repeat::Always).await
    }

    /// The rows of one statement that writes.
    pub(crate) async fn write(
        &self,
        doing: Doing<'_>,
        sql: &Sql,
        args: Args,
    ) -> Result<Vec<PgRow>> {
        self.rows(doing, sql, args, Repeat::NotDone).await
    }

    /// The same, with the failure as it was.
    pub(crate) async fn try_rows(
        &self,
        doing: Doing<'_>,
        sql: &Sql,
        args: Args,
        repeat: Repeat,
    ) -> Result<Vec<PgRow>, Failure> {
        let mut tries = Tries::new(self.acquire_timeout);
        loop {
            let mut connection = self.acquire().await?;
            let failure = match connection.rows(sql, args.clone()).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            drop(connection);
            let may = match repeat {
                Repeat::Always => failure.lost || failure.gave_way(),
                Repeat::NotDone => failure.certainty == Certainty::NotDone && failure.gave_way(),
            };
            if !may || !tries.again(doing, &failure).await {
                return Err(failure);
            }
        }
    }

    /// Opens a transaction.
    pub(crate) async fn begin(&self, doing: Doing<'_>, how: &'static str) -> Result<Tx> {
        let mut tries = Tries::new(self.acquire_timeout);
        loop {
            let connection = self.acquire().await;
            let mut connection = connection.map_err(|failure| failure.into_error(doing))?;
            let failure = match connection.simple(how).await {
                Ok(()) => {
                    connection.busy = true;
                    return Ok(Tx { connection });
                }
                Err(failure) => failure,
            };
            drop(connection);
            // Nothing was done but to begin.
            if !tries.again(doing, &failure).await {
                return Err(failure.into_read_error(doing));
            }
        }
    }

    /// How long something is tried again.
    pub(crate) fn patience(&self) -> Duration {
        self.acquire_timeout
    }

    /// Closes every connection, once they are given back.
    pub(crate) async fn close(&self) {
        if timeout(CLOSE_TIMEOUT, self.pool.close()).await.is_err() {
            warn!("connections were still in use when the store was closed");
        }
    }
}

impl fmt::Debug for Db {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Db")
            .field("connections", &self.pool.size())
            .field("idle", &self.pool.num_idle())
            .finish_non_exhaustive()
    }
}

/// How often something was tried, with the waits in between.
pub(crate) struct Tries {
    made: u32,
    wait: Duration,
    until: Instant,
}

impl Tries {
    /// Tries that begin no later than `within` from now.
    pub(crate) fn new(within: Duration) -> Self {
        Self {
            made: 1,
            wait: FIRST_WAIT,
            until: Instant::now() + within,
        }
    }

    /// Waits before another try; `false` where there were enough.
    pub(crate) async fn again(&mut self, doing: Doing<'_>, failure: &Failure) -> bool {
        if self.made >= TRIES || !failure.transient || Instant::now() >= self.until {
            return false;
        }
        warn!(%doing, cause = %failure, tries = self.made, "trying again");
        sleep(self.wait).await;
        self.made += 1;
        self.wait *= 2;
        true
    }
}

/// A connection from the pool. It goes back where nothing is under way on it; else it is closed, which
/// makes the server undo what is not committed.
pub(crate) struct Conn {
    connection: Option<PoolConnection<Postgres>>,
    busy: bool,
    response_timeout: Duration,
}

impl Conn {
    /// Every row of a statement, whose transaction has ended when this returns.
    pub(crate) async fn rows(&mut self, sql: &Sql, args: Args) -> Result<Vec<PgRow>, Failure> {
        let query = sqlx::query_with(AssertSqlSafe(Arc::clone(sql)), args.into_inner()?);
        let limit = self.response_timeout;
        let was_busy = self.busy;
        let connection = self.begin_use()?;
        let rows = timeout(limit, query.fetch_all(connection)).await;
        self.end_use(rows, was_busy)
    }

    async fn simple(&mut self, sql: &'static str) -> Result<(), Failure> {
        let limit = self.response_timeout;
        let was_busy = self.busy;
        let connection = self.begin_use()?;
        let done = timeout(limit, connection.execute(sqlx::raw_sql(sql))).await;
        self.end_use(done, was_busy).map(|_| ())
    }

    /// From now until [`end_use`](Self::end_use) a caller that goes away leaves a connection that
    /// nobody may use again.
    fn begin_use(&mut self) -> Result<&mut PgConnection, Failure> {
        self.busy = true;
        let connection = self.connection.as_deref_mut();
        connection.ok_or_else(|| Failure::local("the connection is gone", Certainty::NotDone))
    }

    fn end_use<T>(
        &mut self,
        done: Result<Result<T, sqlx::Error>, tokio::time::error::Elapsed>,
        was_busy: bool,
    ) -> Result<T, Failure> {
        let result = match done {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(error)) => Err(Failure::executing(&error)),
            Err(_) => Err(Failure::silent(self.response_timeout)),
        };
        self.busy = was_busy || matches!(&result, Err(failure) if failure.lost);
        result
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if self.busy
            && let Some(connection) = self.connection.take()
        {
            drop(connection.detach());
        }
    }
}

/// A transaction; dropped before it is committed, it is undone.
pub(crate) struct Tx {
    connection: Conn,
}

impl Tx {
    /// For what changes nothing that others must see.
    pub(crate) const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
    /// For what changes several things at once.
    pub(crate) const WRITE: &str = "BEGIN";

    pub(crate) async fn rows(&mut self, sql: &Sql, args: Args) -> Result<Vec<PgRow>, Failure> {
        self.connection.rows(sql, args).await
    }

    pub(crate) async fn commit(mut self) -> Result<(), Failure> {
        self.connection.simple("COMMIT").await?;
        self.connection.busy = false;
        Ok(())
    }

    /// Undoes it and keeps the connection.
    pub(crate) async fn rollback(mut self) {
        self.connection.busy = self.connection.simple("ROLLBACK").await.is_err();
    }
}
