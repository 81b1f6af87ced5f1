//! The one writer: who may use its connection when, and the thread that does what has to wait.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;

use roomkit_core::{Error, Result};
use tokio::sync::{mpsc, oneshot, watch};

use crate::error::{again, failed};
use crate::transaction::{GivenUp, Job, Transactions};
use crate::txn::Txn;

/// Writes that wait at most; whoever comes then waits to wait.
const QUEUE: usize = 1024;

/// What writes. A small write that finds nobody else writing is made in the thread of its caller: it
/// is some copies into the memory of the system, which take less than to wake a thread and to be woken.
/// Any other waits for the writer's thread, which joins what has come meanwhile into one
/// transaction; as long as there is something to join, all go there. What waits for the disk, such as a checkpoint, is always done by that thread.
pub(crate) struct Writer {
    transactions: Shared,
    /// Whether several writes came at the same time when the thread last looked: joined, they cost
    /// less than one by one.
    is_crowded: Arc<AtomicBool>,
    queue: Mutex<Option<mpsc::Sender<Order>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// Closed once the thread has let go of the file.
    open: watch::Receiver<()>,
    max_group: usize,
}

/// Nothing once it is closed.
type Shared = Arc<Mutex<Option<Transactions>>>;

enum Order {
    Write(Box<dyn Job>),
    /// A room that does not get whole.
    GiveUp(GivenUp),
    /// To look after what the callers leave.
    Tend,
    Close(oneshot::Sender<Result<()>>),
}

/// A write, its outcome, and who waits for it.
struct Write<T, F> {
    work: Option<F>,
    outcome: Option<Result<T>>,
    reply: Option<oneshot::Sender<Result<T>>>,
}

impl<T, F> Write<T, F> {
    fn new(work: F) -> Box<Self> {
        Box::new(Self {
            work: Some(work),
            outcome: None,
            reply: None,
        })
    }

    /// What came of it; `failure` where what succeeded was not committed.
    fn outcome(&mut self, failure: Option<&Error>) -> Result<T> {
        match (self.outcome.take(), failure) {
            (Some(Err(error)), _) => Err(error),
            (_, Some(failure)) => Err(again(failure)),
            (Some(outcome), None) => outcome,
            (None, None) => Err(failed("the write was not made")),
        }
    }
}

impl<T, F> Job for Write<T, F>
where
    T: Send,
    F: FnOnce(&mut Txn<'_>) -> Result<T> + Send,
{
    fn run(&mut self, txn: &mut Txn<'_>) -> bool {
        // What panics is undone like what fails, and the others go on.
        self.outcome = self.work.take().map(|work| {
            catch_unwind(AssertUnwindSafe(|| work(txn)))
                .unwrap_or_else(|_| Err(failed("the write panicked")))
        });
        matches!(self.outcome, Some(Ok(_)))
    }

    fn answer(mut self: Box<Self>, failure: Option<&Error>) {
        let outcome = self.outcome(failure);
        if let Some(reply) = self.reply.take() {
            // Nobody listens where the caller went away; the write stands all the same.
            let _ = reply.send(outcome);
        }
    }
}

impl Writer {
    pub(crate) fn start(transactions: Transactions, max_group: usize) -> Result<Self> {
        let (queue, orders) = mpsc::channel(QUEUE);
        let transactions = Arc::new(Mutex::new(Some(transactions)));
        let shared = Arc::clone(&transactions);
        let is_crowded = Arc::<AtomicBool>::default();
        let crowd = Arc::clone(&is_crowded);
        let (held, open) = watch::channel(());
        let thread = std::thread::Builder::new()
            .name("roomkit-sqlite".to_owned())
            .spawn(move || {
                serve(&shared, orders, max_group, &crowd);
                drop(held);
            })
            .map_err(|error| failed("the writer's thread cannot start").with_source(error))?;
        Ok(Self {
            transactions,
            is_crowded,
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            open,
            max_group,
        })
    }

    /// Makes a write of few rows and returns when it is committed.
    ///
    /// Whoever stops waiting before it is in the queue has written nothing; after that it is made.
    pub(crate) async fn write_few<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        let queue = self.queue().ok_or_else(closed)?;
        let mut job = Write::new(work);
        if queue.capacity() == QUEUE
            && !self.is_crowded.load(Ordering::Relaxed)
            && let Some(outcome) = self.at_once(&mut job, &queue)
        {
            return outcome;
        }
        Self::wait(&queue, job).await
    }

    /// Makes a write that may take long, and returns when it is committed.
    pub(crate) async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        let queue = self.queue().ok_or_else(closed)?;
        Self::wait(&queue, Write::new(work)).await
    }

    async fn wait<T, F>(queue: &mpsc::Sender<Order>, mut job: Box<Write<T, F>>) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, outcome) = oneshot::channel();
        job.reply = Some(reply);
        let sent = queue.send(Order::Write(job)).await;
        sent.map_err(|_| closed())?;
        outcome
            .await
            .map_err(|_| failed("the writer ended before it answered"))?
    }

    /// Makes a write here, where nobody else writes; nothing where it has to wait.
    fn at_once<T, F>(
        &self,
        job: &mut Box<Write<T, F>>,
        queue: &mpsc::Sender<Order>,
    ) -> Option<Result<T>>
    where
        T: Send,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send,
    {
        let mut held = match self.transactions.try_lock() {
            Ok(held) => held,
            Err(TryLockError::Poisoned(held)) => held.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let transactions = held.as_mut()?;
        if !transactions.begin_at_once() {
            return None;
        }
        let (_, failure) = transactions.run(std::slice::from_mut(job));
        let to_tend = transactions.asks_to_be_tended();
        drop(held);
        if to_tend && queue.try_send(Order::Tend).is_err() {
            tracing::debug!("the writer is busy: it is tended later");
        }
        Some(job.outcome(failure.as_ref()))
    }

    /// Has a room removed that does not get whole, after all that was put into the queue before.
    pub(crate) fn give_up(&self, room: GivenUp) {
        let left = self
            .queue()
            .map(|queue| queue.try_send(Order::GiveUp(room)));
        if !matches!(left, Some(Ok(()))) {
            tracing::warn!("a restored room is removed when the store is opened again");
        }
    }

    /// Writes what waits, and lets go of the file. Who calls it again waits until that is done.
    pub(crate) async fn close(&self) -> Result<()> {
        let Some(queue) = self.take_queue() else {
            while self.open.clone().changed().await.is_ok() {}
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
        // The thread itself may be the last to hold a store, where what it answered did.
        let other = |thread: &JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        if let Some(thread) = thread.take().filter(other)
            && thread.join().is_err()
        {
            tracing::error!("the writer's thread panicked");
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("max_group", &self.max_group)
            .finish_non_exhaustive()
    }
}

pub(crate) fn closed() -> Error {
    failed("the store is closed")
}

/// What the writer's thread does, until it is closed or nobody can write any more.
fn serve(
    shared: &Shared,
    mut orders: mpsc::Receiver<Order>,
    max_group: usize,
    is_crowded: &AtomicBool,
) {
    let mut closing = None;
    while closing.is_none()
        && let Some(first) = orders.blocking_recv()
    {
        let (mut group, mut given_up) = (Vec::new(), Vec::new());
        let mut next = Some(first);
        while let Some(order) = next {
            match order {
                Order::Write(job) => group.push(job),
                Order::GiveUp(room) => given_up.push(room),
                Order::Tend => {}
                Order::Close(reply) => closing = Some(reply),
            }
            // What follows a room that is given up finds nothing of it.
            let goes_on = closing.is_none() && given_up.is_empty();
            let more = goes_on && group.len() < max_group;
            next = more.then(|| orders.try_recv().ok()).flatten();
        }
        if let Some(transactions) = lock(shared).as_mut() {
            is_crowded.store(group.len() > 1, Ordering::Relaxed);
            transactions.run_all(group);
            for room in given_up {
                transactions.give_up(room);
            }
        }
        // Whoever writes meanwhile comes between the steps.
        while tend(shared, orders.is_empty()) {}
    }
    let last = lock(shared).take();
    let closed = last.map_or(Ok(()), Transactions::close);
    match (closing, closed) {
        (Some(reply), closed) => {
            let _ = reply.send(closed);
        }
        (None, Err(error)) => tracing::warn!(%error, "the database was not closed cleanly"),
        (None, Ok(())) => {}
    }
}

/// Does a step of what is left between transactions; whether there is another one to do now.
fn tend(shared: &Shared, is_idle: bool) -> bool {
    let step = || lock(shared).as_mut().is_some_and(|held| held.tend(is_idle));
    catch_unwind(AssertUnwindSafe(step)).unwrap_or_else(|_| {
        tracing::error!("what is done between transactions panicked");
        false
    })
}

fn lock(shared: &Shared) -> MutexGuard<'_, Option<Transactions>> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rusqlite::Connection;
    use tempfile::TempDir;

    use super::*;
    use crate::cache::Cache;
    use crate::lock::FileLock;
    use crate::migrate;

    fn start(folder: &TempDir) -> Writer {
        let path = folder.path().join("x.db");
        let lock = FileLock::take(&path).unwrap();
        let mut db = Connection::open(&path).unwrap();
        migrate::run(&mut db, &path, migrate::ALL).unwrap();
        let cache = Arc::new(Cache::new(8));
        let transactions =
            Transactions::new(db, lock, cache, None, Duration::from_secs(5), false).unwrap();
        Writer::start(transactions, 8).unwrap()
    }

    fn note(txn: &mut Txn<'_>) -> Result<i64> {
        let db = txn.db;
        db.execute("INSERT INTO unindexed DEFAULT VALUES", [])
            .unwrap();
        let count = db.query_row("SELECT count(*) FROM unindexed", [], |row| row.get(0));
        Ok(count.unwrap())
    }

    #[tokio::test]
    async fn a_write_that_panics_is_undone_and_the_others_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let writer = start(&folder);
        let panics = |txn: &mut Txn<'_>| -> Result<i64> {
            note(txn)?;
            panic!("in the middle of a transaction")
        };
        for round in 0..3 {
            let alone = writer.write_few(panics).await.unwrap_err();
            assert!(alone.message().contains("panicked"), "{alone}");
            assert!(writer.write(panics).await.is_err());
            // Joined with others, which stand.
            let (before, failed, after) =
                tokio::join!(writer.write(note), writer.write(panics), writer.write(note));
            assert!(failed.is_err());
            assert_eq!(
                (before.unwrap(), after.unwrap()),
                (3 * round + 1, 3 * round + 2)
            );
            assert_eq!(writer.write_few(note).await.unwrap(), 3 * round + 3);
        }
        writer.close().await.unwrap();
    }

    /// What a write is answered with holds the writer, and nobody else does.
    #[test]
    fn a_writer_that_its_own_thread_lets_go_of_ends() {
        let folder = tempfile::tempdir().unwrap();
        let writer = Arc::new(start(&folder));
        let held = Arc::clone(&writer);
        let job = Write::new(move |_: &mut Txn<'_>| {
            // The last one, once the test has let go of its own.
            while Arc::strong_count(&held) > 1 {
                std::thread::yield_now();
            }
            drop(held);
            Ok(())
        });
        writer
            .queue()
            .unwrap()
            .blocking_send(Order::Write(job))
            .unwrap();
        let mut open = writer.open.clone();
        drop(writer);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async { while open.changed().await.is_ok() {} });
    }
}
