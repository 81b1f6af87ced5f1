//! Moving in from the Python package: its SQLite database, of version 0.66, into any store.

mod identities;
mod report;
mod room;
mod source;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream::{StreamExt, unfold};
use roomkit_core::store::{ConversationStore, RoomPart};
use roomkit_core::{ErrorKind, Result};
use tokio::task::spawn_blocking;

pub use self::report::{ImportReport, RowProblem, TableReport};
use self::room::Reading;
use self::source::Source;
use crate::error::failed;

/// Brings the rooms and identities of a database of the Python package into a store.
///
/// The file is only read; it may be open in the Python program, of which what is committed now is
/// taken. Each room comes whole, through [`restore`](roomkit_core::store::ArchiveStore::restore).
/// What cannot be read does not stop the rest: every row is either imported or in the report with
/// the reason. Nothing that is in the store already is changed: a room or an identity whose id is in use
/// is reported with all of its rows.
///
/// What the Python package does not keep is told from what it keeps:
///
/// - Who has spoken over which type of channel comes from the sources of inbound events. Where
///   identity resolution had given a sender another id, their next message is routed by that one.
/// - An idempotency key is answered with the event that has it; one without such an event is reported.
/// - A read marker names an event there and an index here; its time is that of the event.
/// - The next index is that of `event_sequences`, so no index is given twice.
/// - Addresses are added to the identity that they name.
/// - The full-text index is made anew.
///
/// # Errors
/// - [`InvalidInput`](ErrorKind::InvalidInput): the file is no such database, or has another version.
/// - [`StoreFailed`](ErrorKind::StoreFailed): the file cannot be read, or `into` cannot be written.
///   What came before stays; a second call reports it as in use.
pub async fn import(path: impl AsRef<Path>, into: &dyn ConversationStore) -> Result<ImportReport> {
    let path = path.as_ref().to_owned();
    let source = blocking(move || Source::open(&path)).await?;
    let shared = Shared(Arc::new(Mutex::new(source)));
    for id in shared.with(Source::begin_rooms).await? {
        if let Some(reading) = shared.with(move |source| Reading::of(source, id)).await? {
            restore(&shared, reading, into).await?;
        }
    }
    shared.with(Source::report_orphans).await?;
    for (row, identity) in shared.with(identities::all).await? {
        let (organization, id) = (identity.organization_id.clone(), identity.id.clone());
        let there = into.identity(organization.as_ref(), &id).await?.is_some();
        if !there {
            into.put_identity(identity).await?;
        }
        shared
            .with(move |source| identities::done(source, row, there))
            .await?;
    }
    shared.with(Source::finish).await
}

/// Restores one room from its rows and notes what came of it.
async fn restore(shared: &Shared, reading: Reading, into: &dyn ConversationStore) -> Result<()> {
    let reading = Arc::new(Mutex::new(reading));
    let state = (shared.clone(), Arc::clone(&reading), Vec::new().into_iter());
    let parts = unfold(Some(state), |state| async {
        let (shared, reading, mut page) = state?;
        loop {
            if let Some(part) = page.next() {
                return Some((Ok(part), Some((shared, reading, page))));
            }
            let next = Arc::clone(&reading);
            let read = shared.with(move |source| {
                let mut reading = next.lock().unwrap_or_else(PoisonError::into_inner);
                reading.page(source)
            });
            let parts: Vec<RoomPart> = match read.await {
                Ok(parts) if parts.is_empty() => return None,
                Ok(parts) => parts,
                Err(error) => return Some((Err(error), None)),
            };
            page = parts.into_iter();
        }
    });
    let refused = match into.restore(parts.boxed()).await {
        Ok(_) => None,
        Err(error) => match error.kind() {
            ErrorKind::RoomAlreadyExists => Some("the room's id is in use".to_owned()),
            ErrorKind::InvalidInput => Some(error.message().to_owned()),
            _ => return Err(error),
        },
    };
    shared
        .with(move |source| {
            let mut reading = reading.lock().unwrap_or_else(PoisonError::into_inner);
            reading.end(source, refused);
        })
        .await
}

/// The database that is read, from threads that may block.
#[derive(Clone)]
struct Shared(Arc<Mutex<Source>>);

impl Shared {
    async fn with<T, F>(&self, work: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&mut Source) -> T + Send + 'static,
    {
        let source = Arc::clone(&self.0);
        blocking(move || {
            Ok(work(
                &mut source.lock().unwrap_or_else(PoisonError::into_inner),
            ))
        })
        .await
    }
}

async fn blocking<T, F>(work: F) -> Result<T>
where
    T: Send + 'static,
    F: FnOnce() -> Result<T> + Send + 'static,
{
    spawn_blocking(work)
        .await
        .map_err(|error| failed("an import was given up").with_source(error))?
}
