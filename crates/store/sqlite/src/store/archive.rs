//! Whole rooms, out of the store and into it.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use roomkit_core::Result;
use roomkit_core::model::RoomId;
use roomkit_core::store::{ArchiveStore, RoomPart, RoomSnapshot, checked};
use tokio::task::spawn_blocking;

use super::SqliteStore;
use crate::cache::Entry;
use crate::dump::Dump;
use crate::error::failed;
use crate::restore;

/// How many parts are written in one transaction.
const CHUNK: usize = 256;

/// A dump between two pages.
enum Dumping {
    Begin(RoomId),
    Reading(Box<Dump>, VecDeque<RoomPart>),
}

#[async_trait]
impl ArchiveStore for SqliteStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        let begin = Some(Dumping::Begin(room.clone()));
        unfold(begin, move |dumping| async move {
            match self.next_part(dumping?).await {
                Ok(None) => None,
                Ok(Some((part, dumping))) => Some((Ok(part), Some(dumping))),
                Err(error) => Some((Err(error), None)),
            }
        })
        .boxed()
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        let mut parts = checked(parts);
        let head = match parts.next().await.transpose()? {
            Some(RoomPart::Room(head)) => *head,
            _ => return Err(restore::invalid("it is empty")),
        };
        let mut restoring = Restoring {
            store: self,
            begun: Arc::default(),
            settled: false,
        };
        let begun = Arc::clone(&restoring.begun);
        let begin = self.write(move |txn| {
            let entry = restore::begin(txn, head)?;
            begun.get_or_init(|| entry.key);
            Ok(entry)
        });
        let entry = begin.await.inspect_err(|_| restoring.settled = true)?;
        let snapshot = restoring.fill(entry, parts).await?;
        restoring.settled = true;
        Ok(snapshot)
    }
}

impl SqliteStore {
    async fn next_part(&self, dumping: Dumping) -> Result<Option<(RoomPart, Dumping)>> {
        let dump = match dumping {
            Dumping::Reading(dump, mut page) => match page.pop_front() {
                Some(part) => return Ok(Some((part, Dumping::Reading(dump, page)))),
                None => dump,
            },
            Dumping::Begin(room) => {
                let (readers, keys) = (Arc::clone(&self.readers), self.keys.clone());
                run(move || Dump::begin(readers.open()?, room, keys).map(Box::new)).await?
            }
        };
        let read = run(move || {
            let mut dump = dump;
            dump.page().map(|page| (dump, page))
        });
        let (dump, page) = read.await?;
        let mut page = VecDeque::from(page);
        let part = page.pop_front();
        Ok(part.map(|part| (part, Dumping::Reading(dump, page))))
    }
}

/// Does what may block where that is allowed.
async fn run<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    spawn_blocking(work)
        .await
        .map_err(|error| failed("a dump was given up").with_source(error))?
}

/// A room on its way in; dropped before it is whole, it is removed.
struct Restoring<'a> {
    store: &'a SqliteStore,
    /// The room's key, once there is something of it: whoever waits for that may go away first.
    begun: Arc<OnceLock<i64>>,
    /// Whether there is nothing to remove.
    settled: bool,
}

impl Restoring<'_> {
    async fn fill(
        &self,
        entry: Entry,
        mut parts: BoxStream<'_, Result<RoomPart>>,
    ) -> Result<RoomSnapshot> {
        let mut chunk = Vec::with_capacity(CHUNK);
        while let Some(part) = parts.next().await {
            chunk.push(part?);
            if chunk.len() == CHUNK {
                self.add(&entry, std::mem::take(&mut chunk)).await?;
            }
        }
        self.add(&entry, chunk).await?;
        self.store
            .write(move |txn| restore::finish(txn, &entry))
            .await
    }

    async fn add(&self, entry: &Entry, chunk: Vec<RoomPart>) -> Result<()> {
        let entry = entry.clone();
        self.store
            .write(move |txn| restore::add(txn, &entry, chunk))
            .await
    }
}

impl Drop for Restoring<'_> {
    fn drop(&mut self) {
        if let Some(writer) = &self.store.writer
            && !self.settled
        {
            writer.give_up(Arc::clone(&self.begun));
        }
    }
}
