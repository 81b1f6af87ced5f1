//! The floor: the statements of a commit by hand, on one connection, in the caller's thread.

use std::path::Path;
use std::time::Instant;

use roomkit_core::store::words_of;
use roomkit_store_sqlite::Synchronous;
use rusqlite::{Connection, params};

use crate::support::{event, now, outcome};

/// How many commits lie between two rounds of indexing, as in the store.
const INDEXED_AT_ONCE: u64 = 256;

/// A database with the schema of the store and one room, to be written by hand.
pub(crate) struct ByHand {
    db: Connection,
    next: u64,
}

impl ByHand {
    /// On a file that the store has made and closed, with a room.
    pub(crate) fn on(path: &Path, synchronous: Synchronous) -> Self {
        let db = Connection::open(path).unwrap();
        let level = match synchronous {
            Synchronous::Full => "FULL",
            _ => "NORMAL",
        };
        db.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {level}; PRAGMA cache_size = -8192;
             PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864;"
        ))
        .unwrap();
        db.set_prepared_statement_cache_capacity(64);
        Self { db, next: 0 }
    }

    /// Nanoseconds per commit, with the JSON and the words made before.
    pub(crate) fn time(&mut self, commits: u64) -> f64 {
        let prepared: Vec<_> = (self.next..self.next + commits)
            .map(|index| {
                let event = event("r", index);
                let json = serde_json::to_string(&event).unwrap();
                let words: Vec<String> = words_of(&event).into_iter().collect();
                let key = outcome(index, event.id.clone()).key;
                (index, event, json, words.join(" "), key)
            })
            .collect();
        let started = Instant::now();
        for (index, event, json, _, key) in &prepared {
            self.run("BEGIN IMMEDIATE", []);
            let row = i64::try_from(1 << 32 | index).unwrap();
            self.run(
                "INSERT INTO events (key, id, type, channel_id, participant_id, parent_id, \
                 created_us, organization_id, redacted, data, payload) \
                 VALUES (?1, ?2, 'message', 'a', 'alice', NULL, ?3, NULL, 0, ?4, NULL)",
                params![
                    row,
                    event.id.as_str(),
                    event.created_at.timestamp_micros(),
                    json
                ],
            );
            self.run("INSERT OR IGNORE INTO unindexed (key) VALUES (?1)", [row]);
            self.run(
                "UPDATE rooms SET version = ?1, event_count = ?1, latest_index = ?2, \
                 updated_us = ?3, activity_us = ?3 WHERE key = 1",
                params![
                    index.cast_signed() + 1,
                    index.cast_signed(),
                    now().timestamp_micros()
                ],
            );
            self.run(
                "INSERT OR IGNORE INTO outcomes (room, key, event_id, blocked, reason) \
                 VALUES (1, ?1, ?2, 0, NULL)",
                params![key, event.id.as_str()],
            );
            self.run("COMMIT", []);
            if (index + 1) % INDEXED_AT_ONCE == 0 {
                self.index(&prepared, self.next);
            }
        }
        self.next += commits;
        started.elapsed().as_secs_f64() * 1e9 / commits as f64
    }

    fn index<A, B, C>(&self, prepared: &[(u64, A, B, String, C)], first: u64) {
        self.run("BEGIN IMMEDIATE", []);
        let mut waiting = self
            .db
            .prepare_cached("SELECT key FROM unindexed ORDER BY key")
            .unwrap();
        let keys: Vec<i64> = waiting
            .query_map([], |row| row.get(0))
            .unwrap()
            .map(Result::unwrap)
            .collect();
        for key in keys {
            let index = key.cast_unsigned() & 0xffff_ffff;
            if let Some((.., words, _)) = prepared.get((index - first) as usize) {
                self.run(
                    "INSERT INTO words (rowid, text) VALUES (?1, ?2)",
                    params![key, words],
                );
            }
            self.run("DELETE FROM unindexed WHERE key = ?1", [key]);
        }
        self.run("COMMIT", []);
    }

    fn run(&self, sql: &str, values: impl rusqlite::Params) {
        self.db
            .prepare_cached(sql)
            .unwrap()
            .execute(values)
            .unwrap();
    }
}
