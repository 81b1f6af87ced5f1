//! Full-text search: words into the index in bulk, and queries on it and on what is not in it yet.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use roomkit_core::Result;
use roomkit_core::model::RoomEvent;
use roomkit_core::store::{EventSearch, words_of};
use roomkit_store::{PayloadKeys, event_of};
use rusqlite::{Connection, TransactionBehavior, params};

use crate::error::Doing;
use crate::event::{EventData, at_key};
use crate::room::key_of;
use crate::sql::{Sql, count};
use crate::txn::Txn;

// `CROSS JOIN` keeps the tables in the order in which they are named: what is waiting or found is few,
// and events are many, which SQLite does not know.

/// How many events a step of indexing reads.
const STEP: usize = 512;

/// Notes that the words of an event are not indexed yet.
pub(crate) fn note(txn: &mut Txn<'_>, key: i64, event: &RoomEvent) -> Result<()> {
    let noted = txn.db.run(
        format_args!("noting the words of event {}", event.id),
        "INSERT OR IGNORE INTO unindexed (key) VALUES (?1)",
        [key],
    )?;
    txn.unindexed += noted;
    Ok(())
}

/// Takes the words of an event out of the index, or out of those that wait for it.
pub(crate) fn forget(db: &Connection, key: i64) -> Result<()> {
    let what = format_args!("removing words from the index");
    let waiting = db.run(what, "DELETE FROM unindexed WHERE key = ?1", [key])?;
    if waiting == 0 {
        db.run(what, "DELETE FROM words WHERE rowid = ?1", [key])?;
    }
    Ok(())
}

/// How many events wait for their words to be indexed.
pub(crate) fn unindexed(db: &Connection) -> Result<usize> {
    let waiting: Option<i64> = db.one(
        format_args!("counting what is not indexed"),
        "SELECT count(*) FROM unindexed",
        [],
        |row| row.get(0),
    )?;
    Ok(usize::try_from(waiting.unwrap_or_default()).unwrap_or_default())
}

/// Indexes some of the events that wait; returns how many are left.
pub(crate) fn index(db: &mut Connection) -> Result<usize> {
    let step = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .doing("indexing words")?;
    index_step(&step)?;
    let left = unindexed(&step)?;
    step.commit().doing("indexing words")?;
    Ok(left)
}

/// Indexes every event there is: what the migration that brings the index leaves to be done.
pub(crate) fn index_all(db: &Connection) -> Result<()> {
    db.run(
        format_args!("noting all words"),
        "INSERT OR IGNORE INTO unindexed (key) SELECT key FROM events",
        [],
    )?;
    while index_step(db)? > 0 {}
    Ok(())
}

fn index_step(db: &Connection) -> Result<usize> {
    let what = format_args!("indexing words");
    let waiting: Vec<(i64, EventData)> = db.all(
        what,
        "SELECT u.key, e.id, e.data FROM unindexed u CROSS JOIN events e ON e.key = u.key \
         ORDER BY u.key LIMIT ?1",
        [count(STEP)],
        |row| {
            let data = EventData {
                id: row.get(1)?,
                json: row.get(2)?,
                payload: None,
            };
            Ok((row.get(0)?, data))
        },
    )?;
    for (key, data) in &waiting {
        let event = event_of(&data.id, &data.json, None, None);
        match event.map(|event| words_of(&event)) {
            Ok(words) if !words.is_empty() => {
                db.run(
                    what,
                    "INSERT INTO words (rowid, text) VALUES (?1, ?2)",
                    params![key, document(*key >> 32, &words)],
                )?;
            }
            Ok(_) => {}
            // It is found by none, as it can be read by none.
            Err(error) => tracing::warn!(event = %data.id, %error, "an event is not indexed"),
        }
        db.run(what, "DELETE FROM unindexed WHERE key = ?1", [key])?;
    }
    if waiting.is_empty() {
        // What is left belongs to events that are gone.
        db.run(what, "DELETE FROM unindexed", [])?;
    }
    Ok(waiting.len())
}

/// The words of an event and the mark of its room, as FTS5 is to take them.
fn document(room: i64, words: &BTreeSet<String>) -> String {
    let mut text = room_mark(room);
    for word in words {
        text.push(' ');
        escape(word, &mut text);
    }
    text
}

/// A word by which all events of a room are found; no word of a text is like it, since those
/// have no such character.
fn room_mark(room: i64) -> String {
    format!("\u{f8ff}{room}")
}

/// A word so that the tokenizer, which parts text at every ASCII character that is no letter or
/// digit, takes it whole.
fn escape(word: &str, into: &mut String) {
    for c in word.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            into.extend(char::from_u32(0xe000 + u32::from(c)));
        } else {
            into.push(c);
        }
    }
}

/// The query that finds documents with all of these words.
fn query(room: Option<i64>, words: &BTreeSet<String>) -> String {
    let mut text = String::new();
    if let Some(room) = room {
        let _ = write!(text, "\"{}\"", room_mark(room));
    }
    for word in words {
        if !text.is_empty() {
            text.push_str(" AND ");
        }
        text.push('"');
        escape(word, &mut text);
        text.push('"');
    }
    text
}

/// An event that was found, as it is sorted: the newest first, then by room and index.
type Found = (Reverse<i64>, String, i64);

/// The events that a search finds. To be called where all statements see the same moment.
pub(crate) fn search(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    search: &EventSearch,
) -> Result<Vec<Arc<RoomEvent>>> {
    let words = search.words();
    let most = search.offset.saturating_add(search.limit);
    if words.is_empty() || search.limit == 0 {
        return Ok(Vec::new());
    }
    let room = match &search.room_id {
        Some(id) => match key_of(db, id)? {
            Some(key) => Some(key),
            None => return Ok(Vec::new()),
        },
        None => None,
    };
    let mut found = indexed(db, search, room, &words, most)?;
    found.extend(waiting(db, search, room, &words)?);
    found.sort();
    let page = found.into_iter().skip(search.offset).take(search.limit);
    page.filter_map(|(_, _, key)| at_key(db, keys, key).transpose())
        .collect()
}

fn indexed(
    db: &Connection,
    search: &EventSearch,
    room: Option<i64>,
    words: &BTreeSet<String>,
    most: usize,
) -> Result<Vec<Found>> {
    let what = format_args!("searching events");
    let text = query(room, words);
    let read = |row: &rusqlite::Row<'_>| Ok((Reverse(row.get(0)?), row.get(1)?, row.get(2)?));
    match &search.organization_id {
        None => db.all(
            what,
            "SELECT e.created_us, r.id, e.key FROM words CROSS JOIN events e ON e.key = words.rowid \
             CROSS JOIN rooms r ON r.key = e.room WHERE words MATCH ?1 AND r.id IS NOT NULL \
             ORDER BY e.created_us DESC, r.id, e.key LIMIT ?2",
            params![text, count(most)],
            read,
        ),
        Some(organization) => db.all(
            what,
            "SELECT e.created_us, r.id, e.key FROM words CROSS JOIN events e ON e.key = words.rowid \
             CROSS JOIN rooms r ON r.key = e.room WHERE words MATCH ?1 AND r.id IS NOT NULL \
             AND r.organization_id = ?3 \
             ORDER BY e.created_us DESC, r.id, e.key LIMIT ?2",
            params![text, count(most), organization.as_str()],
            read,
        ),
    }
}

/// Those among the events that are not indexed yet: a bounded number, so they are read.
fn waiting(
    db: &Connection,
    search: &EventSearch,
    room: Option<i64>,
    words: &BTreeSet<String>,
) -> Result<Vec<Found>> {
    let organization = search.organization_id.as_ref();
    let rows: Vec<(Found, String, String)> = db.all(
        format_args!("searching new events"),
        "SELECT e.created_us, r.id, e.key, e.id, e.data FROM unindexed u \
         CROSS JOIN events e ON e.key = u.key CROSS JOIN rooms r ON r.key = e.room \
         WHERE r.id IS NOT NULL AND (?1 IS NULL OR r.key = ?1) \
         AND (?2 IS NULL OR r.organization_id = ?2)",
        params![room, organization.map(|id| id.as_str())],
        |row| {
            let found = (Reverse(row.get(0)?), row.get(1)?, row.get(2)?);
            Ok((found, row.get(3)?, row.get(4)?))
        },
    )?;
    let mut found = Vec::new();
    for (place, id, json) in rows {
        match event_of(&id, &json, None, None) {
            Ok(event) if words_of(&event).is_superset(words) => found.push(place),
            Ok(_) => {}
            // As where it is indexed: one damaged row hides no other event.
            Err(error) => tracing::warn!(event = %id, %error, "an event is not searched"),
        }
    }
    Ok(found)
}
