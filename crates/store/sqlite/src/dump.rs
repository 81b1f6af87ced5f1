//! A room on its way out: page by page, as it was at one moment.

use std::sync::Arc;

use roomkit_core::Result;
use roomkit_core::model::RoomId;
use roomkit_core::store::{RoomHead, RoomPart};
use roomkit_store::{PayloadKeys, from_json};
use rusqlite::{Connection, Row, ToSql, params};
use serde::de::DeserializeOwned;

use crate::error::{Doing, failed};
use crate::event::{EventData, versions_at};
use crate::room::{self, event_keys};
use crate::sql::Sql;
use crate::store::outcome;

/// How many rows are read at once.
const PAGE: usize = 256;

/// The kinds of parts, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Head,
    Bindings,
    Participants,
    Senders,
    Events,
    Outcomes,
    Tasks,
    Observations,
    Markers,
    Owed,
    End,
    Done,
}

impl Stage {
    fn next(self) -> Self {
        match self {
            Self::Head => Self::Bindings,
            Self::Bindings => Self::Participants,
            Self::Participants => Self::Senders,
            Self::Senders => Self::Events,
            Self::Events => Self::Outcomes,
            Self::Outcomes => Self::Tasks,
            Self::Tasks => Self::Observations,
            Self::Observations => Self::Markers,
            Self::Markers => Self::Owed,
            Self::Owed => Self::End,
            Self::End | Self::Done => Self::Done,
        }
    }
}

/// A read that lasts, on a connection of its own.
pub(crate) struct Dump {
    db: Connection,
    keys: Option<Arc<PayloadKeys>>,
    id: RoomId,
    room: i64,
    stage: Stage,
    /// The last row of the stage that was read, by what the stage is ordered by.
    after: (i64, String, String),
    parts: u64,
}

impl Dump {
    /// From here on the dump sees nothing that is written.
    pub(crate) fn begin(
        db: Connection,
        id: RoomId,
        keys: Option<Arc<PayloadKeys>>,
    ) -> Result<Self> {
        db.execute_batch("BEGIN").doing("beginning a dump")?;
        Ok(Self {
            db,
            keys,
            id,
            room: 0,
            stage: Stage::Head,
            after: before_all(),
            parts: 0,
        })
    }

    /// The next parts; none only at the end.
    pub(crate) fn page(&mut self) -> Result<Vec<RoomPart>> {
        while self.stage != Stage::Done {
            let page = self.read()?;
            let is_last = page.len() < PAGE;
            if is_last {
                self.stage = self.stage.next();
                self.after = before_all();
            }
            if !page.is_empty() {
                self.parts += page.len() as u64;
                return Ok(page);
            }
        }
        Ok(Vec::new())
    }

    fn read(&mut self) -> Result<Vec<RoomPart>> {
        match self.stage {
            Stage::Head => self.head(),
            Stage::Bindings => self.placed(
                "SELECT position, data FROM bindings WHERE room = ?1 AND position > ?2 \
                 ORDER BY position LIMIT ?3",
                RoomPart::Binding,
            ),
            Stage::Participants => self.placed(
                "SELECT position, data FROM participants WHERE room = ?1 AND position > ?2 \
                 ORDER BY position LIMIT ?3",
                RoomPart::Participant,
            ),
            Stage::Senders => self.senders(),
            Stage::Events => self.events(),
            Stage::Outcomes => self.outcomes(),
            Stage::Tasks => self.placed(
                "SELECT position, data FROM tasks WHERE room = ?1 AND position > ?2 \
                 ORDER BY position LIMIT ?3",
                RoomPart::Task,
            ),
            Stage::Observations => self.placed(
                "SELECT position, data FROM observations WHERE room = ?1 AND position > ?2 \
                 ORDER BY position LIMIT ?3",
                RoomPart::Observation,
            ),
            Stage::Markers => self.named(
                "SELECT channel_id, data FROM read_markers WHERE room = ?1 AND channel_id > ?2 \
                 ORDER BY channel_id LIMIT ?3",
                RoomPart::ReadMarker,
            ),
            Stage::Owed => self.named(
                "SELECT delivery_id, data FROM owed WHERE room = ?1 AND delivery_id > ?2 \
                 ORDER BY delivery_id LIMIT ?3",
                RoomPart::Owed,
            ),
            Stage::End => Ok(vec![RoomPart::End { parts: self.parts }]),
            Stage::Done => Ok(Vec::new()),
        }
    }

    fn head(&mut self) -> Result<Vec<RoomPart>> {
        let Some(entry) = room::load(&self.db, &self.id)? else {
            self.stage = Stage::Done;
            return Ok(Vec::new());
        };
        self.room = entry.key;
        let snapshot = entry.snapshot;
        Ok(vec![RoomPart::Room(Box::new(RoomHead {
            room: (*snapshot.room).clone(),
            version: snapshot.version,
            detached: (*snapshot.detached).clone(),
        }))])
    }

    /// Rows in the order in which they came.
    fn placed<T: DeserializeOwned>(
        &mut self,
        sql: &str,
        part: fn(T) -> RoomPart,
    ) -> Result<Vec<RoomPart>> {
        let after = self.after.0;
        let rows: Vec<(i64, String)> = self.rows(sql, &after, pair)?;
        if let Some((place, _)) = rows.last() {
            self.after.0 = *place;
        }
        rows.iter()
            .map(|(_, data)| from_json("the room", self.id.as_str(), data).map(part))
            .collect()
    }

    /// Rows in the order of their names.
    fn named<T: DeserializeOwned>(
        &mut self,
        sql: &str,
        part: fn(T) -> RoomPart,
    ) -> Result<Vec<RoomPart>> {
        // No name is before the empty one, which is a name too: the first page includes it.
        let first = self.after.0 == i64::MIN;
        let sql = if first {
            sql.replace(" > ?2", " >= ?2")
        } else {
            sql.to_owned()
        };
        let after = self.after.1.clone();
        let rows: Vec<(String, String)> = self.rows(&sql, &after, pair)?;
        if let Some((name, _)) = rows.last() {
            self.after = (0, name.clone(), String::new());
        }
        rows.iter()
            .map(|(name, data)| from_json("the room", name, data).map(part))
            .collect()
    }

    fn senders(&mut self) -> Result<Vec<RoomPart>> {
        let sql = "SELECT channel_type, sender_id FROM senders WHERE room = ?1 \
             AND (channel_type, sender_id) > (?2, ?3) ORDER BY channel_type, sender_id LIMIT ?4";
        let (_, kind, sender) = &self.after;
        let rows: Vec<(String, String)> = self.db.all(
            format_args!("dumping the senders of room {}", self.id),
            sql,
            params![self.room, kind, sender, PAGE as i64],
            pair,
        )?;
        if let Some((kind, sender)) = rows.last() {
            self.after = (0, kind.clone(), sender.clone());
        }
        let damaged = |kind: &str| {
            let room = &self.id;
            failed(format!(
                "room {room}: a sender's channel type {kind} is unknown"
            ))
        };
        rows.into_iter()
            .map(|(kind, sender)| {
                Ok(RoomPart::Sender {
                    channel_type: kind.parse().map_err(|_| damaged(&kind))?,
                    sender_id: sender.into(),
                })
            })
            .collect()
    }

    fn events(&mut self) -> Result<Vec<RoomPart>> {
        let (first, end) = event_keys(self.room);
        let first = self.after.0.max(first - 1);
        let rows: Vec<(i64, bool, EventData)> = self.db.all(
            format_args!("dumping the events of room {}", self.id),
            "SELECT id, data, payload, key, \
             EXISTS (SELECT 1 FROM event_versions v WHERE v.event = events.key) \
             FROM events WHERE key > ?1 AND key < ?2 ORDER BY key LIMIT ?3",
            params![first, end, PAGE as i64],
            |row| Ok((row.get(3)?, row.get(4)?, EventData::read(row)?)),
        )?;
        if let Some((key, ..)) = rows.last() {
            self.after.0 = *key;
        }
        let keys = self.keys.as_deref();
        rows.iter()
            .map(|(key, edited, data)| {
                let versions = if *edited {
                    versions_at(&self.db, keys, *key, &data.id)?
                } else {
                    vec![data.event(keys)?]
                };
                Ok(RoomPart::Event(versions))
            })
            .collect()
    }

    fn outcomes(&mut self) -> Result<Vec<RoomPart>> {
        let first = self.after.0 == i64::MIN;
        let sql = if first {
            "SELECT key, event_id, blocked, reason FROM outcomes \
             WHERE room = ?1 AND key >= ?2 ORDER BY key LIMIT ?3"
        } else {
            "SELECT key, event_id, blocked, reason FROM outcomes \
             WHERE room = ?1 AND key > ?2 ORDER BY key LIMIT ?3"
        };
        let after = self.after.1.clone();
        let rows = self.rows(sql, &after, outcome)?;
        if let Some(last) = rows.last() {
            self.after = (0, last.key.clone(), String::new());
        }
        Ok(rows.into_iter().map(RoomPart::Outcome).collect())
    }

    fn rows<T>(
        &self,
        sql: &str,
        after: &dyn ToSql,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.db.all(
            format_args!("dumping room {}", self.id),
            sql,
            params![self.room, after, PAGE as i64],
            read,
        )
    }
}

fn before_all() -> (i64, String, String) {
    (i64::MIN, String::new(), String::new())
}

fn pair<A: rusqlite::types::FromSql, B: rusqlite::types::FromSql>(
    row: &Row<'_>,
) -> rusqlite::Result<(A, B)> {
    Ok((row.get(0)?, row.get(1)?))
}
