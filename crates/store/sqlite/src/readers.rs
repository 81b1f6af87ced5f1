//! The connections that read, each for one reader at a time, on threads that may block.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit_core::Result;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::connection;
use crate::error::{Doing, failed};
use crate::options::SqliteOptions;
use crate::writer::closed;

/// Made when they are needed, at most `options.readers`.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    options: SqliteOptions,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf, options: SqliteOptions) -> Self {
        Self {
            path,
            permits: Arc::new(Semaphore::new(options.readers.max(1))),
            options,
            idle: Mutex::default(),
        }
    }

    /// Reads with one statement, or several that need not see the same moment.
    pub(crate) async fn read<T, F>(self: &Arc<Self>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        let permits = Arc::clone(&self.permits);
        let permit = permits.acquire_owned().await.map_err(|_| closed())?;
        let readers = Arc::clone(self);
        let reading = spawn_blocking(move || {
            let connection = readers.take()?;
            let result = read(&connection);
            readers.put_back(connection);
            drop(permit);
            result
        });
        reading
            .await
            .map_err(|error| failed("a read was given up").with_source(error))?
    }

    /// Reads as the database is at one moment.
    pub(crate) async fn read_at_once<T, F>(self: &Arc<Self>, read: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T> + Send + 'static,
    {
        self.read(|connection| {
            let moment = connection
                .unchecked_transaction()
                .doing("beginning a read")?;
            let result = read(&moment)?;
            moment.commit().doing("ending a read")?;
            Ok(result)
        })
        .await
    }

    /// A connection outside of the pool, for a read that lasts.
    pub(crate) fn open(&self) -> Result<Connection> {
        if self.permits.is_closed() {
            return Err(closed());
        }
        connection::for_reading(&self.path, &self.options)
    }

    /// Lets go of the file; reads that have begun end by themselves.
    pub(crate) fn close(&self) {
        self.permits.close();
        self.idle().clear();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.permits.is_closed()
    }

    fn take(&self) -> Result<Connection> {
        let idle = self.idle().pop();
        idle.map_or_else(|| self.open(), Ok)
    }

    fn put_back(&self, connection: Connection) {
        let mut idle = self.idle();
        if !self.permits.is_closed() {
            idle.push(connection);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
