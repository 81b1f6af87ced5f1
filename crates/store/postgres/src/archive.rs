//! A room out of the database, as it was at one moment, a page at a time.

use std::collections::VecDeque;

use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use roomkit_core::Result;
use roomkit_core::model::{ChannelType, RoomId};
use roomkit_core::store::{ArchiveStore, RoomHead, RoomPart, RoomSnapshot};
use roomkit_store::from_json;
use sqlx::postgres::PgRow;

use crate::args::{Args, column, id};
use crate::columns;
use crate::commit::room_args;
use crate::db::Tx;
use crate::error::{Doing, Failure};
use crate::pool::Sql;
use crate::store::{Inner, PostgresStore, RoomState};
use crate::text;

#[async_trait]
impl ArchiveStore for PostgresStore {
    /// Holds a connection and a snapshot of the database for as long as it is read.
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        let dump = Dump {
            store: &self.0,
            room: room.clone(),
            at: Stage::Room,
            tx: None,
            read: VecDeque::new(),
            given: 0,
        };
        unfold(Some(dump), next_part).boxed()
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        self.0.restore(parts).await
    }
}

/// The kinds of parts, in the order of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Room,
    Participants,
    Senders,
    Events,
    Outcomes,
    Tasks,
    Observations,
    Markers,
    Owed,
    End,
}

impl Stage {
    fn next(self) -> Self {
        match self {
            Self::Room => Self::Participants,
            Self::Participants => Self::Senders,
            Self::Senders => Self::Events,
            Self::Events => Self::Outcomes,
            Self::Outcomes => Self::Tasks,
            Self::Tasks => Self::Observations,
            Self::Observations => Self::Markers,
            Self::Markers => Self::Owed,
            Self::Owed | Self::End => Self::End,
        }
    }
}

/// How far a room was read.
struct Dump<'a> {
    store: &'a Inner,
    room: RoomId,
    at: Stage,
    tx: Option<Tx>,
    read: VecDeque<RoomPart>,
    given: u64,
}

async fn next_part(dump: Option<Dump<'_>>) -> Option<(Result<RoomPart>, Option<Dump<'_>>)> {
    let mut dump = dump?;
    loop {
        if let Some(part) = dump.read.pop_front() {
            dump.given += 1;
            return Some((Ok(part), Some(dump)));
        }
        if dump.at == Stage::End {
            let tx = dump.tx.take()?;
            tx.rollback().await;
            return Some((Ok(RoomPart::End { parts: dump.given }), None));
        }
        match dump.read_page().await {
            Ok(true) => {}
            Ok(false) => return None,
            Err(error) => return Some((Err(error), None)),
        }
    }
}

impl Dump<'_> {
    /// Reads on; `false` where there is no such room.
    async fn read_page(&mut self) -> Result<bool> {
        let room = self.room.clone();
        let doing = Doing::new("dumping room", room.as_str());
        let failed = |failure: Failure| failure.into_read_error(doing);
        let Some(tx) = &mut self.tx else {
            let mut tx = self.store.db.begin(doing, Tx::READ).await?;
            let args = room_args(&room, None);
            let rows = tx.rows(&self.store.sql.room, args).await.map_err(failed)?;
            let Some(row) = rows.first() else {
                tx.rollback().await;
                return Ok(false);
            };
            let snapshot = self.store.snapshot(&room, RoomState::read(row, 0)?, None)?;
            self.read.push_back(RoomPart::Room(Box::new(RoomHead {
                room: (*snapshot.room).clone(),
                version: snapshot.version,
                detached: (*snapshot.detached).clone(),
            })));
            let bindings = snapshot.bindings.iter().cloned();
            self.read.extend(bindings.map(RoomPart::Binding));
            self.tx = Some(tx);
            self.at = self.at.next();
            let (declare, _) = cursor(self.store, self.at);
            return self.declare(declare, doing).await.map(|()| true);
        };
        let (_, fetch) = cursor(self.store, self.at);
        let rows = tx.rows(fetch, Args::new()).await.map_err(failed)?;
        for row in &rows {
            let part = match self.at {
                Stage::Events => self.event(row, doing).await?,
                _ => part(self.at, &room, row)?,
            };
            self.read.push_back(part);
        }
        if rows.is_empty() {
            self.at = self.at.next();
            if self.at != Stage::End {
                let (declare, _) = cursor(self.store, self.at);
                self.declare(declare, doing).await?;
            }
        }
        Ok(true)
    }

    async fn declare(&mut self, declare: &Sql, doing: Doing<'_>) -> Result<()> {
        if let Some(tx) = &mut self.tx {
            let args = Args::new().id(self.room.as_str());
            let declared = tx.rows(declare, args).await;
            declared.map_err(|failure| failure.into_read_error(doing))?;
        }
        Ok(())
    }

    /// An event with the versions that it had before.
    async fn event(&mut self, row: &PgRow, doing: Doing<'_>) -> Result<RoomPart> {
        let mut versions = Vec::new();
        if column(row, 3)?
            && let Some(tx) = &mut self.tx
        {
            let id: &str = column(row, 0)?;
            let args = Args::new().id(self.room.as_str()).add(id);
            let rows = tx.rows(&self.store.sql.dump_versions, args).await;
            let rows = rows.map_err(|failure| failure.into_read_error(doing))?;
            versions = self.store.events(&rows)?;
        }
        versions.extend(self.store.events(std::slice::from_ref(row))?);
        Ok(RoomPart::Event(versions))
    }
}

/// The statements that open a stage and that read on in it.
fn cursor(store: &Inner, at: Stage) -> (&Sql, &Sql) {
    let sql = &store.sql;
    match at {
        Stage::Room | Stage::Participants => (&sql.dump_participants, &sql.fetch_dump_participants),
        Stage::Senders => (&sql.dump_senders, &sql.fetch_dump_senders),
        Stage::Events => (&sql.dump_events, &sql.fetch_dump_events),
        Stage::Outcomes => (&sql.dump_outcomes, &sql.fetch_dump_outcomes),
        Stage::Tasks => (&sql.dump_tasks, &sql.fetch_dump_tasks),
        Stage::Observations => (&sql.dump_observations, &sql.fetch_dump_observations),
        Stage::Markers => (&sql.dump_markers, &sql.fetch_dump_markers),
        Stage::Owed | Stage::End => (&sql.dump_owed, &sql.fetch_dump_owed),
    }
}

fn part(at: Stage, room: &RoomId, row: &PgRow) -> Result<RoomPart> {
    let room = room.as_str();
    Ok(match at {
        Stage::Participants => RoomPart::Participant(columns::participant(row)?),
        Stage::Senders => RoomPart::Sender {
            channel_type: channel_type(column(row, 0)?)?,
            sender_id: id(row, 1)?,
        },
        Stage::Outcomes => {
            RoomPart::Outcome(from_json("an outcome in room", room, column(row, 0)?)?)
        }
        Stage::Tasks => RoomPart::Task(from_json("a task in room", room, column(row, 0)?)?),
        Stage::Observations => {
            RoomPart::Observation(from_json("an observation in room", room, column(row, 0)?)?)
        }
        Stage::Markers => {
            RoomPart::ReadMarker(from_json("a read marker in room", room, column(row, 0)?)?)
        }
        _ => RoomPart::Owed(from_json("a delivery in room", room, column(row, 0)?)?),
    })
}

fn channel_type(stored: &str) -> Result<ChannelType> {
    let json = serde_json::Value::from(text::restored(stored).into_owned());
    from_json("a type of channel", "", &json.to_string())
}
