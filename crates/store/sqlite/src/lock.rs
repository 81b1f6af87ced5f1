//! One process at a time: the lock beside the database.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};

use roomkit_core::Result;

use crate::error::failed;

/// Held as long as the file is open; the system lets go of it however the process ends.
#[derive(Debug)]
pub(crate) struct FileLock {
    _file: File,
}

impl FileLock {
    /// Takes the lock of a database, or says who is in the way.
    pub(crate) fn take(database: &Path) -> Result<Self> {
        let path = beside(database);
        let cannot = |error: std::io::Error| {
            failed(format!("the lock {} cannot be had", path.display())).with_source(error)
        };
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => Err(failed(format!(
                "{} is open in another process, or twice in this one, and one at a time may write \
                 it: open it read-only, or use a store with a server (PostgreSQL) for several",
                database.display()
            ))
            .retryable(true)),
            Err(TryLockError::Error(error)) => Err(cannot(error)),
        }
    }
}

fn beside(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
