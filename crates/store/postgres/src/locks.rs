//! Room locks over processes: advisory locks of PostgreSQL, all held by one connection a process.
//!
//! The connection is never blocked by a wait: what is held elsewhere is asked for again after a pause.
//! So nobody waits in the server who has gone away here, one connection is enough for every room, and
//! a lock is asked for, or given back, together with all others that are due at that moment.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::model::RoomId;
use roomkit_core::sync::{FencingToken, InProcessLocks, RoomLock, RoomLockManager};
use roomkit_core::{Error, ErrorKind, Result};
use sqlx::postgres::{PgConnection, PgRow};
use sqlx::{AssertSqlSafe, Row};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::{info, warn};

use crate::config::PostgresConfig;
use crate::error::{Doing, Failure};
use crate::migrations::{self, MIGRATIONS, Schema};
use crate::pool::Sql;

/// The pause before a lock that is held elsewhere is asked for again; it doubles up to the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);
/// How many requests go into one statement.
const AT_ONCE: usize = 256;
/// Gives back those of some locks that this connection has.
const UNDO: &str = "SELECT pg_advisory_unlock(l.number) FROM (
        SELECT (classid::bigint << 32) | objid::bigint AS number FROM pg_locks
        WHERE locktype = 'advisory' AND objsubid = 1 AND pid = pg_backend_pid()) AS l
    WHERE l.number = ANY ($1)";

/// Room locks that hold over every process which uses the same database and schema.
///
/// It has one connection of its own, which comes from no pool. Inside the process waiting is fair;
/// between processes whoever asks first after a release gets the lock. Each lock carries a fencing
/// token from the database: where the connection is lost, and the lock with it, the store refuses what
/// is committed under an old token once a new holder has committed.
pub struct PostgresLocks {
    local: InProcessLocks,
    schema: Schema,
    requests: mpsc::UnboundedSender<Request>,
    timeout: Duration,
}

/// What is asked of the connection.
enum Request {
    Take {
        number: i64,
        answer: oneshot::Sender<Result<Option<Grant>>>,
    },
    Release {
        number: i64,
        /// On which connection it was taken: what was lost with an older one is not to be given back.
        connection: u64,
    },
}

/// An advisory lock, given back when it is dropped, even where nobody is left to receive it.
struct Grant {
    number: i64,
    connection: u64,
    token: FencingToken,
    requests: mpsc::UnboundedSender<Request>,
}

impl Drop for Grant {
    fn drop(&mut self) {
        let (number, connection) = (self.number, self.connection);
        // Where nobody listens any more the connection is closed, and its locks are free.
        drop(self.requests.send(Request::Release { number, connection }));
    }
}

/// What ends with a lock: first the one over processes, then the one in this process.
struct Held {
    _grant: Grant,
    _local: RoomLock,
}

impl PostgresLocks {
    /// Connects, and brings the schema up to date.
    ///
    /// # Errors
    /// Those of [`PostgresStore::open`](crate::PostgresStore::open).
    pub async fn open(config: PostgresConfig) -> Result<Self> {
        let schema = migrations::prepare(&config, MIGRATIONS).await?;
        let (requests, received) = mpsc::unbounded_channel();
        let timeout = Duration::from_millis(config.lock_timeout_ms);
        let session = Session {
            take: schema.sql(
                "SELECT CASE WHEN pg_try_advisory_lock(x.number)
                    THEN nextval('{s}.room_lock_tokens') END
                FROM unnest($1::bigint[]) WITH ORDINALITY AS x (number, n) ORDER BY x.n",
            ),
            limit: config.response_timeout(),
            config,
            requests: requests.downgrade(),
            connection: None,
            number: 0,
            held: HashMap::new(),
        };
        tokio::spawn(session.run(received));
        Ok(Self {
            local: InProcessLocks::new(),
            schema,
            requests,
            timeout,
        })
    }

    async fn take(&self, room: &RoomId, until: Instant) -> Result<Grant> {
        let number = self.schema.room_lock(room.as_str());
        let mut pause = FIRST_PAUSE;
        loop {
            let (answer, answered) = oneshot::channel();
            let closed = || {
                let problem =
                    format!("the lock of room {room} cannot be had: the locks are closed");
                Error::new(ErrorKind::StoreFailed, problem)
            };
            let request = Request::Take { number, answer };
            self.requests.send(request).map_err(|_| closed())?;
            if let Some(grant) = answered.await.map_err(|_| closed())?? {
                return Ok(grant);
            }
            if Instant::now() + pause >= until {
                return Err(not_in_time(room));
            }
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

#[async_trait]
impl RoomLockManager for PostgresLocks {
    async fn acquire(&self, room: &RoomId) -> Result<RoomLock> {
        let until = Instant::now() + self.timeout;
        let taken = timeout_at(until, async {
            let local = self.local.acquire(room).await?;
            let grant = self.take(room, until).await?;
            Ok::<_, Error>((local, grant))
        });
        let (local, grant) = taken.await.map_err(|_| not_in_time(room))??;
        let token = grant.token;
        let held = Held {
            _grant: grant,
            _local: local,
        };
        Ok(RoomLock::new(held).with_token(token))
    }

    fn is_distributed(&self) -> bool {
        true
    }
}

impl fmt::Debug for PostgresLocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresLocks")
            .field("schema", &self.schema.name)
            .field("locked_rooms", &self.local.locked_rooms())
            .finish_non_exhaustive()
    }
}

fn not_in_time(room: &RoomId) -> Error {
    let problem = format!("the lock of room {room} was not had in time");
    Error::new(ErrorKind::LockTimeout, problem)
}

/// The connection that holds the locks, and the task that serves it.
struct Session {
    config: PostgresConfig,
    take: Sql,
    limit: Duration,
    requests: mpsc::WeakUnboundedSender<Request>,
    connection: Option<PgConnection>,
    /// Counts connections, so that a lock is known by the one that held it.
    number: u64,
    /// How often each lock is held on this connection: two rooms may have one number.
    held: HashMap<i64, u32>,
}

type Waiting = (i64, oneshot::Sender<Result<Option<Grant>>>);

impl Session {
    /// Serves until nobody is left to ask or to give back.
    async fn run(mut self, mut received: mpsc::UnboundedReceiver<Request>) {
        let mut requests = Vec::with_capacity(AT_ONCE);
        while received.recv_many(&mut requests, AT_ONCE).await > 0 {
            let mut taking: Vec<Waiting> = Vec::new();
            let mut releasing: Vec<i64> = Vec::new();
            // A release comes before what follows it, so that a handed-over lock is asked for anew.
            for request in requests.drain(..) {
                match request {
                    Request::Take { number, answer } => taking.push((number, answer)),
                    Request::Release { number, connection } if connection == self.number => {
                        releasing.push(number);
                    }
                    Request::Release { .. } => {}
                }
            }
            self.release(releasing).await;
            self.take(taking).await;
        }
    }

    async fn release(&mut self, numbers: Vec<i64>) {
        let Some(connection) = self.connection.as_mut().filter(|_| !numbers.is_empty()) else {
            return;
        };
        for number in &numbers {
            let left = self.held.remove(number).unwrap_or_default();
            if left > 1 {
                self.held.insert(*number, left - 1);
            }
        }
        let query = sqlx::query("SELECT pg_advisory_unlock(x) FROM unnest($1::bigint[]) AS x");
        let query = query.bind(numbers);
        let released = timeout(self.limit, query.fetch_all(connection)).await;
        if let Some(failure) = failure(released.map(|done| done.map(|_| ())), self.limit) {
            self.lose(&failure);
        }
    }

    async fn take(&mut self, taking: Vec<Waiting>) {
        // Who has gone away wants nothing any more.
        let taking: Vec<Waiting> = taking
            .into_iter()
            .filter(|(_, answer)| !answer.is_closed())
            .collect();
        if taking.is_empty() {
            return;
        }
        let numbers: Vec<i64> = taking.iter().map(|(number, _)| *number).collect();
        let tokens = match self.tokens(numbers).await {
            Ok(tokens) => tokens,
            Err(error) => {
                let message = error.message().to_owned();
                for (_, answer) in taking {
                    let error = Error::new(error.kind(), message.clone());
                    drop(answer.send(Err(error.retryable(true))));
                }
                return;
            }
        };
        let Some(requests) = self.requests.upgrade() else {
            return;
        };
        for ((number, answer), token) in taking.into_iter().zip(tokens) {
            if token.is_some() {
                *self.held.entry(number).or_default() += 1;
            }
            let grant = token.map(|token| Grant {
                number,
                connection: self.number,
                token: FencingToken(u64::try_from(token).unwrap_or_default()),
                requests: requests.clone(),
            });
            // Where nobody receives it the grant is dropped, which gives the lock back.
            drop(answer.send(Ok(grant)));
        }
    }

    /// A token for each lock that was free.
    async fn tokens(&mut self, numbers: Vec<i64>) -> Result<Vec<Option<i64>>> {
        let doing = Doing::new("taking room locks", "");
        let limit = self.limit;
        let take = self.take.clone();
        let mut tries = 0;
        loop {
            tries += 1;
            let connection = self.connected(doing).await?;
            let query = sqlx::query(AssertSqlSafe(take.clone())).bind(&numbers);
            let answer = timeout(limit, query.fetch_all(connection)).await;
            let rows: Vec<PgRow> = match answer {
                Ok(Ok(rows)) => rows,
                other => {
                    let failed = failure(other.map(|done| done.map(|_| ())), limit);
                    let Some(failed) = failed else { continue };
                    if failed.lost || !self.undo(&numbers).await {
                        self.lose(&failed);
                    }
                    // On a new connection: what the lost one may have taken went with it.
                    if tries < 2 && failed.lost {
                        continue;
                    }
                    return Err(failed.into_read_error(doing));
                }
            };
            let token = |row: &PgRow| row.try_get(0);
            let tokens: Result<Vec<Option<i64>>, sqlx::Error> = rows.iter().map(token).collect();
            return tokens.map_err(|error| Failure::executing(&error).into_read_error(doing));
        }
    }

    /// Gives back what a statement took before it failed, as where the server has no room for more
    /// locks; `false` where that is not known.
    async fn undo(&mut self, numbers: &[i64]) -> bool {
        let mut distinct = HashSet::new();
        let is_new = |number: &i64| !self.held.contains_key(number) && distinct.insert(*number);
        if !numbers.iter().all(is_new) {
            return false;
        }
        let Some(connection) = &mut self.connection else {
            return false;
        };
        let undone = sqlx::query(UNDO).bind(numbers).fetch_all(connection);
        matches!(timeout(self.limit, undone).await, Ok(Ok(_)))
    }

    async fn connected(&mut self, doing: Doing<'_>) -> Result<&mut PgConnection> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let options = self.config.statement_options()?;
                let connection = migrations::connect(options, &self.config, doing).await?;
                self.number += 1;
                info!(connection = self.number, "room locks are connected");
                connection
            }
        };
        Ok(self.connection.insert(connection))
    }

    /// Drops the connection, and with it every lock that it held.
    fn lose(&mut self, failure: &Failure) {
        warn!(cause = %failure, "room locks were lost with their connection");
        self.connection = None;
        self.held.clear();
        self.number += 1;
    }
}

fn failure<E>(answer: Result<Result<(), sqlx::Error>, E>, limit: Duration) -> Option<Failure> {
    match answer {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(Failure::executing(&error)),
        Err(_) => Some(Failure::silent(limit)),
    }
}
