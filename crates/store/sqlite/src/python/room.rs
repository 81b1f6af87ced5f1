//! One room of the Python package, row by row into the parts of an archive.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use chrono::{DateTime, Utc};
use roomkit_core::model::{
    ChannelBinding, ChannelDirection, ChannelId, ChannelType, Observation, Participant, ReadMarker,
    Room, RoomEvent, Task,
};
use roomkit_core::store::{IdempotentOutcome, RoomHead, RoomPart};
use rusqlite::Row;

use super::report::RowProblem;
use super::source::{Source, Unreadable, number, record, text};

/// How many events are read at once.
const PAGE: usize = 256;

/// A room that is being read. Its account is kept apart until the store has taken it.
pub(super) struct Reading {
    id: String,
    stage: Stage,
    parts: u64,
    /// One more than the highest index.
    indexes: u64,
    /// The last row of events that was read.
    after: (i64, i64),
    next_index: u64,
    event_ids: HashSet<String>,
    /// What the keys of events are answered with.
    outcomes: BTreeMap<String, IdempotentOutcome>,
    imported: BTreeMap<&'static str, u64>,
    problems: Vec<RowProblem>,
}

enum Stage {
    Head(Box<Room>),
    Events,
    Rest,
    Done,
}

/// A row of a table in which JSON is all that is needed.
struct DataRow {
    rowid: i64,
    key: Result<String, Unreadable>,
    data: Result<String, Unreadable>,
}

impl DataRow {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            rowid: row.get(0)?,
            key: text(row, 1),
            data: text(row, 2),
        })
    }
}

impl Reading {
    /// Begins with a room, where its own row can be read; else it is reported.
    pub(super) fn of(source: &mut Source, id: String) -> Option<Self> {
        let sql = format!(
            "SELECT rowid, id, {} FROM rooms WHERE id = ?1 ORDER BY rowid LIMIT 1",
            source.column("rooms", "data")
        );
        let rows = source.rows("rooms", &sql, &[&id], DataRow::read);
        let read = match rows.first() {
            Some(row) => record::<Room>(&row.data),
            None => Err("cannot be read".to_owned()),
        };
        let room = read.and_then(|room| match room.id == *id.as_str() {
            true => Ok(room),
            false => Err("data: its id is another".to_owned()),
        });
        match room {
            Ok(room) => Some(Self {
                id,
                stage: Stage::Head(Box::new(room)),
                parts: 0,
                indexes: 0,
                after: (i64::MIN, i64::MIN),
                next_index: 0,
                event_ids: HashSet::new(),
                outcomes: BTreeMap::new(),
                imported: BTreeMap::new(),
                problems: Vec::new(),
            }),
            Err(why) => {
                source.end_room(&id, Some(why));
                None
            }
        }
    }

    /// The next parts; none only at the end.
    pub(super) fn page(&mut self, source: &mut Source) -> Vec<RoomPart> {
        loop {
            let stage = std::mem::replace(&mut self.stage, Stage::Done);
            let mut parts = match stage {
                Stage::Head(room) => {
                    self.stage = Stage::Events;
                    self.head(source, *room)
                }
                Stage::Events => {
                    let (parts, more) = self.events(source);
                    self.stage = if more { Stage::Events } else { Stage::Rest };
                    parts
                }
                Stage::Rest => self.rest(source),
                Stage::Done => return Vec::new(),
            };
            self.parts += parts.len() as u64;
            if parts.is_empty() {
                continue;
            }
            if let Some(RoomPart::End { parts: before }) = parts.last_mut() {
                *before = self.parts - 1;
            }
            return parts;
        }
    }

    /// Notes what became of the room, and with it of its rows.
    pub(super) fn end(&mut self, source: &mut Source, refused: Option<String>) {
        if refused.is_none() {
            for (table, rows) in &self.imported {
                source.imported(table, *rows);
            }
            source.problems(std::mem::take(&mut self.problems));
        }
        source.end_room(&self.id, refused);
    }

    fn took(&mut self, table: &'static str) {
        *self.imported.entry(table).or_default() += 1;
    }

    fn problem(&mut self, table: &str, key: &str, reason: impl Into<String>) {
        self.problems.push(RowProblem {
            table: table.to_owned(),
            key: format!("{}/{key}", self.id),
            reason: reason.into(),
        });
    }

    /// The room, who is in it, and who has spoken.
    fn head(&mut self, source: &mut Source, mut room: Room) -> Vec<RoomPart> {
        let (events, highest) = self.extent(source);
        let sequence = self.sequence(source);
        let indexes = room.next_index().max(highest).max(sequence);
        self.indexes = indexes;
        room.event_count = match room.event_count.max(events) {
            0 => indexes,
            count => count.min(indexes),
        };
        room.latest_index = indexes.checked_sub(1);
        let head = RoomHead {
            room,
            version: indexes,
            detached: BTreeSet::new(),
        };
        let mut parts = vec![RoomPart::Room(Box::new(head))];
        let mut bindings: Vec<ChannelBinding> =
            self.records(source, "bindings", "channel_id", |one: &ChannelBinding| {
                (one.room_id.to_string(), one.channel_id.to_string())
            });
        // Rows move when they are written again; the times do not.
        bindings.sort_by_key(|binding| binding.attached_at);
        parts.extend(
            bindings
                .into_iter()
                .map(|one| RoomPart::Binding(Arc::new(one))),
        );
        let mut participants: Vec<Participant> =
            self.records(source, "participants", "id", |one: &Participant| {
                (one.room_id.to_string(), one.id.to_string())
            });
        participants.sort_by_key(|participant| participant.joined_at);
        parts.extend(participants.into_iter().map(RoomPart::Participant));
        parts.extend(self.senders(source));
        parts
    }

    /// How many events there are, and one more than the highest of their indexes.
    fn extent(&self, source: &mut Source) -> (u64, u64) {
        let sql = format!(
            "SELECT count(*), ifnull(max(idx) + 1, 0) FROM events \
             WHERE {} = ?1 AND typeof(idx) = 'integer' AND idx >= 0",
            source.column("events", "room_id")
        );
        let rows = source.rows("events", &sql, &[&self.id], |row| {
            Ok((number(row, 0).unwrap_or(0), number(row, 1).unwrap_or(0)))
        });
        rows.first().copied().unwrap_or_default()
    }

    /// The next index as the Python package has noted it.
    fn sequence(&mut self, source: &mut Source) -> u64 {
        let sql = format!(
            "SELECT {} FROM event_sequences WHERE room_id = ?1",
            source.column("event_sequences", "next_index")
        );
        let rows = source.rows("event_sequences", &sql, &[&self.id], |row| {
            Ok(number(row, 0))
        });
        let mut highest = 0;
        for row in rows {
            match row {
                Ok(next) => {
                    highest = next.max(highest);
                    self.took("event_sequences");
                }
                Err(why) => self.problem("event_sequences", "", format!("next_index {why}")),
            }
        }
        highest
    }

    /// The records of a table that belong to the room, each once.
    fn records<T: serde::de::DeserializeOwned>(
        &mut self,
        source: &mut Source,
        table: &'static str,
        key: &'static str,
        names: fn(&T) -> (String, String),
    ) -> Vec<T> {
        let sql = format!(
            "SELECT rowid, {}, {} FROM {table} WHERE {} = ?1 ORDER BY rowid",
            source.column(table, key),
            source.column(table, "data"),
            source.column(table, "room_id"),
        );
        let rows = source.rows(table, &sql, &[&self.id], DataRow::read);
        let (mut seen, mut found) = (BTreeSet::new(), Vec::new());
        for row in rows {
            let name = row
                .key
                .clone()
                .unwrap_or_else(|_| format!("rowid {}", row.rowid));
            let read = record::<T>(&row.data).and_then(|one| {
                let (room, own) = names(&one);
                if room != self.id || row.key.as_ref().is_ok_and(|key| *key != own) {
                    return Err("data: it names another room or another id".to_owned());
                }
                if !seen.insert(own) {
                    return Err("there is another row with this key".to_owned());
                }
                Ok(one)
            });
            match read {
                Ok(one) => {
                    self.took(table);
                    found.push(one);
                }
                Err(why) => self.problem(table, &name, why),
            }
        }
        found
    }

    fn senders(&self, source: &mut Source) -> Vec<RoomPart> {
        let sql = format!(
            "SELECT DISTINCT {}, {} FROM events WHERE {} = ?1 AND json_valid(data) \
             AND json_extract(data, '$.source.direction') = ?2",
            source.column("events", "source_channel_type"),
            source.column("events", "participant_id"),
            source.column("events", "room_id"),
        );
        let inbound = ChannelDirection::Inbound.as_str();
        let rows = source.rows("events", &sql, &[&self.id, &inbound], |row| {
            Ok((text(row, 0), text(row, 1)))
        });
        let known: BTreeSet<(String, String)> = rows
            .into_iter()
            .filter_map(|(kind, sender)| Some((kind.ok()?, sender.ok()?)))
            .collect();
        known
            .into_iter()
            .filter_map(|(kind, sender)| {
                Some(RoomPart::Sender {
                    channel_type: kind.parse::<ChannelType>().ok()?,
                    sender_id: sender.into(),
                })
            })
            .collect()
    }

    /// The next page of events, and whether there may be more.
    fn events(&mut self, source: &mut Source) -> (Vec<RoomPart>, bool) {
        let columns = format!(
            "rowid, {}, {}, idx",
            source.column("events", "id"),
            source.column("events", "data"),
        );
        let room = source.column("events", "room_id");
        if self.after.0 == i64::MIN {
            let sql = format!(
                "SELECT {columns} FROM events WHERE {room} = ?1 \
                 AND (typeof(idx) <> 'integer' OR idx < 0)"
            );
            for row in source.rows("events", &sql, &[&self.id], DataRow::read) {
                let name = row.key.unwrap_or_else(|_| format!("rowid {}", row.rowid));
                self.problem("events", &name, "idx is no index");
            }
        }
        let sql = format!(
            "SELECT {columns} FROM events WHERE {room} = ?1 AND typeof(idx) = 'integer' \
             AND idx >= 0 AND (idx, rowid) > (?2, ?3) ORDER BY idx, rowid LIMIT ?4"
        );
        let (index, rowid) = self.after;
        let rows = source.rows(
            "events",
            &sql,
            &[&self.id, &index, &rowid, &(PAGE as i64)],
            |row| Ok((DataRow::read(row)?, row.get::<_, i64>(3)?)),
        );
        let more = rows.len() == PAGE;
        let mut parts = Vec::new();
        for (row, index) in rows {
            self.after = (index, row.rowid);
            match self.event(&row, index) {
                Ok(event) => {
                    self.took("events");
                    parts.push(RoomPart::Event(vec![Arc::new(event)]));
                }
                Err(why) => {
                    let name = row.key.unwrap_or_else(|_| format!("rowid {}", row.rowid));
                    self.problem("events", &name, why);
                }
            }
        }
        if self.after.0 == i64::MIN {
            self.after.0 = -1;
        }
        (parts, more)
    }

    fn event(&mut self, row: &DataRow, index: i64) -> Result<RoomEvent, Unreadable> {
        let event: RoomEvent = record(&row.data)?;
        let id_differs = row.key.as_ref().is_ok_and(|id| event.id != *id.as_str());
        if id_differs || event.room_id != *self.id.as_str() || event.index != index.cast_unsigned()
        {
            return Err("data: it names another room, id or index".to_owned());
        }
        if event.index < self.next_index {
            return Err("there is another event with this index".to_owned());
        }
        if !self.event_ids.insert(event.id.to_string()) {
            return Err("there is another event with this id".to_owned());
        }
        self.next_index = event.index + 1;
        if let Some(key) = &event.idempotency_key {
            let outcome = IdempotentOutcome {
                key: key.clone(),
                event_id: event.id.clone(),
                blocked: event.is_blocked(),
                reason: event.blocked_by.clone().filter(|_| event.is_blocked()),
            };
            self.outcomes.entry(key.clone()).or_insert(outcome);
        }
        Ok(event)
    }

    /// What follows the events.
    fn rest(&mut self, source: &mut Source) -> Vec<RoomPart> {
        self.keys(source);
        let outcomes = std::mem::take(&mut self.outcomes);
        let mut parts: Vec<RoomPart> = outcomes.into_values().map(RoomPart::Outcome).collect();
        let tasks = self.records(source, "tasks", "id", |one: &Task| {
            (one.room_id.to_string(), one.id.to_string())
        });
        parts.extend(tasks.into_iter().map(RoomPart::Task));
        let observations = self.records(source, "observations", "id", |one: &Observation| {
            (one.room_id.to_string(), one.id.to_string())
        });
        parts.extend(observations.into_iter().map(RoomPart::Observation));
        parts.extend(self.markers(source).into_values().map(RoomPart::ReadMarker));
        parts.push(RoomPart::End { parts: 0 });
        parts
    }

    /// The keys that the Python package has noted apart from events.
    fn keys(&mut self, source: &mut Source) {
        let sql = format!(
            "SELECT rowid, {} FROM idempotency WHERE room_id = ?1 ORDER BY rowid",
            source.column("idempotency", "key"),
        );
        let rows = source.rows("idempotency", &sql, &[&self.id], |row| {
            Ok((row.get::<_, i64>(0)?, text(row, 1)))
        });
        let mut seen = BTreeSet::new();
        for (rowid, key) in rows {
            let name = key.clone().unwrap_or_else(|_| format!("rowid {rowid}"));
            let taken = key.map_err(|why| format!("key {why}")).and_then(|key| {
                match seen.insert(key.clone()) {
                    true => self.outcome(source, key),
                    false => Err("there is another row with this key".to_owned()),
                }
            });
            match taken {
                Ok(()) => self.took("idempotency"),
                Err(why) => self.problem("idempotency", &name, why),
            }
        }
    }

    /// Sees to it that a key has an outcome, even where its event itself could not be read.
    fn outcome(&mut self, source: &mut Source, key: String) -> Result<(), Unreadable> {
        if self.outcomes.contains_key(&key) {
            return Ok(());
        }
        let sql = format!(
            "SELECT {} FROM events WHERE {} = ?1 AND {} = ?2 ORDER BY idx LIMIT 1",
            source.column("events", "id"),
            source.column("events", "room_id"),
            source.column("events", "idempotency_key"),
        );
        let rows = source.rows("events", &sql, &[&self.id, &key], |row| Ok(text(row, 0)));
        let id = rows.into_iter().next();
        let id = id.ok_or_else(|| "no event of the room has this key".to_owned())?;
        let outcome = IdempotentOutcome {
            key: key.clone(),
            event_id: id
                .map_err(|why| format!("the id of its event {why}"))?
                .into(),
            blocked: false,
            reason: None,
        };
        self.outcomes.insert(key, outcome);
        Ok(())
    }

    /// Read markers by channel: there they name an event, here an index.
    fn markers(&mut self, source: &mut Source) -> BTreeMap<ChannelId, ReadMarker> {
        let sql = format!(
            "SELECT m.rowid, {}, e.idx, e.created_ts FROM read_markers m LEFT JOIN events e \
             ON e.id = m.event_id AND e.room_id = m.room_id \
             WHERE m.room_id = ?1 GROUP BY m.rowid ORDER BY m.rowid",
            match source.column("read_markers", "channel_id") {
                "NULL" => "NULL",
                _ => "m.channel_id",
            },
        );
        let rows = source.rows("read_markers", &sql, &[&self.id], |row| {
            let at: Option<f64> = row.get(3).unwrap_or_default();
            Ok((row.get::<_, i64>(0)?, text(row, 1), number(row, 2), at))
        });
        let mut markers = BTreeMap::new();
        for (rowid, channel, index, at) in rows {
            let name = channel.clone().unwrap_or_else(|_| format!("rowid {rowid}"));
            let read = channel
                .map_err(|why| format!("channel_id {why}"))
                .and_then(|channel| {
                    let index = index.map_err(|_| "its event is not there".to_owned())?;
                    let channel_id = ChannelId::from(channel);
                    if markers.contains_key(&channel_id) {
                        return Err("there is another row with this key".to_owned());
                    }
                    Ok(ReadMarker {
                        room_id: self.id.as_str().into(),
                        channel_id,
                        index,
                        read_at: at.and_then(time_of).unwrap_or_default(),
                    })
                });
            match read {
                Ok(marker) => {
                    self.took("read_markers");
                    markers.insert(marker.channel_id.clone(), marker);
                }
                Err(why) => self.problem("read_markers", &name, why),
            }
        }
        markers
    }
}

/// Seconds since 1970 as the Python package keeps them, rounded to microseconds.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a time out of range becomes one that chrono refuses"
)]
fn time_of(seconds: f64) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_micros((seconds * 1e6).round() as i64)
}
