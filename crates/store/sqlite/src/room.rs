//! A room as rows: its own, and those of its bindings.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, SubsecRound, Utc};
use roomkit_core::model::{ChannelBinding, ChannelId, Room, RoomId};
use roomkit_core::store::RoomSnapshot;
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::{from_json, to_json};
use rusqlite::{Connection, Row, params};

use crate::cache::Entry;
use crate::error::{failed, is_constraint, of_sqlite};
use crate::sql::Sql;

/// How far the key of a room is shifted to make room for an index.
const INDEX_BITS: u32 = 32;
/// One more than the highest index that fits.
const INDEXES: u64 = 1 << INDEX_BITS;

/// The key of an event: its room's, then its index.
///
/// # Errors
/// `InvalidInput` for an index from 2³² on.
pub(crate) fn event_key(room: i64, index: u64) -> Result<i64> {
    let index = i64::try_from(index).ok().filter(|_| index < INDEXES);
    let index = index.ok_or_else(|| {
        Error::new(
            ErrorKind::InvalidInput,
            "index: SQLite rooms end at 2^32 events",
        )
    })?;
    Ok(room << INDEX_BITS | index)
}

/// The first key of a room and the first of the next room.
pub(crate) fn event_keys(room: i64) -> (i64, i64) {
    (room << INDEX_BITS, (room + 1) << INDEX_BITS)
}

/// A time as it is stored: whole microseconds.
pub(crate) fn stored(time: DateTime<Utc>) -> DateTime<Utc> {
    time.trunc_subsecs(6)
}

/// A room as it is read again after it was stored.
pub(crate) fn stored_room(mut room: Room) -> Room {
    room.created_at = stored(room.created_at);
    room.updated_at = stored(room.updated_at);
    room.closed_at = room.closed_at.map(stored);
    room.timers.last_activity_at = room.timers.last_activity_at.map(stored);
    room
}

/// The row of a room.
pub(crate) struct HeadRow {
    pub(crate) key: i64,
    id: String,
    data: String,
    detached: String,
    version: i64,
    fencing: Option<i64>,
    event_count: i64,
    latest_index: Option<i64>,
    updated_us: i64,
    activity_us: Option<i64>,
}

impl HeadRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            key: row.get(0)?,
            id: row.get(1)?,
            data: row.get(2)?,
            detached: row.get(3)?,
            version: row.get(4)?,
            fencing: row.get(5)?,
            event_count: row.get(6)?,
            latest_index: row.get(7)?,
            updated_us: row.get(8)?,
            activity_us: row.get(9)?,
        })
    }

    /// The room: what changes with every event is in columns of its own.
    pub(crate) fn room(&self) -> Result<Room> {
        let mut room: Room = from_json("room", &self.id, &self.data)?;
        room.event_count = self.event_count.cast_unsigned();
        room.latest_index = self.latest_index.map(i64::cast_unsigned);
        room.updated_at = time_of(&self.id, self.updated_us)?;
        let activity = self.activity_us.map(|us| time_of(&self.id, us));
        room.timers.last_activity_at = activity.transpose()?;
        Ok(room)
    }

    fn entry(&self, bindings: Vec<Arc<ChannelBinding>>) -> Result<Entry> {
        let detached: BTreeSet<ChannelId> = from_json("room", &self.id, &self.detached)?;
        let snapshot = RoomSnapshot {
            room: Arc::new(self.room()?),
            version: self.version.cast_unsigned(),
            bindings: bindings.into(),
            detached: Arc::new(detached),
        };
        let fencing = self.fencing.map(i64::cast_unsigned);
        Ok(Entry::new(self.key, snapshot, fencing))
    }
}

fn time_of(room: &str, us: i64) -> Result<DateTime<Utc>> {
    DateTime::from_timestamp_micros(us)
        .ok_or_else(|| failed(format!("the row of room {room} is damaged: a time")))
}

/// The key of a room, if there is one.
pub(crate) fn key_of(db: &Connection, id: &RoomId) -> Result<Option<i64>> {
    db.one(
        format_args!("looking for room {id}"),
        "SELECT key FROM rooms WHERE id = ?1",
        [id.as_str()],
        |row| row.get(0),
    )
}

/// A room with its bindings. Two statements: to be called where both see the same moment.
pub(crate) fn load(db: &Connection, id: &RoomId) -> Result<Option<Entry>> {
    let head = db.one(
        format_args!("reading room {id}"),
        "SELECT key, id, data, detached, version, fencing, event_count, latest_index, updated_us, \
         activity_us FROM rooms WHERE id = ?1",
        [id.as_str()],
        HeadRow::read,
    )?;
    let Some(head) = head else { return Ok(None) };
    let bindings = bindings(db, head.key, id)?;
    head.entry(bindings).map(Some)
}

/// The bindings of a room, in the order in which they were attached.
pub(crate) fn bindings(
    db: &Connection,
    room: i64,
    id: &RoomId,
) -> Result<Vec<Arc<ChannelBinding>>> {
    let rows: Vec<(String, String)> = db.all(
        format_args!("reading the bindings of room {id}"),
        "SELECT channel_id, data FROM bindings WHERE room = ?1 ORDER BY position",
        [room],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    rows.iter()
        .map(|(channel, data)| from_json("binding", channel, data).map(Arc::new))
        .collect()
}

/// Stores the row of a new room, under its id or, while it is being restored, under none.
pub(crate) fn insert(db: &Connection, entry: &RoomSnapshot, hidden: bool) -> Result<i64> {
    let room = &entry.room;
    let values = params![
        (!hidden).then_some(room.id.as_str()),
        room.organization_id.as_ref().map(|id| id.as_str()),
        room.status.as_str(),
        room.created_at.timestamp_micros(),
        room.updated_at.timestamp_micros(),
        room.timers.last_activity_at.map(|at| at.timestamp_micros()),
        room.event_count.cast_signed(),
        room.latest_index.map(u64::cast_signed),
        entry.version.cast_signed(),
        detached_json(&room.id, &entry.detached)?,
        to_json("room", room.id.as_str(), &**room)?,
    ];
    let inserted = db
        .prepare_cached(
            "INSERT INTO rooms (id, organization_id, status, created_us, updated_us, activity_us, \
             event_count, latest_index, version, detached, data) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        )
        .and_then(|mut statement| statement.insert(values));
    match inserted {
        Err(error) if is_constraint(&error) => Err(Error::room_already_exists(&room.id)),
        Err(error) => Err(of_sqlite(&format!("storing room {}", room.id), error)),
        Ok(key) => Ok(key),
    }
}

pub(crate) fn detached_json(room: &RoomId, detached: &BTreeSet<ChannelId>) -> Result<String> {
    if detached.is_empty() {
        return Ok("[]".to_owned());
    }
    to_json("room", room.as_str(), detached)
}

/// Every table with rows of a room, and the column that says so.
const TABLES: [&str; 8] = [
    "outcomes",
    "bindings",
    "participants",
    "senders",
    "tasks",
    "observations",
    "read_markers",
    "owed",
];

/// Removes a room and all that belongs to it.
pub(crate) fn delete(db: &Connection, key: i64) -> Result<()> {
    let what = format_args!("deleting a room");
    let (first, next) = event_keys(key);
    let of_events = [
        "DELETE FROM words WHERE rowid IN (SELECT key FROM events WHERE key >= ?1 AND key < ?2)",
        "DELETE FROM unindexed WHERE key >= ?1 AND key < ?2",
        "DELETE FROM event_versions WHERE event >= ?1 AND event < ?2",
        "DELETE FROM events WHERE key >= ?1 AND key < ?2",
    ];
    for sql in of_events {
        db.run(what, sql, [first, next])?;
    }
    for table in TABLES {
        db.run(what, &format!("DELETE FROM {table} WHERE room = ?1"), [key])?;
    }
    db.run(what, "DELETE FROM rooms WHERE key = ?1", [key])?;
    Ok(())
}
