//! Events as rows: how they are read, by key, by range and by filter.

use std::sync::Arc;

use chrono::DateTime;
use roomkit_core::Result;
use roomkit_core::model::{EventFilter, EventId, RoomEvent, ThreadSummary};
use roomkit_core::store::EventQuery;
use roomkit_store::{PayloadKeys, event_of};
use rusqlite::{Connection, Row, ToSql, params};

use crate::room::{event_key, event_keys};
use crate::sql::{Sql, count};

/// The most events that are read at once where a filter may drop some of them.
const PAGE: usize = 256;

/// The columns of which an event is made.
#[derive(Debug)]
pub(crate) struct EventData {
    pub(crate) id: String,
    pub(crate) json: String,
    pub(crate) payload: Option<Vec<u8>>,
}

impl EventData {
    /// From `id, data, payload`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            json: row.get(1)?,
            payload: row.get(2)?,
        })
    }

    pub(crate) fn event(&self, keys: Option<&PayloadKeys>) -> Result<Arc<RoomEvent>> {
        event_of(&self.id, &self.json, self.payload.as_deref(), keys).map(Arc::new)
    }
}

pub(crate) fn at_key(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    key: i64,
) -> Result<Option<Arc<RoomEvent>>> {
    let data = db.one(
        format_args!("reading an event"),
        "SELECT id, data, payload FROM events WHERE key = ?1",
        [key],
        EventData::read,
    )?;
    data.map(|data| data.event(keys)).transpose()
}

pub(crate) fn by_id(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    room: &str,
    id: &EventId,
) -> Result<Option<Arc<RoomEvent>>> {
    let data = db.one(
        format_args!("reading event {id}"),
        "SELECT id, data, payload FROM events \
         WHERE room = (SELECT key FROM rooms WHERE id = ?1) AND id = ?2",
        params![room, id.as_str()],
        EventData::read,
    )?;
    data.map(|data| data.event(keys)).transpose()
}

/// Every version of an event, the oldest first.
pub(crate) fn versions(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    room: &str,
    id: &EventId,
) -> Result<Vec<Arc<RoomEvent>>> {
    let what = format_args!("reading the versions of event {id}");
    let key: Option<i64> = db.one(
        what,
        "SELECT key FROM events WHERE room = (SELECT key FROM rooms WHERE id = ?1) AND id = ?2",
        params![room, id.as_str()],
        |row| row.get(0),
    )?;
    let Some(key) = key else {
        return Ok(Vec::new());
    };
    versions_at(db, keys, key, id.as_str())
}

/// The same by the event's key.
pub(crate) fn versions_at(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    key: i64,
    id: &str,
) -> Result<Vec<Arc<RoomEvent>>> {
    let older: Vec<EventData> = db.all(
        format_args!("reading the versions of event {id}"),
        "SELECT ?2, data, payload FROM event_versions WHERE event = ?1 ORDER BY version",
        params![key, id],
        EventData::read,
    )?;
    let older: Result<Vec<_>> = older.iter().map(|data| data.event(keys)).collect();
    let mut versions = older?;
    versions.extend(at_key(db, keys, key)?);
    Ok(versions)
}

/// The events of a room that a query asks for, in index order.
pub(crate) fn query(
    db: &Connection,
    keys: Option<&PayloadKeys>,
    room: i64,
    query: &EventQuery,
) -> Result<Vec<Arc<RoomEvent>>> {
    let Some(mut range) = Range::of(room, query)? else {
        return Ok(Vec::new());
    };
    let filter = query.filter.as_deref();
    let select = Select::of(filter, query.from_end);
    let exact = filter.is_none_or(|filter| select.covers(filter));
    let (mut skipped, mut found) = (0, Vec::new());
    while found.len() < query.limit && range.first < range.end {
        let left = (query.limit - found.len()).min(PAGE);
        // Only where every row counts can the database skip them.
        let offset = if exact { query.offset - skipped } else { 0 };
        let asked = if exact { left } else { PAGE };
        let rows = select.page(db, &range, asked, offset)?;
        skipped += offset;
        let whole = rows.len() == asked;
        for (key, data) in rows {
            range.pass(key, query.from_end);
            let event = data.event(keys)?;
            if !query.matches(&event) {
                continue;
            }
            if skipped < query.offset {
                skipped += 1;
            } else if found.len() < query.limit {
                found.push(event);
            }
        }
        if !whole {
            break;
        }
    }
    if query.from_end {
        found.reverse();
    }
    Ok(found)
}

/// Keys that are still to be read, the end not among them.
struct Range {
    first: i64,
    end: i64,
}

impl Range {
    fn of(room: i64, query: &EventQuery) -> Result<Option<Self>> {
        let (mut first, mut end) = event_keys(room);
        if let Some(after) = query.after {
            match event_key(room, after) {
                Ok(key) => first = key + 1,
                Err(_) => return Ok(None),
            }
        }
        if let Some(before) = query.before
            && let Ok(key) = event_key(room, before)
        {
            end = key;
        }
        Ok((first < end && query.limit > 0).then_some(Self { first, end }))
    }

    fn pass(&mut self, key: i64, from_end: bool) {
        if from_end {
            self.end = key;
        } else {
            self.first = key + 1;
        }
    }
}

/// A statement for the conditions that columns can tell.
struct Select {
    sql: String,
    values: Vec<Box<dyn ToSql>>,
}

impl Select {
    fn of(filter: Option<&EventFilter>, from_end: bool) -> Self {
        let mut select = Self {
            sql: "SELECT key, id, data, payload FROM events WHERE key >= ?1 AND key < ?2"
                .to_owned(),
            values: Vec::new(),
        };
        if let Some(filter) = filter {
            if let Some(channel) = &filter.source_channel_id {
                select.add("channel_id", channel.to_string());
            }
            if let Some(participant) = &filter.participant_id {
                select.add("participant_id", participant.to_string());
            }
            if let Some(parent) = &filter.parent_event_id {
                select.add("parent_id", parent.to_string());
                // With the room a thread is found by its own index.
                select.sql.push_str(" AND room = ?1 >> 32");
            }
            if filter.top_level_only {
                select.sql.push_str(" AND parent_id IS NULL");
            }
            if let Some([one]) = filter.event_types.as_deref() {
                select.add("type", one.as_str().to_owned());
            }
        }
        let order = if from_end { "DESC" } else { "ASC" };
        select.sql.push_str(" ORDER BY key ");
        select.sql.push_str(order);
        select.sql.push_str(" LIMIT ?3 OFFSET ?4");
        select
    }

    fn add(&mut self, column: &str, value: String) {
        self.values.push(Box::new(value));
        let number = self.values.len() + 4;
        self.sql.push_str(&format!(" AND {column} = ?{number}"));
    }

    /// Whether the columns tell every condition of a filter.
    fn covers(&self, filter: &EventFilter) -> bool {
        let rest = EventFilter {
            event_types: filter.event_types.clone().filter(|types| types.len() != 1),
            source_channel_id: None,
            participant_id: None,
            parent_event_id: None,
            top_level_only: false,
            ..filter.clone()
        };
        rest == EventFilter::default()
    }

    fn page(
        &self,
        db: &Connection,
        range: &Range,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<(i64, EventData)>> {
        let (limit, offset) = (count(limit), count(offset));
        let mut values: Vec<&dyn ToSql> = vec![&range.first, &range.end, &limit, &offset];
        values.extend(self.values.iter().map(|value| &**value));
        db.all(
            format_args!("reading events"),
            &self.sql,
            values.as_slice(),
            |row| {
                let data = EventData {
                    id: row.get(1)?,
                    json: row.get(2)?,
                    payload: row.get(3)?,
                };
                Ok((row.get(0)?, data))
            },
        )
    }
}

/// How many replies an event has, and when the last was made.
pub(crate) fn thread_summary(
    db: &Connection,
    room: Option<i64>,
    root: &EventId,
) -> Result<ThreadSummary> {
    let mut summary = ThreadSummary::new(root.clone());
    let found: Option<(i64, Option<i64>)> = db.one(
        format_args!("counting the replies to event {root}"),
        "SELECT count(*), max(created_us) FROM events WHERE room = ?1 AND parent_id = ?2",
        params![room, root.as_str()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if let Some((replies, last)) = found {
        summary.reply_count = replies.cast_unsigned();
        summary.last_reply_at = last.and_then(DateTime::from_timestamp_micros);
    }
    Ok(summary)
}
