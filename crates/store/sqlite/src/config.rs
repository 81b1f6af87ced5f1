//! What an operator sets: the file, what a commit survives, and how much is kept in memory.

use std::path::PathBuf;
use std::time::Duration;

use roomkit_store::PayloadKeys;
use serde::Deserialize;

/// What a commit that was answered survives.
///
/// Neither loses it when the process ends, however it ends, and neither leaves a file that does not open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Synchronous {
    /// The end of the process. When the machine loses power or the system crashes, the commits since
    /// the last checkpoint may be gone, always the newest ones and each of them whole.
    #[default]
    Normal,
    /// A loss of power too, as far as the disk keeps what it says it has written. Each transaction
    /// waits for the disk.
    Full,
}

/// Where a [`SqliteStore`](crate::SqliteStore) keeps its data, and how.
///
/// ```
/// use roomkit_store_sqlite::{SqliteConfig, Synchronous};
///
/// let config = SqliteConfig::new("rooms.db").synchronous(Synchronous::Full).readers(8);
/// assert_eq!(config.max_group, 64);
/// ```
#[derive(Debug, Clone, Deserialize)]
#[serde(from = "Settings")]
#[non_exhaustive]
pub struct SqliteConfig {
    /// The database; it is made where there is none. Beside it lie `-wal`, `-shm` and `.lock`.
    pub path: PathBuf,
    /// Whether the file is only read, while another process may write it. Default: no.
    pub read_only: bool,
    /// What a commit survives. Default: the end of the process, not a loss of power.
    pub synchronous: Synchronous,
    /// How many reads run side by side, from 1. Default: 4.
    pub readers: usize,
    /// How long to wait for another program that holds the file, 24 days at most. Default: 5 seconds;
    /// when read from configuration, `busy_timeout_ms` in milliseconds.
    pub busy_timeout: Duration,
    /// How many rooms are kept in memory, the last used ones, each with its bindings. Default: 4096.
    pub cached_rooms: usize,
    /// How many pages of the file each connection keeps in memory, in KiB. Default: 8192.
    pub cache_kib: u32,
    /// How many commits at most are joined into one transaction, from 1. Default: 64.
    pub max_group: usize,
    /// How many pages of 4 KiB the file may have; a write that needs more is refused as on a full
    /// disk. From 1; a file that has more already keeps them. Default: SQLite's own limit, which is above
    /// 10⁹.
    pub max_pages: Option<u32>,
    /// The keys that seal `raw_payload` at rest; never part of a configuration file. Default: none,
    /// it is stored as it came.
    pub payload_keys: Option<PayloadKeys>,
}

impl SqliteConfig {
    /// The database at `path` with the defaults.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            read_only: false,
            synchronous: Synchronous::default(),
            readers: 4,
            busy_timeout: Duration::from_secs(5),
            cached_rooms: 4096,
            cache_kib: 8192,
            max_group: 64,
            max_pages: None,
            payload_keys: None,
        }
    }

    /// Only reads, beside the one process that writes. Every write is refused.
    #[must_use]
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Sets what a commit survives.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// Sets how many reads run side by side.
    #[must_use]
    pub fn readers(mut self, readers: usize) -> Self {
        self.readers = readers;
        self
    }

    /// Sets how long to wait for another program that holds the file.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout;
        self
    }

    /// Sets how many rooms are kept in memory.
    #[must_use]
    pub fn cached_rooms(mut self, rooms: usize) -> Self {
        self.cached_rooms = rooms;
        self
    }

    /// Sets how much of the file each connection keeps in memory, in KiB.
    #[must_use]
    pub fn cache_kib(mut self, kib: u32) -> Self {
        self.cache_kib = kib;
        self
    }

    /// Sets how many commits at most are joined into one transaction.
    #[must_use]
    pub fn max_group(mut self, commits: usize) -> Self {
        self.max_group = commits;
        self
    }

    /// Bounds the file, in pages of 4 KiB.
    #[must_use]
    pub fn max_pages(mut self, pages: Option<u32>) -> Self {
        self.max_pages = pages;
        self
    }

    /// Seals what providers sent with these keys, and opens it with them.
    #[must_use]
    pub fn payload_keys(mut self, keys: PayloadKeys) -> Self {
        self.payload_keys = Some(keys);
        self
    }
}

/// The config as they stand in a configuration file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    path: PathBuf,
    read_only: Option<bool>,
    synchronous: Option<Synchronous>,
    readers: Option<usize>,
    busy_timeout_ms: Option<u64>,
    cached_rooms: Option<usize>,
    cache_kib: Option<u32>,
    max_group: Option<usize>,
    max_pages: Option<u32>,
}

impl From<Settings> for SqliteConfig {
    fn from(settings: Settings) -> Self {
        let defaults = Self::new(settings.path);
        let busy_timeout = settings.busy_timeout_ms.map(Duration::from_millis);
        Self {
            read_only: settings.read_only.unwrap_or(defaults.read_only),
            synchronous: settings.synchronous.unwrap_or(defaults.synchronous),
            readers: settings.readers.unwrap_or(defaults.readers),
            busy_timeout: busy_timeout.unwrap_or(defaults.busy_timeout),
            cached_rooms: settings.cached_rooms.unwrap_or(defaults.cached_rooms),
            cache_kib: settings.cache_kib.unwrap_or(defaults.cache_kib),
            max_group: settings.max_group.unwrap_or(defaults.max_group),
            max_pages: settings.max_pages,
            ..defaults
        }
    }
}
