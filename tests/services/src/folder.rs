//! A temporary folder of its own, gone when it is dropped.

use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::port::nanoseconds;

static MADE: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new, empty folder that nobody else may enter. Its name is short, since the path of a
    /// socket must be.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let process = std::process::id();
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!(
            "roomkit-{name}-{process}-{count}-{:x}",
            nanoseconds()
        ));
        // Not with its parents: one that exists already, made by someone else, must be an error.
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .map_err(Error::io(&path))?;
        Ok(Self(path))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Whether this process is root's: what it makes then belongs to root.
    pub(crate) fn is_roots(&self) -> Result<bool> {
        Ok(fs::metadata(&self.0).map_err(Error::io(&self.0))?.uid() == 0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
