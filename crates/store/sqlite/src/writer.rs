//! The one writer: a thread with the one connection that writes, and the transactions it makes.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use roomkit_core::{Error, Result};
use roomkit_store::PayloadKeys;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::cache::Cache;
use crate::error::{Doing, again, failed};
use crate::lock::FileLock;
use crate::search;
use crate::txn::Txn;

/// Writes that wait at most; whoever comes then waits to wait.
const QUEUE: usize = 1024;
/// Events whose words are indexed together.
const INDEXED_AT_ONCE: usize = 256;
/// Events that may wait for that while there is always something else to do.
const MOST_UNINDEXED: usize = 2048;

/// A handle on the thread that writes.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Order>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

enum Order {
    Write(Box<dyn Job>),
    Close(oneshot::Sender<Result<()>>),
}

/// A write that can be joined with others, and is answered when they are committed.
trait Job: Send {
    /// Makes the write; whether it succeeded.
    fn run(&mut self, txn: &mut Txn<'_>) -> bool;

    /// Tells the caller what came of it; `failure` where what succeeded was not committed.
    fn answer(self: Box<Self>, failure: Option<&Error>);
}

struct Write<T, F> {
    work: Option<F>,
    outcome: Option<Result<T>>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&mut Txn<'_>) -> Result<T> + Send,
{
    fn run(&mut self, txn: &mut Txn<'_>) -> bool {
        self.outcome = self.work.take().map(|work| work(txn));
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(self: Box<Self>, failure: Option<&Error>) {
        let outcome = match (self.outcome, failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => Err(again(failure)),
            (Some(outcome), None) => outcome,
            (None, None) => Err(failed("the write was not made")),
        };
        // Nobody listens where the caller went away; the write stands all the same.
        let _ = self.reply.send(outcome);
    }
}

/// What the thread works with.
pub(crate) struct Setup {
    pub(crate) connection: Connection,
    pub(crate) lock: FileLock,
    pub(crate) cache: Arc<Cache>,
    pub(crate) keys: Option<Arc<PayloadKeys>>,
    pub(crate) max_group: usize,
}

impl Writer {
    pub(crate) fn start(setup: Setup) -> Result<Self> {
        let unindexed = search::unindexed(&setup.connection)?;
        let (queue, orders) = mpsc::channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("roomkit-sqlite".to_owned())
            .spawn(move || Worker { setup, unindexed }.serve(orders))
            .map_err(|error| failed("the writer's thread cannot start").with_source(error))?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Makes a write, joined with others that wait, and returns when it is committed.
    ///
    /// Whoever stops waiting before it is in the queue has written nothing; after that it is made.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        let job = Box::new(Write {
            work: Some(work),
            outcome: None,
            reply,
        });
        let queue = self.queue().ok_or_else(closed)?;
        let sent = queue.send(Order::Write(job)).await;
        sent.map_err(|_| closed())?;
        outcome
            .await
            .map_err(|_| failed("the writer ended before it answered"))?
    }

    /// Has a write made that nobody waits for, where there is place in the queue.
    pub(crate) fn leave<F>(&self, work: F)
    where
        F: FnOnce(&mut Txn<'_>) -> Result<()> + Send + 'static,
    {
        let (reply, _) = oneshot::channel();
        let job = Box::new(Write {
            work: Some(work),
            outcome: None,
            reply,
        });
        let left = self.queue().map(|queue| queue.try_send(Order::Write(job)));
        if !matches!(left, Some(Ok(()))) {
            tracing::warn!("a restored room is removed when the store is opened again");
        }
    }

    /// Writes what waits, and lets go of the file. Who calls it again finds it done.
    pub(crate) async fn close(&self) -> Result<()> {
        let queue = self.take_queue();
        let Some(queue) = queue else {
            return Ok(());
        };
        let (reply, done) = oneshot::channel();
        let sent = queue.send(Order::Close(reply)).await;
        sent.map_err(|_| closed())?;
        done.await
            .map_err(|_| failed("the writer ended before it closed"))?
    }

    fn queue(&self) -> Option<mpsc::Sender<Order>> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.clone()
    }

    fn take_queue(&self) -> Option<mpsc::Sender<Order>> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.take()
    }
}

impl Drop for Writer {
    /// Waits until all is written and the file is free, so that it can be opened again.
    fn drop(&mut self) {
        drop(self.take_queue());
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the writer's thread panicked");
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

pub(crate) fn closed() -> Error {
    failed("the store is closed")
}

struct Worker {
    setup: Setup,
    unindexed: usize,
}

impl Worker {
    fn serve(mut self, mut orders: mpsc::Receiver<Order>) {
        let mut closing = None;
        while closing.is_none()
            && let Some(first) = orders.blocking_recv()
        {
            let mut group = Vec::new();
            let mut next = Some(first);
            while let Some(order) = next {
                match order {
                    Order::Write(job) => group.push(job),
                    Order::Close(reply) => closing = Some(reply),
                }
                let more = closing.is_none() && group.len() < self.setup.max_group;
                next = more.then(|| orders.try_recv().ok()).flatten();
            }
            while !group.is_empty() {
                group = self.commit(group);
            }
            if self.unindexed >= INDEXED_AT_ONCE
                && (orders.is_empty() || self.unindexed >= MOST_UNINDEXED)
            {
                self.index();
            }
        }
        // Nothing is left to do for whoever reads the file until it is opened for writing again.
        let mut left = usize::MAX;
        while self.unindexed > 0 && self.unindexed < left {
            left = self.unindexed;
            self.index();
        }
        let Setup {
            connection, lock, ..
        } = self.setup;
        let checkpoint = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        let checkpoint = checkpoint.doing("the last checkpoint");
        let ended = connection
            .close()
            .map_err(|(_, error)| error)
            .doing("closing the database");
        drop(lock);
        match closing {
            Some(reply) => {
                let _ = reply.send(checkpoint.and(ended));
            }
            None => {
                if let Err(error) = checkpoint.and(ended) {
                    tracing::warn!(%error, "the database was not closed cleanly");
                }
            }
        }
    }

    /// Commits what succeeds of a group, answers it, and returns what was not tried.
    fn commit(&mut self, group: Vec<Box<dyn Job>>) -> Vec<Box<dyn Job>> {
        let db = &self.setup.connection;
        let begun = db.run_batch("BEGIN IMMEDIATE", "beginning a transaction");
        if let Err(error) = begun {
            tracing::warn!(%error, writes = group.len(), "writes were refused");
            group.into_iter().for_each(|job| job.answer(Some(&error)));
            return Vec::new();
        }
        let keys = self.setup.keys.as_deref();
        let mut txn = Txn::new(db, &self.setup.cache, keys);
        let alone = group.len() == 1;
        let (mut tried, mut kept, mut failure) = (Vec::new(), 0, None);
        let mut group = group.into_iter();
        for mut job in group.by_ref() {
            let succeeded = if alone {
                job.run(&mut txn)
            } else {
                match in_savepoint(job.as_mut(), &mut txn) {
                    Ok(succeeded) => succeeded,
                    Err(error) => {
                        failure = Some(error);
                        false
                    }
                }
            };
            tried.push(job);
            kept += usize::from(succeeded);
            if db.is_autocommit() && failure.is_none() {
                failure = Some(failed("SQLite gave up the transaction").retryable(true));
            }
            if failure.is_some() {
                break;
            }
        }
        if failure.is_none() && kept > 0 {
            failure = db.run_batch("COMMIT", "committing").err();
        }
        match &failure {
            None if kept > 0 => self.unindexed += txn.publish(),
            _ => {
                if !db.is_autocommit()
                    && let Err(error) = db.run_batch("ROLLBACK", "rolling back")
                {
                    tracing::error!(%error, "a transaction stays open");
                }
            }
        }
        if let Some(error) = &failure {
            tracing::warn!(%error, writes = tried.len(), "a transaction was rolled back");
        }
        tried
            .into_iter()
            .for_each(|job| job.answer(failure.as_ref()));
        group.collect()
    }

    /// Indexes the words of what was said since the last time; what fails is tried again later.
    fn index(&mut self) {
        match search::index(&mut self.setup.connection) {
            Ok(left) => self.unindexed = left,
            Err(error) => {
                tracing::warn!(%error, "words are not indexed yet");
                self.unindexed = 0;
            }
        }
    }
}

/// Runs a job so that it leaves nothing behind where it fails; the error is that of the savepoint.
fn in_savepoint(job: &mut dyn Job, txn: &mut Txn<'_>) -> Result<bool> {
    let db = txn.db;
    db.run_batch("SAVEPOINT job", "beginning a part of a transaction")?;
    let waiting = txn.unindexed;
    let succeeded = job.run(txn);
    if succeeded {
        txn.keep();
        db.run_batch("RELEASE job", "ending a part of a transaction")?;
    } else {
        txn.undo();
        txn.unindexed = waiting;
        if !db.is_autocommit() {
            db.run_batch("ROLLBACK TO job", "undoing a part of a transaction")?;
            db.run_batch("RELEASE job", "ending a part of a transaction")?;
        }
    }
    Ok(succeeded)
}

/// The statements around transactions.
trait Batch {
    fn run_batch(&self, sql: &str, what: &str) -> Result<()>;
}

impl Batch for Connection {
    fn run_batch(&self, sql: &str, what: &str) -> Result<()> {
        let mut statement = self.prepare_cached(sql).doing(what)?;
        statement.execute([]).doing(what).map(drop)
    }
}
