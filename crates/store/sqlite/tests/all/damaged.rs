//! Damaged files: what cannot be read is an error, and nothing worse.

use std::path::Path;

use futures_util::StreamExt;
use roomkit_core::model::EventId;
use roomkit_core::store::{
    ArchiveStore, ConversationStore, DeliveryStore, EventQuery, EventSearch, EventStore, Expiry,
    MemoryStore, Page, ParticipantStore, ReadStore, RetentionAction, RetentionScope, RoomFilter,
    RoomStore, WorkStore,
};
use roomkit_core::{ErrorKind, Result};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore, python};

use crate::support::{Place, now, sample, say};

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }

    /// A copy of a file with something wrong.
    fn damage(&mut self, from: &Path, to: &Path) {
        let mut bytes = std::fs::read(from).unwrap();
        match self.roll(4) {
            0 => bytes.truncate(self.roll(bytes.len())),
            1 => {
                let start = self.roll(bytes.len());
                let end = (start + self.roll(600)).min(bytes.len());
                bytes[start..end].fill(0);
            }
            _ => {
                for _ in 0..=self.roll(20) {
                    let at = self.roll(bytes.len());
                    bytes[at] ^= 1 << self.roll(8);
                }
            }
        }
        std::fs::write(to, bytes).unwrap();
    }
}

/// Reads and writes of every kind; how many failed.
async fn use_it(store: &SqliteStore) -> usize {
    let mut failed = 0;
    let mut note = |ok: bool| failed += usize::from(!ok);
    let rooms = store
        .list_rooms(&RoomFilter::default(), Page::first(99))
        .await;
    note(rooms.is_ok());
    let id = "full".into();
    for room in rooms.unwrap_or_default() {
        let parts: Vec<Result<_>> = store.dump(&room.id).collect().await;
        note(parts.iter().all(Result::is_ok));
    }
    note(store.room(&id).await.is_ok());
    note(store.events(&id, &EventQuery::first(99)).await.is_ok());
    note(store.event_versions(&id, &"event-2".into()).await.is_ok());
    let roots: [EventId; 1] = ["event-1".into()];
    note(store.thread_summaries(&id, &roots).await.is_ok());
    note(
        store
            .search_events(&EventSearch::new("invoice", 9))
            .await
            .is_ok(),
    );
    note(store.participants(&id).await.is_ok());
    note(store.tasks(&id).await.is_ok());
    note(store.unread_count(&id, &"b".into()).await.is_ok());
    note(store.owed(None, 99).await.is_ok());
    note(store.commit(say("full", 9, "more").into()).await.is_ok());
    for action in [RetentionAction::Redact, RetentionAction::Delete] {
        let expiry = Expiry {
            rooms: RetentionScope::AllBut([].into()),
            before: now() + chrono::TimeDelta::seconds(3),
            action,
        };
        note(store.expire_events(&expiry, 2).await.is_ok());
    }
    note(store.delete_room(&id).await.is_ok());
    failed
}

#[tokio::test]
async fn a_damaged_database_is_an_error_and_no_panic() {
    let place = Place::new();
    let path = place.config().path;
    let (mut dice, mut refused, mut failed) = (Dice(7), 0, 0);
    for _ in 0..150 {
        dice.damage(&sample("schema-2.db"), &path);
        match SqliteStore::open(SqliteConfig::new(&path)).await {
            Ok(store) => {
                failed += use_it(&store).await;
                let _ = store.close().await;
            }
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::StoreFailed);
                assert!(!error.message().contains("given up"), "{error:?}");
                refused += 1;
            }
        }
        for end in ["db", "db-wal", "db-shm"] {
            let _ = std::fs::remove_file(path.with_extension(end));
        }
    }
    assert!(refused > 0 && failed > 0, "{refused} {failed}");
}

#[tokio::test]
async fn a_damaged_database_of_the_python_package_comes_over_as_far_as_it_can_be_read() {
    let place = Place::new();
    let path = place.file("python.db");
    let (mut dice, mut whole, mut refused) = (Dice(11), 0, 0);
    for round in 0..300 {
        dice.damage(&sample("python-0.66.db"), &path);
        let store = MemoryStore::new();
        let report = match python::import(&path, &store).await {
            Ok(report) => report,
            Err(error) => {
                let kind = error.kind();
                assert!(
                    matches!(kind, ErrorKind::StoreFailed | ErrorKind::InvalidInput),
                    "{error:?}"
                );
                assert!(!error.message().contains("given up"), "{error:?}");
                refused += 1;
                continue;
            }
        };
        whole += usize::from(report.is_complete());
        for table in &report.tables {
            let missing = table.rows.saturating_sub(table.imported);
            let problems = report
                .problems
                .iter()
                .filter(|row| row.table == table.table);
            assert!(
                missing == 0 || problems.count() > 0,
                "round {round}: {missing} rows of {} are unaccounted for\n{report}",
                table.table
            );
        }
        // What came over is whole.
        let rooms = store
            .list_rooms(&RoomFilter::default(), Page::first(999))
            .await
            .unwrap();
        for room in rooms {
            let parts: Vec<_> = store.dump(&room.id).collect().await;
            let again = MemoryStore::new();
            again
                .restore(futures_util::stream::iter(parts).boxed())
                .await
                .unwrap();
        }
    }
    assert!(whole > 0 && refused > 0, "{whole} {refused}");
}
