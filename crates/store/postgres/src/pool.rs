//! Connections: how one is had, kept and let go.
//!
//! A pool of its own rather than sqlx's, which asks every connection that is given back whether it
//! still lives: a second round trip for every commit.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use roomkit_core::Result;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgRow};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{debug, warn};

use crate::args::Args;
use crate::config::PostgresConfig;
use crate::error::{Certainty, Failure};

/// A statement with the schema in it.
pub(crate) type Sql = Arc<str>;

/// The wait before a connection is tried for again; each next one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(20);
const LONGEST_WAIT: Duration = Duration::from_millis(500);
/// A connection that was idle for longer is asked whether it still lives before it is used.
const TRUSTED_FOR: Duration = Duration::from_millis(500);
/// A connection that is older is closed when it is given back, for the sake of the server's memory.
const LIFETIME: Duration = Duration::from_secs(30 * 60);
/// How long is waited for connections to be given back and closed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// The first version of the server that looks whether somebody still waits for an answer.
const FINDS_OUT: u32 = 140_000;
/// Else a statement whose caller went away would hold its connection to the server beside the ones that
/// the pool makes in its place, for as long as it waits for a room.
const FIND_OUT: &str = "SET client_connection_check_interval = '1s'";

/// The connections of a store.
pub(crate) struct Pool {
    options: PgConnectOptions,
    /// The last one given back is the first to be used.
    idle: Mutex<Vec<Idle>>,
    places: Arc<Semaphore>,
    most: u32,
    least: usize,
    closed: AtomicBool,
    acquire_timeout: Duration,
    idle_timeout: Duration,
    response_timeout: Duration,
}

struct Idle {
    connection: PgConnection,
    born: Instant,
    since: Instant,
}

impl Pool {
    /// A pool without any connection yet.
    pub(crate) fn new(config: &PostgresConfig) -> Result<Arc<Self>> {
        let pool = Arc::new(Self {
            options: config.statement_options()?,
            idle: Mutex::default(),
            places: Arc::new(Semaphore::new(
                usize::try_from(config.max_connections).unwrap_or(Semaphore::MAX_PERMITS),
            )),
            most: config.max_connections,
            least: usize::try_from(config.min_connections).unwrap_or_default(),
            closed: AtomicBool::new(false),
            acquire_timeout: Duration::from_millis(config.acquire_timeout_ms),
            idle_timeout: Duration::from_millis(config.idle_timeout_ms),
            response_timeout: config.response_timeout(),
        });
        tokio::spawn(reap(Arc::downgrade(&pool), pool.idle_timeout));
        Ok(pool)
    }

    /// How long is waited for a connection.
    pub(crate) fn acquire_timeout(&self) -> Duration {
        self.acquire_timeout
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Idle>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Opens the connections that are always kept.
    pub(crate) async fn fill(self: &Arc<Self>) -> Result<(), Failure> {
        let mut kept = Vec::new();
        for _ in 0..self.least {
            kept.push(self.acquire().await?);
        }
        Ok(())
    }

    /// A connection, tried for until the time to wait is over.
    pub(crate) async fn acquire(self: &Arc<Self>) -> Result<Conn, Failure> {
        let until = Instant::now() + self.acquire_timeout;
        let place = timeout_at(until, Arc::clone(&self.places).acquire_owned());
        let place = place.await.map_err(|_| {
            let within = self.acquire_timeout.as_millis();
            let most = self.most;
            Failure::busy(format!(
                "no connection was free within {within} ms, all {most} are in use"
            ))
        })?;
        let Some(place) = place.ok().filter(|_| !self.is_closed()) else {
            return Err(Failure::local("the store is closed", Certainty::NotDone));
        };
        while let Some(mut idle) = { self.idle().pop() } {
            if idle.since.elapsed() > TRUSTED_FOR {
                // It may have been cut long ago, with nobody there to notice.
                match timeout_at(until, idle.connection.ping()).await {
                    Ok(Ok(())) => {}
                    _ => continue,
                }
            }
            return Ok(self.conn(idle.connection, idle.born, place));
        }
        let connection = self.connect(until).await?;
        Ok(self.conn(connection, Instant::now(), place))
    }

    fn conn(
        self: &Arc<Self>,
        connection: PgConnection,
        born: Instant,
        place: OwnedSemaphorePermit,
    ) -> Conn {
        Conn {
            connection: Some(connection),
            born,
            busy: false,
            pool: Arc::clone(self),
            _place: place,
        }
    }

    async fn connect(&self, until: Instant) -> Result<PgConnection, Failure> {
        let mut wait = FIRST_WAIT;
        loop {
            let failure = match timeout_at(until, self.connect_once()).await {
                Ok(Ok(connection)) => return Ok(connection),
                Ok(Err(error)) => Failure::connecting(&error),
                Err(_) => {
                    let within = self.acquire_timeout.as_millis();
                    return Err(Failure::busy(format!(
                        "no connection could be made within {within} ms"
                    )));
                }
            };
            if !failure.transient || Instant::now() + wait >= until {
                return Err(failure);
            }
            debug!(cause = %failure, "no connection yet");
            sleep(wait).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }

    async fn connect_once(&self) -> Result<PgConnection, sqlx::Error> {
        let mut connection = self.options.connect().await?;
        if connection.server_version_num() >= Some(FINDS_OUT) {
            // Not on every system; there the statement ends by its timeout.
            match connection.execute(FIND_OUT).await {
                Ok(_) | Err(sqlx::Error::Database(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(connection)
    }

    /// Takes back what is fit to be used again.
    fn give_back(&self, connection: PgConnection, born: Instant) {
        if self.is_closed() || born.elapsed() > LIFETIME {
            return;
        }
        let since = Instant::now();
        let idle = Idle {
            connection,
            born,
            since,
        };
        self.idle().push(idle);
    }

    /// Closes every connection, once they are given back.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let all = timeout(CLOSE_TIMEOUT, self.places.acquire_many(self.most));
        if all.await.is_err() {
            warn!("connections were still in use when the store was closed");
        }
        self.places.close();
        let idle = std::mem::take(&mut *self.idle());
        for idle in idle {
            // The server notices either way.
            drop(timeout(CLOSE_TIMEOUT, idle.connection.close()).await);
        }
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("most", &self.most)
            .field("free", &self.places.available_permits())
            .field("idle", &self.idle().len())
            .finish_non_exhaustive()
    }
}

/// Closes connections that nobody has used for long, until the pool is gone.
async fn reap(pool: Weak<Pool>, idle_timeout: Duration) {
    loop {
        sleep(idle_timeout).await;
        let Some(pool) = pool.upgrade() else { return };
        let mut old = Vec::new();
        {
            let mut idle = pool.idle();
            // The longest idle are at the front.
            let is_old = |idle: &&Idle| idle.since.elapsed() >= idle_timeout;
            let old_ones = idle.iter().take_while(is_old).count();
            let spare = idle.len().saturating_sub(pool.least);
            old.extend(idle.drain(..old_ones.min(spare)));
        }
        for idle in old {
            drop(timeout(CLOSE_TIMEOUT, idle.connection.close()).await);
        }
    }
}

/// A connection from the pool. It goes back where nothing is under way on it; else it is closed, which
/// makes the server undo what is not committed.
pub(crate) struct Conn {
    connection: Option<PgConnection>,
    born: Instant,
    busy: bool,
    pool: Arc<Pool>,
    // After the connection, which is back in the pool when its place is free.
    _place: OwnedSemaphorePermit,
}

impl Conn {
    /// Every row of a statement, whose transaction has ended when this returns.
    pub(crate) async fn rows(&mut self, sql: &Sql, args: Args) -> Result<Vec<PgRow>, Failure> {
        let query = sqlx::query_with(AssertSqlSafe(Arc::clone(sql)), args.into_inner()?);
        let limit = self.pool.response_timeout;
        let was_busy = self.busy;
        let connection = self.begin_use()?;
        let rows = timeout(limit, query.fetch_all(connection)).await;
        self.end_use(rows, was_busy)
    }

    pub(crate) async fn simple(&mut self, sql: &'static str) -> Result<(), Failure> {
        let limit = self.pool.response_timeout;
        let was_busy = self.busy;
        let connection = self.begin_use()?;
        let done = timeout(limit, connection.execute(sqlx::raw_sql(sql))).await;
        self.end_use(done, was_busy).map(|_| ())
    }

    /// Says whether something is under way beyond the last statement, as in a transaction.
    pub(crate) fn set_busy(&mut self, busy: bool) {
        self.busy = busy;
    }

    /// From now until [`end_use`](Self::end_use) a caller that goes away leaves a connection that
    /// nobody may use again.
    fn begin_use(&mut self) -> Result<&mut PgConnection, Failure> {
        self.busy = true;
        let connection = self.connection.as_mut();
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
            Err(_) => Err(Failure::silent(self.pool.response_timeout)),
        };
        self.busy = was_busy || matches!(&result, Err(failure) if failure.lost);
        result
    }
}

impl Drop for Conn {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.busy
        {
            self.pool.give_back(connection, self.born);
        }
    }
}
