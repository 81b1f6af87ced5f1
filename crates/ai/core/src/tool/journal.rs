//! An auditor that appends a line of JSON for each call to a file.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread;

use tokio::sync::oneshot;

use super::audit::Kept;
use super::{ToolAuditEntry, ToolAuditor};

/// How many lines may wait to be written.
const MOST_WAITING: usize = 1_024;

/// Appends one line of JSON to a file for each call (RFC §15.8.1), and keeps the last 1,000 in memory.
///
/// A thread of its own writes, so that no call waits for the disk; it ends when the auditor is dropped and
/// all is written. Where the disk is slower than 1,024 waiting lines, or fails, lines are left out and
/// counted. The file is never shortened: rotate it from outside, by copying and truncating.
///
/// Arguments and results are left out, unless [`with_content`](Self::with_content) is set.
pub struct JsonlToolAuditor {
    path: PathBuf,
    content: bool,
    lines: SyncSender<Job>,
    lost: Arc<AtomicU64>,
    kept: Kept,
}

enum Job {
    Line(String),
    Flush(oneshot::Sender<()>),
}

impl JsonlToolAuditor {
    /// Opens the file for appending; it is made where there is none, and its folder too.
    ///
    /// # Errors
    /// When the folder or the file cannot be made or opened, or the thread cannot be started.
    pub fn open(path: impl AsRef<Path>) -> std::io::Result<Self> {
        let path = path.as_ref().to_owned();
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder)?;
        }
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        let (lines, waiting) = sync_channel(MOST_WAITING);
        let lost = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&lost);
        thread::Builder::new()
            .name("roomkit-tool-audit".to_owned())
            .spawn(move || write_lines(file, &waiting, &counter))?;
        Ok(Self {
            path,
            content: false,
            lines,
            lost,
            kept: Kept::default(),
        })
    }

    /// Also writes arguments and results, which may repeat what people said. Default: no.
    #[must_use]
    pub fn with_content(mut self, content: bool) -> Self {
        self.content = content;
        self
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines were left out.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Waits until what has been recorded is handed to the system.
    pub async fn flush(&self) {
        let (done, written) = oneshot::channel();
        let mut job = Job::Flush(done);
        // A full queue empties; nobody is told when, so this asks again.
        while let Err(std::sync::mpsc::TrySendError::Full(back)) = self.lines.try_send(job) {
            job = back;
            tokio::task::yield_now().await;
        }
        // The writer answers, or has ended with nothing left to write.
        let _ = written.await;
    }

    /// The last 1,000 calls, oldest first.
    #[must_use]
    pub fn entries(&self) -> Vec<ToolAuditEntry> {
        self.kept.entries()
    }

    /// How many calls of each tool there were among the last 1,000, in lines for people.
    #[must_use]
    pub fn summary(&self) -> String {
        self.kept.summary()
    }

    fn lose(&self) {
        if self.lost.fetch_add(1, Ordering::Relaxed) == 0 {
            tracing::warn!("the file of tool calls is written too slowly: lines are left out");
        }
    }
}

impl ToolAuditor for JsonlToolAuditor {
    fn record(&self, entry: &ToolAuditEntry) {
        self.kept.push(entry);
        match serde_json::to_string(entry) {
            Ok(mut line) => {
                line.push('\n');
                if self.lines.try_send(Job::Line(line)).is_err() {
                    self.lose();
                }
            }
            Err(_) => self.lose(),
        }
    }

    fn wants_content(&self) -> bool {
        self.content
    }
}

fn write_lines(file: File, waiting: &Receiver<Job>, lost: &AtomicU64) {
    let mut file = BufWriter::new(file);
    while let Ok(first) = waiting.recv() {
        let mut next = Ok(first);
        // What waits is written together.
        loop {
            match next {
                Ok(Job::Line(line)) => note(file.write_all(line.as_bytes()), lost),
                Ok(Job::Flush(done)) => {
                    note(file.flush(), lost);
                    // Whoever asked may be gone.
                    let _ = done.send(());
                }
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
            next = waiting.try_recv();
        }
        note(file.flush(), lost);
    }
}

fn note(written: std::io::Result<()>, lost: &AtomicU64) {
    if let Err(error) = written
        && lost.fetch_add(1, Ordering::Relaxed) == 0
    {
        tracing::warn!(kind = ?error.kind(), "the file of tool calls cannot be written");
    }
}

impl fmt::Debug for JsonlToolAuditor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonlToolAuditor")
            .field("path", &self.path)
            .field("content", &self.content)
            .field("lost", &self.lost())
            .finish_non_exhaustive()
    }
}
