//! The store that a proof is about.

use std::sync::Arc;
use std::time::Duration;

use roomkit_core::RoomKit;
use roomkit_core::store::ConversationStore;
use roomkit_core::sync::{InProcessLocks, RoomLockManager};
use roomkit_store_postgres::{PostgresConfig, PostgresLocks, PostgresStore};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};

use crate::{Error, Result};

/// How long a kit may take to close.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// Opens the store at `sqlite:PATH` or `postgres://…`.
///
/// # Errors
/// [`Error::Usage`] for another address; what the store says.
pub async fn open(address: &str) -> Result<Arc<dyn ConversationStore>> {
    if let Some(path) = address.strip_prefix("sqlite:") {
        return Ok(Arc::new(SqliteStore::open(SqliteConfig::new(path)).await?));
    }
    if address.starts_with("postgres") {
        let config = PostgresConfig::new(address).max_connections(8);
        return Ok(Arc::new(PostgresStore::open(config).await?));
    }
    Err(Error::Usage(format!(
        "`{address}` is neither sqlite:PATH nor postgres://…"
    )))
}

/// What serialises the rooms of several processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Locks {
    /// Nothing but the version of the room, which the store compares and sets.
    InProcess,
    /// Advisory locks of PostgreSQL.
    Advisory,
}

impl Locks {
    /// How it is written on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in-process",
            Self::Advisory => "advisory",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// [`Error::Usage`] for another name.
    pub fn named(name: &str) -> Result<Self> {
        let found = [Self::InProcess, Self::Advisory];
        let found = found.into_iter().find(|locks| locks.name() == name);
        found.ok_or_else(|| Error::Usage(format!("there are no locks `{name}`")))
    }
}

/// A kit on the store at `address`.
///
/// # Errors
/// Those of [`open`], and what the locks say.
pub async fn kit(address: &str, locks: Locks) -> Result<RoomKit> {
    let manager: Arc<dyn RoomLockManager> = match locks {
        Locks::InProcess => Arc::new(InProcessLocks::new()),
        Locks::Advisory => Arc::new(PostgresLocks::open(PostgresConfig::new(address)).await?),
    };
    let builder = RoomKit::builder()
        .store(open(address).await?)
        .locks(manager);
    Ok(builder.allow_in_process_locks().build()?)
}
