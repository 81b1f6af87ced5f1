//! A room on its way in: under no id until it is whole, so that other writes go on meanwhile.

use std::sync::Arc;

use roomkit_core::model::Room;
use roomkit_core::store::{RoomHead, RoomPart, RoomSnapshot};
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::EventRow;
use rusqlite::{Connection, TransactionBehavior, params};

use crate::cache::Entry;
use crate::commit::apply::{self, Inserted};
use crate::error::{Doing, is_constraint, of_sqlite};
use crate::room::{self, event_key, stored_room};
use crate::sql::Sql;
use crate::store::put_marker;
use crate::txn::Txn;

/// Begins a room that nobody finds yet.
pub(crate) fn begin(txn: &mut Txn<'_>, head: RoomHead) -> Result<Entry> {
    let id = &head.room.id;
    if room::key_of(txn.db, id)?.is_some() {
        return Err(Error::room_already_exists(id));
    }
    fits(&head.room)?;
    let snapshot = RoomSnapshot {
        room: Arc::new(stored_room(head.room)),
        version: head.version,
        bindings: Arc::default(),
        detached: Arc::new(head.detached),
    };
    let key = room::insert(txn, &snapshot, true)?;
    Ok(Entry::new(key, snapshot, None))
}

fn fits(room: &Room) -> Result<()> {
    match room.latest_index {
        Some(index) => event_key(0, index).map(drop),
        None => Ok(()),
    }
}

/// Adds parts to a room that was begun.
pub(crate) fn add(txn: &mut Txn<'_>, entry: &Entry, parts: Vec<RoomPart>) -> Result<()> {
    for part in parts {
        if !add_one(txn, entry, part)? {
            return Err(invalid("a part is there twice"));
        }
    }
    Ok(())
}

/// Adds a part; `false` where it is there already.
fn add_one(txn: &mut Txn<'_>, entry: &Entry, part: RoomPart) -> Result<bool> {
    let room = entry.key;
    match part {
        RoomPart::Binding(binding) => apply::insert_binding(txn, entry, &binding, false),
        RoomPart::Participant(participant) => apply::insert_participant(txn, room, &participant),
        RoomPart::Sender {
            channel_type,
            sender_id,
        } => apply::insert_sender(txn, entry, &channel_type.to_string(), &sender_id, false),
        RoomPart::Event(versions) => {
            let Some((newest, older)) = versions.split_last() else {
                return Ok(true);
            };
            let key = event_key(room, newest.index)?;
            let organization = entry.snapshot.room.organization_id.as_ref();
            let organization = organization.map(|id| id.as_str());
            for (version, event) in (0_i64..).zip(older) {
                let row = EventRow::of(event, txn.keys)?;
                txn.db.run(
                    format_args!("storing a version of event {}", event.id),
                    "INSERT INTO event_versions (event, version, data, payload) \
                     VALUES (?1, ?2, ?3, ?4)",
                    params![key, version, row.json, row.payload],
                )?;
            }
            let inserted = apply::insert_event(txn, key, newest, organization)?;
            Ok(inserted == Inserted::New)
        }
        RoomPart::Outcome(outcome) => apply::insert_outcome(txn, room, &outcome),
        RoomPart::Task(task) => {
            let twice = txn.db.one(
                format_args!("looking for task {}", task.id),
                "SELECT 1 FROM tasks WHERE room = ?1 AND id = ?2",
                params![room, task.id.as_str()],
                |_| Ok(()),
            )?;
            apply::insert_task(txn, room, &task)?;
            Ok(twice.is_none())
        }
        RoomPart::Observation(observation) => {
            apply::insert_observation(txn, room, &observation).map(|()| true)
        }
        RoomPart::ReadMarker(marker) => {
            let twice = txn.db.one(
                format_args!("looking for a read marker"),
                "SELECT 1 FROM read_markers WHERE room = ?1 AND channel_id = ?2",
                params![room, marker.channel_id.as_str()],
                |_| Ok(()),
            )?;
            put_marker(txn.db, room, &marker)?;
            Ok(twice.is_none())
        }
        RoomPart::Owed(owed) => apply::put_owed(txn, room, &owed),
        _ => Ok(true),
    }
}

/// Gives the room its id: from here on it is there, whole.
pub(crate) fn finish(txn: &mut Txn<'_>, entry: &Entry) -> Result<RoomSnapshot> {
    let id = &entry.snapshot.room.id;
    let named = txn
        .db
        .prepare_cached("UPDATE rooms SET id = ?2 WHERE key = ?1")
        .and_then(|mut statement| statement.execute(params![entry.key, id.as_str()]));
    match named {
        Err(error) if is_constraint(&error) => return Err(Error::room_already_exists(id)),
        Err(error) => return Err(of_sqlite(&format!("restoring room {id}"), error)),
        Ok(_) => {}
    }
    apply::routes(txn, entry)?;
    let entry = room::load(txn.db, id)?.ok_or_else(|| Error::room_not_found(id))?;
    let snapshot = entry.snapshot.clone();
    txn.stage(id, Some(entry));
    Ok(snapshot)
}

/// Removes a room that does not get whole, unless it got whole when nobody waited any more.
pub(crate) fn give_up(db: &mut Connection, key: i64) -> Result<()> {
    let what = "removing a room that was given up";
    let step = db
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .doing(what)?;
    let nameless = step.one(
        format_args!("{what}"),
        "SELECT 1 FROM rooms WHERE key = ?1 AND id IS NULL",
        [key],
        |_| Ok(()),
    )?;
    if nameless.is_some() {
        room::delete(&step, key)?;
    }
    step.commit().doing(what)
}

/// Removes what an end of the process left of rooms that were being restored.
pub(crate) fn clear(db: &mut Connection) -> Result<()> {
    let what = "removing what is left of a restored room";
    let unfinished: Vec<i64> = db.all(
        format_args!("{what}"),
        "SELECT key FROM rooms WHERE id IS NULL",
        [],
        |row| row.get(0),
    )?;
    for key in unfinished {
        tracing::warn!(key, "a room was not restored to its end: it is removed");
        match give_up(db, key) {
            Ok(()) => {}
            // Nobody sees it: a disk that is full is no reason not to open.
            Err(error) if error.is_retryable() => tracing::warn!(%error, "it stays for now"),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(crate) fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("room archive: {problem}"))
}
