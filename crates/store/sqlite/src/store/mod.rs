//! The store: what it holds open, and the one call by which a room changes.

mod archive;
mod events;
mod people;
mod rooms;
mod work;

pub(crate) use self::events::outcome;
pub(crate) use self::people::put_marker;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::model::RoomId;
use roomkit_core::store::{CommitBatch, CommitReceipt, ConversationStore};
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::PayloadKeys;
use tokio::task::spawn_blocking;

use crate::cache::Cache;
use crate::error::failed;
use crate::lock::FileLock;
use crate::options::SqliteOptions;
use crate::readers::Readers;
use crate::txn::Txn;
use crate::writer::{Setup, Writer};
use crate::{commit, connection, migrate, restore, room};

/// A store in one SQLite file, which one process at a time writes.
///
/// [`close`](ConversationStore::close) lets go of the file when all is written; so does dropping the
/// store, which waits for it.
#[derive(Debug)]
pub struct SqliteStore {
    path: PathBuf,
    readers: Arc<Readers>,
    /// Nothing where the file is only read.
    writer: Option<Writer>,
    /// Right as long as nobody else writes, so only beside a writer.
    cache: Arc<Cache>,
    keys: Option<Arc<PayloadKeys>>,
}

impl SqliteStore {
    /// Opens a database, makes it where there is none, and brings its schema up to date.
    ///
    /// # Errors
    /// `StoreFailed` where the file
    /// - is open for writing elsewhere, in another process or in this one;
    /// - is of a newer version of this crate, of another application, or no database;
    /// - cannot be read or written, or, to be read only, is not there or not up to date.
    ///
    /// In each of these cases it is left as it was. A migration that fails leaves the version before.
    pub async fn open(options: SqliteOptions) -> Result<Self> {
        let opening = spawn_blocking(move || Self::open_here(options));
        opening
            .await
            .map_err(|error| failed("opening was given up").with_source(error))?
    }

    fn open_here(options: SqliteOptions) -> Result<Self> {
        if options.readers == 0 || options.max_group == 0 {
            let problem = "readers, max_group: must be at least 1";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let path = resolved(&options.path)?;
        let keys = options.payload_keys.clone().map(Arc::new);
        let cache = Arc::new(Cache::new(options.cached_rooms));
        let writer = if options.read_only {
            migrate::check(&connection::for_reading(&path, &options)?, &path)?;
            None
        } else {
            let lock = FileLock::take(&path)?;
            let mut connection = connection::for_writing(&path, &options)?;
            migrate::run(&mut connection, &path, migrate::ALL)?;
            connection::begin_to_write(&connection, &options)?;
            restore::clear(&mut connection)?;
            Some(Writer::start(Setup {
                connection,
                lock,
                cache: Arc::clone(&cache),
                keys: keys.clone(),
                max_group: options.max_group,
            })?)
        };
        tracing::info!(path = %path.display(), read_only = options.read_only, "database opened");
        Ok(Self {
            readers: Arc::new(Readers::new(path.clone(), options)),
            path,
            writer,
            cache,
            keys,
        })
    }

    /// The database's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        let writer = self.writer.as_ref().ok_or_else(|| {
            let path = self.path.display();
            failed(format!("{path} is open read-only: nothing can be written"))
        })?;
        writer.write(work).await
    }

    /// Reads what belongs to a room, by the room's key; nothing where there is no such room.
    async fn read_room<T, F>(&self, id: &RoomId, read: F) -> Result<Option<T>>
    where
        T: Send + 'static,
        F: FnOnce(&rusqlite::Connection, i64) -> Result<T> + Send + 'static,
    {
        let id = id.clone();
        let found = self.readers.read(move |db| match room::key_of(db, &id)? {
            Some(key) => read(db, key).map(Some),
            None => Ok(None),
        });
        found.await
    }
}

#[async_trait]
impl ConversationStore for SqliteStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        self.write(move |txn| commit::batch(txn, batch)).await
    }

    fn is_shared(&self) -> bool {
        self.writer.is_none()
    }

    async fn close(&self) -> Result<()> {
        self.readers.close();
        match &self.writer {
            Some(writer) => writer.close().await,
            None => Ok(()),
        }
    }
}

/// The path by which a file is locked, the same whichever link leads to it.
fn resolved(path: &Path) -> Result<PathBuf> {
    let cannot = |error| {
        failed(format!("the folder of {} cannot be used", path.display())).with_source(error)
    };
    if let Ok(path) = path.canonicalize() {
        return Ok(path);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| failed(format!("{} is no name of a file", path.display())))?;
    Ok(folder.canonicalize().map_err(cannot)?.join(name))
}
