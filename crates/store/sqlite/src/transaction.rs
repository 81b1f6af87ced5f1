//! The connection that writes: transactions of one write or several, and what is done between them.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use roomkit_core::{Error, Result};
use roomkit_store::PayloadKeys;
use rusqlite::Connection;

use crate::cache::Cache;
use crate::connection::wait_for;
use crate::error::{Doing, failed};
use crate::lock::FileLock;
use crate::sql::Sql;
use crate::txn::Txn;
use crate::{restore, search};

/// Events whose words are indexed together.
const INDEXED_AT_ONCE: usize = 256;
/// Events that may wait for that while there is always something else to do.
const MOST_UNINDEXED: usize = 2048;
/// Transactions after which the log is written back.
const LOGGED_AT_ONCE: usize = 256;

/// A write that can be joined with others, and is answered when they are committed.
pub(crate) trait Job: Send {
    /// Makes the write; whether it succeeded.
    fn run(&mut self, txn: &mut Txn<'_>) -> bool;

    /// Tells the caller what came of it; `failure` where what succeeded was not committed.
    fn answer(self: Box<Self>, failure: Option<&Error>);
}

/// The key of a room, once there is something of it.
pub(crate) type GivenUp = Arc<OnceLock<i64>>;

/// What a transaction is made with; whoever holds it is the only one that writes.
pub(crate) struct Transactions {
    connection: Connection,
    lock: FileLock,
    cache: Arc<Cache>,
    keys: Option<Arc<PayloadKeys>>,
    busy_timeout: Duration,
    /// Whether a commit waits for the disk, which no caller's thread may.
    waits_for_disk: bool,
    unindexed: usize,
    /// Transactions since the log was written back.
    logged: usize,
    /// What SQLite counts up where another connection has changed the file.
    seen: i64,
    /// Rooms of restores that were given up, to be removed.
    given_up: Vec<GivenUp>,
    /// Whether a caller has asked for what is done between transactions.
    asked: bool,
}

impl Transactions {
    pub(crate) fn new(
        connection: Connection,
        lock: FileLock,
        cache: Arc<Cache>,
        keys: Option<Arc<PayloadKeys>>,
        busy_timeout: Duration,
        waits_for_disk: bool,
    ) -> Result<Self> {
        let unindexed = search::unindexed(&connection)?;
        let seen = changes_of_others(&connection)?;
        Ok(Self {
            connection,
            lock,
            cache,
            keys,
            busy_timeout,
            waits_for_disk,
            unindexed,
            logged: 0,
            seen,
            given_up: Vec::new(),
            asked: false,
        })
    }

    /// Begins a transaction where that needs no waiting.
    pub(crate) fn begin_at_once(&mut self) -> bool {
        if self.waits_for_disk || !self.connection.is_autocommit() {
            return false;
        }
        let begun = wait_for(&self.connection, Duration::ZERO)
            .doing("not waiting")
            .and_then(|()| self.connection.perform("BEGIN IMMEDIATE", "beginning"));
        let waits_again = wait_for(&self.connection, self.busy_timeout);
        match (begun, waits_again) {
            (Ok(()), Ok(())) => match self.look_around() {
                Ok(()) => true,
                Err(_) => {
                    self.roll_back();
                    false
                }
            },
            (Ok(()), Err(_)) => {
                self.roll_back();
                false
            }
            // The writer's thread waits, and says so where it was in vain.
            (Err(_), _) => false,
        }
    }

    /// Makes writes in transactions, as many of them in one as there can be, and answers them.
    pub(crate) fn run_all(&mut self, mut jobs: Vec<Box<dyn Job>>) {
        while !jobs.is_empty() {
            self.roll_back();
            let begun = self
                .connection
                .perform("BEGIN IMMEDIATE", "beginning a transaction");
            if let Err(error) = begun.and_then(|()| self.look_around()) {
                self.roll_back();
                tracing::warn!(%error, writes = jobs.len(), "writes were refused");
                jobs.into_iter().for_each(|job| job.answer(Some(&error)));
                return;
            }
            let (tried, failure) = self.run(&mut jobs);
            for job in jobs.drain(..tried) {
                job.answer(failure.as_ref());
            }
        }
    }

    /// Forgets the rooms in memory where another program has changed the file, as one may that goes by
    /// no lock or by another: what it committed is not undone. To be called within a transaction.
    fn look_around(&mut self) -> Result<()> {
        let seen = changes_of_others(&self.connection)?;
        if seen != self.seen {
            tracing::warn!("another program writes to the database or its log");
            self.cache.clear();
            self.seen = seen;
        }
        Ok(())
    }

    /// Notes a room that is to be removed, unless it is whole.
    pub(crate) fn give_up(&mut self, room: GivenUp) {
        self.given_up.push(room);
    }

    /// Removes rooms that were given up; those that cannot be now are tried again the next time.
    fn clear(&mut self) {
        let rooms = std::mem::take(&mut self.given_up);
        for room in rooms {
            let Some(key) = room.get() else { continue };
            if let Err(error) = restore::give_up(&mut self.connection, *key) {
                tracing::warn!(%error, "a room that was given up is not removed yet");
                self.given_up.push(room);
            }
        }
    }

    /// Makes writes in the transaction that was begun, and commits those that succeed. Returns how many
    /// were tried, and why none of them was committed.
    pub(crate) fn run<J: Job + ?Sized>(&mut self, jobs: &mut [Box<J>]) -> (usize, Option<Error>) {
        let db = &self.connection;
        let mut txn = Txn::new(db, &self.cache, self.keys.as_deref());
        let alone = jobs.len() == 1;
        let (mut tried, mut kept, mut failure) = (0, 0, None);
        for job in jobs {
            tried += 1;
            let succeeded = if alone {
                Ok(job.run(&mut txn))
            } else {
                in_savepoint(job.as_mut(), &mut txn)
            };
            match succeeded {
                Ok(succeeded) => kept += usize::from(succeeded),
                Err(error) => failure = Some(error),
            }
            if db.is_autocommit() && failure.is_none() {
                failure = Some(failed("SQLite gave up the transaction").retryable(true));
            }
            if failure.is_some() {
                break;
            }
        }
        if failure.is_none() && kept > 0 {
            failure = db.perform("COMMIT", "committing").err();
        }
        if failure.is_none() && kept > 0 {
            self.unindexed += txn.publish();
            self.logged += 1;
        } else {
            drop(txn);
            self.roll_back();
        }
        if let Some(error) = &failure {
            tracing::warn!(%error, writes = tried, "a transaction was rolled back");
        }
        (tried, failure)
    }

    /// Ends a transaction that is open, such as one that a panic has left.
    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.perform("ROLLBACK", "rolling back")
        {
            tracing::error!(%error, "a transaction stays open");
        }
    }

    /// Whether [`tend`](Self::tend) is to be called soon; says so once.
    pub(crate) fn asks_to_be_tended(&mut self) -> bool {
        let is_due = self.unindexed >= INDEXED_AT_ONCE || self.logged >= LOGGED_AT_ONCE;
        let asks = is_due && !self.asked;
        self.asked |= asks;
        asks
    }

    /// Indexes the words of some of what was said since the last time, and moves what was written to
    /// its place in the file. What fails is tried again the next time. Whether that is now: where
    /// more waits than may.
    pub(crate) fn tend(&mut self, is_idle: bool) -> bool {
        self.asked = false;
        self.clear();
        let is_due = |waiting| {
            waiting
                >= if is_idle {
                    INDEXED_AT_ONCE
                } else {
                    MOST_UNINDEXED
                }
        };
        let indexes = is_due(self.unindexed);
        if indexes {
            self.index();
        }
        if indexes || (is_idle && self.logged >= LOGGED_AT_ONCE) {
            self.write_back();
        }
        indexes && is_due(self.unindexed)
    }

    /// Moves what is in the log to its place in the file, as far as no reader needs it there.
    fn write_back(&mut self) {
        self.logged = 0;
        let checkpoint = "PRAGMA wal_checkpoint(PASSIVE)";
        if let Err(error) = self.connection.query_row(checkpoint, [], |_| Ok(())) {
            tracing::warn!(%error, "the log is not written back yet");
        }
    }

    fn index(&mut self) {
        match search::index(&mut self.connection) {
            Ok(left) => self.unindexed = left,
            Err(error) => {
                tracing::warn!(%error, "words are not indexed yet");
                self.unindexed = 0;
            }
        }
    }

    /// Writes back the log and lets go of the file.
    pub(crate) fn close(mut self) -> Result<()> {
        self.roll_back();
        self.clear();
        // Nothing is left to do for whoever reads the file until it is opened for writing again.
        let mut left = usize::MAX;
        while self.unindexed > 0 && self.unindexed < left {
            left = self.unindexed;
            self.index();
        }
        let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
        let written = self.connection.query_row(checkpoint, [], |_| Ok(()));
        let written = written.doing("the last checkpoint");
        let closed = self.connection.close().map_err(|(_, error)| error);
        let closed = closed.doing("closing the database");
        drop(self.lock);
        written.and(closed)
    }
}

impl fmt::Debug for Transactions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transactions").finish_non_exhaustive()
    }
}

/// A number that changes when another connection changes the file.
fn changes_of_others(db: &Connection) -> Result<i64> {
    let what = format_args!("looking for changes of others");
    let found = db.one(what, "PRAGMA data_version", [], |row| row.get(0))?;
    Ok(found.unwrap_or_default())
}

/// Runs a job so that it leaves nothing behind where it fails; the error is that of the savepoint.
fn in_savepoint<J: Job + ?Sized>(job: &mut J, txn: &mut Txn<'_>) -> Result<bool> {
    let db = txn.db;
    db.perform("SAVEPOINT job", "beginning a part of a transaction")?;
    let waiting = txn.unindexed;
    let succeeded = job.run(txn);
    if succeeded {
        txn.keep();
        db.perform("RELEASE job", "ending a part of a transaction")?;
    } else {
        txn.undo();
        txn.unindexed = waiting;
        if !db.is_autocommit() {
            db.perform("ROLLBACK TO job", "undoing a part of a transaction")?;
            db.perform("RELEASE job", "ending a part of a transaction")?;
        }
    }
    Ok(succeeded)
}

/// The statements around transactions.
trait Perform {
    fn perform(&self, sql: &str, what: &str) -> Result<()>;
}

impl Perform for Connection {
    fn perform(&self, sql: &str, what: &str) -> Result<()> {
        let mut statement = self.prepare_cached(sql).doing(what)?;
        statement.execute([]).doing(what).map(drop)
    }
}
