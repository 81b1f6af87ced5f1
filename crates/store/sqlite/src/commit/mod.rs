//! A commit to one room: the checks, then the rows.

pub(crate) mod apply;

use std::collections::BTreeSet;
use std::sync::Arc;

use roomkit_core::model::{Room, RoomEvent, RoomId, RoomStatus};
use roomkit_core::store::{CommitBatch, CommitReceipt, RoomCommit, RoomUpdate};
use roomkit_core::{Error, ErrorKind, Result};

use crate::cache::Entry;
use crate::error::failed;
use crate::room::{stored, stored_room};
use crate::txn::Txn;

/// Commits a batch; whoever calls this undoes all of it where a part fails.
pub(crate) fn batch(txn: &mut Txn<'_>, batch: CommitBatch) -> Result<CommitReceipt> {
    let batch = match batch.into_single() {
        Ok(commit) => return Ok(one(txn, &commit)?.snapshot.into()),
        Err(batch) => batch,
    };
    let mut rooms = BTreeSet::new();
    if let Some(twice) = batch.iter().find(|commit| !rooms.insert(&commit.room_id)) {
        let problem = format!("room {} is twice in one batch", twice.room_id);
        return Err(failed(problem));
    }
    let entries: Result<Vec<Entry>> = batch.iter().map(|commit| one(txn, commit)).collect();
    CommitReceipt::of(entries?.into_iter().map(|entry| entry.snapshot))
}

fn one(txn: &mut Txn<'_>, commit: &RoomCommit) -> Result<Entry> {
    let mut entry = txn.room(&commit.room_id)?;
    check(commit, &entry)?;
    let was_open = entry.snapshot.room.status.accepts_events();
    let changes_room = commit.event.is_some()
        || commit.edited.is_some()
        || commit.room.is_some()
        || !commit.bindings.is_empty();
    let fencing = commit.fencing.map(|token| token.0);
    let newer_token = fencing > entry.fencing;
    entry.fencing = entry.fencing.max(fencing);
    if changes_room {
        entry.snapshot.version = entry.snapshot.version.wrapping_add(1);
        let room = Arc::make_mut(&mut entry.snapshot.room);
        update(room, commit);
    }
    apply::events(txn, &entry, commit)?;
    apply::bindings(txn, &mut entry, commit)?;
    if changes_room || newer_token {
        apply::head(txn, &entry, commit)?;
    }
    if was_open != entry.snapshot.room.status.accepts_events() {
        apply::routes(txn, &entry)?;
    }
    apply::effects(txn, &mut entry, commit)?;
    txn.stage(&commit.room_id, Some(entry.clone()));
    Ok(entry)
}

/// What can be told without the database; it tells the rest by its keys.
fn check(commit: &RoomCommit, entry: &Entry) -> Result<()> {
    let id = &commit.room_id;
    if commit.fencing.is_some() && commit.fencing.map(|token| token.0) < entry.fencing {
        let problem = format!("room {id}: a newer holder of its lock has committed");
        return Err(Error::new(ErrorKind::StaleFencingToken, problem));
    }
    let version = entry.snapshot.version;
    if let Some(expected) = commit.expected_version
        && expected != version
    {
        return Err(conflict(
            id,
            &format!("version is {version}, not {expected}"),
        ));
    }
    let next = entry.snapshot.room.next_index();
    if let Some(event) = &commit.event
        && event.index != next
    {
        let what = format!("next index is {next}, not {}", event.index);
        return Err(conflict(id, &what));
    }
    Ok(())
}

pub(crate) fn conflict(room: &RoomId, what: &str) -> Error {
    Error::new(ErrorKind::VersionConflict, format!("room {room}: {what}"))
}

fn update(room: &mut Room, commit: &RoomCommit) {
    let at = stored(commit.at);
    room.updated_at = at;
    if let Some(event) = commit.event.as_deref() {
        count(room, event, commit);
    }
    if let Some(changes) = &commit.room {
        change(room, changes, commit);
    }
}

fn count(room: &mut Room, event: &RoomEvent, commit: &RoomCommit) {
    room.event_count = room.event_count.saturating_add(1);
    room.latest_index = Some(event.index);
    room.timers.last_activity_at = Some(stored(commit.at));
}

fn change(room: &mut Room, changes: &RoomUpdate, commit: &RoomCommit) {
    if let Some(status) = changes.status {
        room.status = status;
        room.closed_at = match status {
            RoomStatus::Closed | RoomStatus::Archived => room.closed_at.or(Some(commit.at)),
            RoomStatus::Active => None,
            _ => room.closed_at,
        };
    }
    if let Some(timers) = &changes.timers {
        room.timers = timers.clone();
    }
    if let Some(policy) = changes.agent_response_policy {
        room.agent_response_policy = policy;
    }
    room.metadata.merge(&changes.merge_metadata);
    *room = stored_room(room.clone());
}
