//! What a commit writes, table by table.

use std::sync::Arc;

use roomkit_core::model::{
    ChannelBinding, ChannelId, Observation, Participant, ParticipantId, RoomEvent, Task,
};
use roomkit_core::store::{BindingChange, IdempotentOutcome, OwedDelivery, RoomCommit, Speaker};
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::{EventRow, from_json, to_json};
use rusqlite::params;

use super::conflict;
use crate::cache::Entry;
use crate::error::{is_constraint, of_sqlite};
use crate::room::{detached_json, event_key, stored};
use crate::search;
use crate::sql::{Sql, capped};
use crate::txn::Txn;

/// The new event, and the new version of one that was there before.
pub(super) fn events(txn: &mut Txn<'_>, entry: &Entry, commit: &RoomCommit) -> Result<()> {
    let edited = match &commit.edited {
        // Looked up first: an event of this commit is none that it may edit.
        Some(edited) => Some((edited, editable(txn, entry, edited)?)),
        None => None,
    };
    if let Some(event) = &commit.event {
        let key = event_key(entry.key, event.index)?;
        let organization = entry.snapshot.room.organization_id.as_ref();
        let organization = organization.map(|id| id.as_str());
        if insert_event(txn, key, event, organization)? == Inserted::Taken {
            let what = format!("event {} is there already", event.id);
            return Err(conflict(&commit.room_id, &what));
        }
    }
    match edited {
        Some((edited, Some(key))) => replace_event(txn, key, edited),
        Some((edited, None)) => Err(Error::new(
            ErrorKind::EventNotFound,
            format!("room {}: no event {} to edit", commit.room_id, edited.id),
        )),
        None => Ok(()),
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Inserted {
    New,
    /// Its id or its index is in use.
    Taken,
}

/// Stores an event under its key and notes that its words are not indexed yet.
pub(crate) fn insert_event(
    txn: &mut Txn<'_>,
    key: i64,
    event: &RoomEvent,
    organization: Option<&str>,
) -> Result<Inserted> {
    let row = EventRow::of(event, txn.keys)?;
    let inserted = txn
        .db
        .prepare_cached(
            "INSERT INTO events (key, id, type, channel_id, participant_id, parent_id, created_us, \
             organization_id, redacted, data, payload) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                key,
                event.id.as_str(),
                event.event_type.as_str(),
                event.source.channel_id.as_str(),
                event.source.participant_id.as_ref().map(|id| id.as_str()),
                event.parent_event_id.as_ref().map(|id| id.as_str()),
                event.created_at.timestamp_micros(),
                organization,
                event.is_redacted(),
                row.json,
                row.payload,
            ])
        });
    match inserted {
        Ok(_) => {}
        Err(error) if is_constraint(&error) => return Ok(Inserted::Taken),
        Err(error) => return Err(of_sqlite(&format!("storing event {}", event.id), error)),
    }
    search::note(txn, key, event)?;
    Ok(Inserted::New)
}

/// The key of the event that `edited` is a version of, where it has the same index.
fn editable(txn: &Txn<'_>, entry: &Entry, edited: &RoomEvent) -> Result<Option<i64>> {
    let Ok(key) = event_key(entry.key, edited.index) else {
        return Ok(None);
    };
    txn.db.one(
        format_args!("looking for event {}", edited.id),
        "SELECT key FROM events WHERE key = ?1 AND id = ?2",
        params![key, edited.id.as_str()],
        |row| row.get(0),
    )
}

/// Puts a new version in the place of an event and keeps what was there.
fn replace_event(txn: &mut Txn<'_>, key: i64, event: &RoomEvent) -> Result<()> {
    txn.db.run(
        format_args!("keeping the version of event {} before", event.id),
        "INSERT INTO event_versions (event, version, data, payload) \
         SELECT key, (SELECT ifnull(max(version) + 1, 0) FROM event_versions WHERE event = ?1), \
         data, payload FROM events WHERE key = ?1",
        [key],
    )?;
    overwrite_event(txn, key, event)
}

/// Writes an event over what has its key.
pub(crate) fn overwrite_event(txn: &mut Txn<'_>, key: i64, event: &RoomEvent) -> Result<()> {
    let row = EventRow::of(event, txn.keys)?;
    txn.db.run(
        format_args!("storing the new version of event {}", event.id),
        "UPDATE events SET type = ?2, channel_id = ?3, participant_id = ?4, parent_id = ?5, \
         created_us = ?6, redacted = ?7, data = ?8, payload = ?9 WHERE key = ?1",
        params![
            key,
            event.event_type.as_str(),
            event.source.channel_id.as_str(),
            event.source.participant_id.as_ref().map(|id| id.as_str()),
            event.parent_event_id.as_ref().map(|id| id.as_str()),
            event.created_at.timestamp_micros(),
            event.is_redacted(),
            row.json,
            row.payload,
        ],
    )?;
    search::forget(txn.db, key)?;
    search::note(txn, key, event)
}

pub(super) fn bindings(txn: &Txn<'_>, entry: &mut Entry, commit: &RoomCommit) -> Result<()> {
    for change in &commit.bindings {
        match change {
            BindingChange::Put(binding) => put_binding(txn, entry, binding)?,
            BindingChange::Detach(channel) => detach(txn, entry, channel)?,
        }
    }
    Ok(())
}

fn put_binding(txn: &Txn<'_>, entry: &mut Entry, binding: &Arc<ChannelBinding>) -> Result<()> {
    insert_binding(txn, entry, binding, true)?;
    let binding = match stored(binding.attached_at) {
        same if same == binding.attached_at => Arc::clone(binding),
        attached_at => Arc::new(ChannelBinding {
            attached_at,
            ..ChannelBinding::clone(binding)
        }),
    };
    let snapshot = &mut entry.snapshot;
    let mut bindings = snapshot.bindings.to_vec();
    let place = bindings
        .iter_mut()
        .find(|other| other.channel_id == binding.channel_id);
    if snapshot.detached.contains(&binding.channel_id) {
        Arc::make_mut(&mut snapshot.detached).remove(&binding.channel_id);
    }
    match place {
        Some(other) => *other = binding,
        None => bindings.push(binding),
    }
    snapshot.bindings = bindings.into();
    Ok(())
}

/// Stores a binding; one that is there keeps its place.
pub(crate) fn insert_binding(
    txn: &Txn<'_>,
    entry: &Entry,
    binding: &ChannelBinding,
    replace: bool,
) -> Result<bool> {
    let room = &entry.snapshot.room;
    let sql = if replace {
        "INSERT INTO bindings (room, channel_id, room_id, organization_id, open, data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
         ON CONFLICT (room, channel_id) DO UPDATE SET data = excluded.data"
    } else {
        "INSERT OR IGNORE INTO bindings (room, channel_id, room_id, organization_id, open, data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
    };
    let stored = txn.db.run(
        format_args!(
            "storing the binding of {} to room {}",
            binding.channel_id, room.id
        ),
        sql,
        params![
            entry.key,
            binding.channel_id.as_str(),
            room.id.as_str(),
            room.organization_id.as_ref().map(|id| id.as_str()),
            replace && room.status.accepts_events(),
            to_json("binding", binding.channel_id.as_str(), binding)?,
        ],
    )?;
    Ok(stored > 0)
}

fn detach(txn: &Txn<'_>, entry: &mut Entry, channel: &ChannelId) -> Result<()> {
    let snapshot = &mut entry.snapshot;
    let kept = snapshot
        .bindings
        .iter()
        .filter(|binding| binding.channel_id != *channel);
    snapshot.bindings = kept.cloned().collect();
    Arc::make_mut(&mut snapshot.detached).insert(channel.clone());
    txn.db.run(
        format_args!("detaching {channel} from room {}", snapshot.room.id),
        "DELETE FROM bindings WHERE room = ?1 AND channel_id = ?2",
        params![entry.key, channel.as_str()],
    )?;
    Ok(())
}

/// The row of the room: the counters alone where nothing else changed.
pub(super) fn head(txn: &Txn<'_>, entry: &Entry, commit: &RoomCommit) -> Result<()> {
    let room = &entry.snapshot.room;
    let what = format_args!("storing room {}", room.id);
    let activity = room.timers.last_activity_at;
    txn.db.run(
        what,
        "UPDATE rooms SET version = ?2, fencing = ?3, event_count = ?4, latest_index = ?5, \
         updated_us = ?6, activity_us = ?7 WHERE key = ?1",
        params![
            entry.key,
            entry.snapshot.version.cast_signed(),
            entry.fencing.map(u64::cast_signed),
            room.event_count.cast_signed(),
            room.latest_index.map(u64::cast_signed),
            room.updated_at.timestamp_micros(),
            activity.map(|at| at.timestamp_micros()),
        ],
    )?;
    if commit.room.is_some() {
        txn.db.run(
            what,
            "UPDATE rooms SET status = ?2, data = ?3 WHERE key = ?1",
            params![
                entry.key,
                room.status.as_str(),
                to_json("room", room.id.as_str(), &**room)?,
            ],
        )?;
    }
    if !commit.bindings.is_empty() {
        txn.db.run(
            what,
            "UPDATE rooms SET detached = ?2 WHERE key = ?1",
            params![
                entry.key,
                detached_json(&room.id, &entry.snapshot.detached)?
            ],
        )?;
    }
    Ok(())
}

/// Makes a room one that messages are routed to, or one no longer.
pub(crate) fn routes(txn: &Txn<'_>, entry: &Entry) -> Result<()> {
    let room = &entry.snapshot.room;
    let values = params![entry.key, room.status.accepts_events()];
    let what = format_args!("routing to room {}", room.id);
    for sql in [
        "UPDATE bindings SET open = ?2 WHERE room = ?1 AND open <> ?2",
        "UPDATE senders SET open = ?2 WHERE room = ?1 AND open <> ?2",
    ] {
        txn.db.run(what, sql, values)?;
    }
    Ok(())
}

/// What is stored beside the timeline.
pub(super) fn effects(txn: &Txn<'_>, entry: &mut Entry, commit: &RoomCommit) -> Result<()> {
    for participant in &commit.participants {
        put_participant(txn, entry.key, participant)?;
        entry.forget_speakers();
    }
    if let Some(speaker) = &commit.speaker
        && !entry.knows(speaker)
    {
        note_speaker(txn, entry, commit, speaker)?;
        entry.note(speaker.clone());
    }
    if let Some(outcome) = &commit.idempotency
        && !insert_outcome(txn, entry.key, outcome)?
    {
        return Err(conflict(&commit.room_id, "its idempotency key is taken"));
    }
    for task in &commit.tasks {
        insert_task(txn, entry.key, task)?;
    }
    for observation in &commit.observations {
        insert_observation(txn, entry.key, observation)?;
    }
    for owed in &commit.owed {
        put_owed(txn, entry.key, owed)?;
    }
    Ok(())
}

/// Creates a participant or replaces it in its place.
fn put_participant(txn: &Txn<'_>, room: i64, participant: &Participant) -> Result<()> {
    txn.db.run(
        format_args!("storing participant {}", participant.id),
        "INSERT INTO participants (room, id, data) VALUES (?1, ?2, ?3) \
         ON CONFLICT (room, id) DO UPDATE SET data = excluded.data",
        params![
            room,
            participant.id.as_str(),
            to_json("participant", participant.id.as_str(), participant)?,
        ],
    )?;
    Ok(())
}

/// Stores a participant that is not there yet; `false` where it is.
pub(crate) fn insert_participant(
    txn: &Txn<'_>,
    room: i64,
    participant: &Participant,
) -> Result<bool> {
    let stored = txn.db.run(
        format_args!("storing participant {}", participant.id),
        "INSERT OR IGNORE INTO participants (room, id, data) VALUES (?1, ?2, ?3)",
        params![
            room,
            participant.id.as_str(),
            to_json("participant", participant.id.as_str(), participant)?,
        ],
    )?;
    Ok(stored > 0)
}

fn note_speaker(
    txn: &Txn<'_>,
    entry: &Entry,
    commit: &RoomCommit,
    speaker: &Speaker,
) -> Result<()> {
    let id = &speaker.participant_id;
    let known = participant(txn, entry.key, id)?;
    let changed = match known {
        Some(known) if known.connected_via.contains(&speaker.channel_id) => None,
        Some(mut known) => {
            known.connected_via.push(speaker.channel_id.clone());
            Some(known)
        }
        None => Some(Participant::new(
            id.clone(),
            commit.room_id.clone(),
            speaker.channel_id.clone(),
            commit.at,
        )),
    };
    if let Some(participant) = changed {
        put_participant(txn, entry.key, &participant)?;
    }
    let channel_type = speaker.channel_type.to_string();
    insert_sender(txn, entry, &channel_type, &speaker.sender_id, true)?;
    Ok(())
}

fn participant(txn: &Txn<'_>, room: i64, id: &ParticipantId) -> Result<Option<Participant>> {
    let data: Option<String> = txn.db.one(
        format_args!("reading participant {id}"),
        "SELECT data FROM participants WHERE room = ?1 AND id = ?2",
        params![room, id.as_str()],
        |row| row.get(0),
    )?;
    data.map(|data| from_json("participant", id.as_str(), &data))
        .transpose()
}

/// Notes who spoke over a type of channel; `false` where it was known.
pub(crate) fn insert_sender(
    txn: &Txn<'_>,
    entry: &Entry,
    channel_type: &str,
    sender: &ParticipantId,
    visible: bool,
) -> Result<bool> {
    let room = &entry.snapshot.room;
    let stored = txn.db.run(
        format_args!("storing sender {sender} of room {}", room.id),
        "INSERT OR IGNORE INTO senders (room, channel_type, sender_id, room_id, organization_id, \
         open) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        params![
            entry.key,
            channel_type,
            sender.as_str(),
            room.id.as_str(),
            room.organization_id.as_ref().map(|id| id.as_str()),
            visible && room.status.accepts_events(),
        ],
    )?;
    Ok(stored > 0)
}

/// Stores an outcome; `false` where its key is taken.
pub(crate) fn insert_outcome(
    txn: &Txn<'_>,
    room: i64,
    outcome: &IdempotentOutcome,
) -> Result<bool> {
    let stored = txn.db.run(
        format_args!("storing the idempotency key of event {}", outcome.event_id),
        "INSERT OR IGNORE INTO outcomes (room, key, event_id, blocked, reason) \
         VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            room,
            outcome.key,
            outcome.event_id.as_str(),
            outcome.blocked,
            outcome.reason,
        ],
    )?;
    Ok(stored > 0)
}

pub(crate) fn insert_task(txn: &Txn<'_>, room: i64, task: &Task) -> Result<()> {
    txn.db.run(
        format_args!("storing task {}", task.id),
        "INSERT INTO tasks (room, id, data) VALUES (?1, ?2, ?3)",
        params![
            room,
            task.id.as_str(),
            to_json("task", task.id.as_str(), task)?
        ],
    )?;
    Ok(())
}

pub(crate) fn insert_observation(
    txn: &Txn<'_>,
    room: i64,
    observation: &Observation,
) -> Result<()> {
    txn.db.run(
        format_args!("storing observation {}", observation.id),
        "INSERT INTO observations (room, data) VALUES (?1, ?2)",
        params![
            room,
            to_json("observation", observation.id.as_str(), observation)?
        ],
    )?;
    Ok(())
}

/// Notes what is owed, or replaces it; `true` where it was not there yet.
pub(crate) fn put_owed(txn: &Txn<'_>, room: i64, owed: &OwedDelivery) -> Result<bool> {
    let was_there = txn.db.one(
        format_args!("looking for delivery {}", owed.delivery_id),
        "SELECT 1 FROM owed WHERE room = ?1 AND delivery_id = ?2",
        params![room, owed.delivery_id],
        |_| Ok(()),
    )?;
    txn.db.run(
        format_args!("storing delivery {}", owed.delivery_id),
        "INSERT OR REPLACE INTO owed (room, delivery_id, room_id, channel_id, idx, event_id, data) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            room,
            owed.delivery_id,
            owed.room_id.as_str(),
            owed.channel_id.as_str(),
            capped(owed.index),
            owed.event_id.as_str(),
            to_json("delivery", &owed.delivery_id, owed)?,
        ],
    )?;
    Ok(was_there.is_none())
}
