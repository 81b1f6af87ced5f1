//! Statements on connections of the pool: when one is tried again, and transactions.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::Result;
use sqlx::postgres::PgRow;
use tokio::time::{Instant, sleep};
use tracing::warn;

use crate::args::Args;
use crate::config::PostgresConfig;
use crate::error::{Certainty, Doing, Failure};
use crate::pool::{Conn, Pool, Sql};

/// How often a statement is tried before its error is handed on.
const TRIES: u32 = 6;
/// The wait before the second try; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);

/// Whether a statement may be sent again when its outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It only reads.
    Always,
    /// It writes: only where it certainly changed nothing.
    NotDone,
}

/// The database, as a store uses it.
#[derive(Debug)]
pub(crate) struct Db {
    pool: Arc<Pool>,
}

impl Db {
    pub(crate) async fn new(config: &PostgresConfig) -> Result<Self> {
        let pool = Pool::new(config)?;
        let filled = pool.fill().await;
        filled
            .map_err(|failure| failure.into_read_error(Doing::new("opening the database", "")))?;
        Ok(Self { pool })
    }

    /// The rows of one statement that only reads.
    pub(crate) async fn read(&self, doing: Doing<'_>, sql: &Sql, args: Args) -> Result<Vec<PgRow>> {
        let rows = self.try_rows(doing, sql, args, Repeat::Always).await;
        rows.map_err(|failure| failure.into_read_error(doing))
    }

    /// The rows of one statement that writes.
    pub(crate) async fn write(
        &self,
        doing: Doing<'_>,
        sql: &Sql,
        args: Args,
    ) -> Result<Vec<PgRow>> {
        let rows = self.try_rows(doing, sql, args, Repeat::NotDone).await;
        rows.map_err(|failure| failure.into_error(doing))
    }

    /// The rows of one statement, which is a transaction of its own, or the failure as it was.
    pub(crate) async fn try_rows(
        &self,
        doing: Doing<'_>,
        sql: &Sql,
        args: Args,
        repeat: Repeat,
    ) -> Result<Vec<PgRow>, Failure> {
        let mut tries = Tries::new(self.patience());
        loop {
            let mut connection = self.pool.acquire().await?;
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
        let mut tries = Tries::new(self.patience());
        loop {
            let connection = self.pool.acquire().await;
            // Nothing was sent yet.
            let mut connection = connection.map_err(|failure| failure.into_read_error(doing))?;
            let failure = match connection.simple(how).await {
                Ok(()) => {
                    connection.set_busy(true);
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
        self.pool.acquire_timeout()
    }

    pub(crate) async fn close(&self) {
        self.pool.close().await;
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
        self.connection.set_busy(false);
        Ok(())
    }

    /// Undoes it and keeps the connection.
    pub(crate) async fn rollback(mut self) {
        let undone = self.connection.simple("ROLLBACK").await;
        self.connection.set_busy(undone.is_err());
    }
}
