//! A folder of its own for a test, gone when the test is over.

use std::fs;
use std::ops::Deref;
use std::path::{Path, PathBuf};

pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new, empty folder; `name` tells the tests of one run apart.
    pub(crate) fn new(name: &str) -> Self {
        let process = std::process::id();
        let folder = std::env::temp_dir().join(format!("roomkit-xtask-{process}-{name}"));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }
}

impl Deref for Scratch {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
