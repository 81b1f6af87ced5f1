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
use crate::config::{SqliteConfig, Synchronous};
use crate::error::failed;
use crate::lock::FileLock;
use crate::readers::Readers;
use crate::transaction::Transactions;
use crate::txn::Txn;
use crate::writer::Writer;
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
    /// - has a second name in its file system (a hard link), for each of which SQLite keeps a log;
    /// - is of a newer version of this crate, of another application, or no database;
    /// - cannot be read or written, or, to be read only, is not there or not up to date.
    ///
    /// In each of these cases it is left as it was. A migration that fails leaves the version before.
    pub async fn open(config: SqliteConfig) -> Result<Self> {
        let opening = spawn_blocking(move || Self::open_here(config));
        opening
            .await
            .map_err(|error| failed("opening was given up").with_source(error))?
    }

    fn open_here(config: SqliteConfig) -> Result<Self> {
        if config.readers == 0 || config.max_group == 0 || config.max_pages == Some(0) {
            let problem = "readers, max_group, max_pages: must be at least 1";
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let path = resolved(&config.path)?;
        has_one_name(&path)?;
        let keys = config.payload_keys.clone().map(Arc::new);
        let cache = Arc::new(Cache::new(config.cached_rooms));
        let writer = if config.read_only {
            migrate::check(&connection::for_reading(&path, &config)?, &path)?;
            None
        } else {
            let lock = FileLock::take(&path)?;
            let mut connection = connection::for_writing(&path, &config)?;
            migrate::run(&mut connection, &path, migrate::ALL)?;
            connection::begin_to_write(&connection, &config)?;
            restore::clear(&mut connection)?;
            let transactions = Transactions::new(
                connection,
                lock,
                Arc::clone(&cache),
                keys.clone(),
                config.busy_timeout,
                config.synchronous != Synchronous::Normal,
            )?;
            Some(Writer::start(transactions, config.max_group)?)
        };
        tracing::info!(path = %path.display(), read_only = config.read_only, "database opened");
        Ok(Self {
            readers: Arc::new(Readers::new(path.clone(), config)),
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

    /// Makes a write that may take long.
    async fn write<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        self.writer()?.write(work).await
    }

    /// Makes a write of few rows.
    async fn write_few<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Txn<'_>) -> Result<T> + Send + 'static,
    {
        self.writer()?.write_few(work).await
    }

    fn writer(&self) -> Result<&Writer> {
        self.writer.as_ref().ok_or_else(|| {
            let path = self.path.display();
            failed(format!("{path} is open read-only: nothing can be written"))
        })
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
        if commit::is_small(&batch) {
            self.write_few(move |txn| commit::batch(txn, batch)).await
        } else {
            self.write(move |txn| commit::batch(txn, batch)).await
        }
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

/// How many links in a row are followed to a file that is not there yet.
const LINKS: usize = 40;

/// Refuses a file with two names: SQLite would keep a log beside each, and this store a lock.
fn has_one_name(path: &Path) -> Result<()> {
    #[cfg(unix)]
    if let Ok(file) = path.metadata()
        && std::os::unix::fs::MetadataExt::nlink(&file) > 1
    {
        return Err(failed(format!(
            "{} has a second name, by a hard link: what is written under one is not seen under the \
             other; remove that name, or open a copy",
            path.display()
        )));
    }
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}

/// The path by which a file is locked, the same whichever link leads to it.
fn resolved(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    // A link may lead to what is not there yet.
    for _ in 0..LINKS {
        if let Ok(path) = path.canonicalize() {
            return Ok(path);
        }
        let Ok(target) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    if path.is_symlink() {
        let problem = format!("{} leads to no file: too many links", path.display());
        return Err(failed(problem));
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let name = path
        .file_name()
        .ok_or_else(|| failed(format!("{} is no name of a file", path.display())))?;
    let folder = folder.canonicalize().map_err(|error| {
        failed(format!("the folder of {} cannot be used", path.display())).with_source(error)
    })?;
    Ok(folder.join(name))
}
