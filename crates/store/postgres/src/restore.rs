//! A room into the database, whole or not at all.

use futures_util::stream::{BoxStream, StreamExt};
use roomkit_core::model::Room;
use roomkit_core::store::{RoomPart, RoomSnapshot, checked};
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::{EventRow, to_json};

use crate::args::{Args, signed};
use crate::columns;
use crate::commit::room_args;
use crate::db::Tx;
use crate::error::{Doing, Failure};
use crate::pool::Sql;
use crate::rooms::exists_or;
use crate::store::{Inner, RoomState, stamp, tenant};

impl Inner {
    pub(crate) async fn restore(
        &self,
        parts: BoxStream<'_, Result<RoomPart>>,
    ) -> Result<RoomSnapshot> {
        let mut parts = checked(parts);
        let Some(first) = parts.next().await else {
            return Err(invalid("it is empty"));
        };
        let RoomPart::Room(head) = first? else {
            return Err(invalid("the room is not the first part"));
        };
        let room = head.room;
        let doing = Doing::new("restoring room", room.id.as_str());
        let detached: Vec<&str> = head.detached.iter().map(|id| id.as_str()).collect();
        for (name, number) in [
            ("version", Some(head.version)),
            ("latest_index", room.latest_index),
            ("event_count", Some(room.event_count)),
        ] {
            if number.is_some_and(|number| i64::try_from(number).is_err()) {
                return Err(invalid(&format!("{name} is too high")));
            }
        }
        let args = self.new_room(&room, head.version, &detached, stamp())?;
        let mut restoring = Restoring {
            store: self,
            tx: self.db.begin(doing, Tx::WRITE).await?,
            room: &room,
            doing,
        };
        if let Err(failure) = restoring.tx.rows(&self.sql.create_room, args).await {
            drop(restoring);
            // What is wrong with the parts comes before what is there.
            while let Some(part) = parts.next().await {
                part?;
            }
            return Err(exists_or(failure, &room, doing));
        }
        while let Some(part) = parts.next().await {
            let added = match part {
                Ok(part) => restoring.add(part).await,
                Err(error) => Err(error),
            };
            if let Err(error) = added {
                restoring.tx.rollback().await;
                return Err(error);
            }
        }
        // What is read after the commit may be gone again, or not be had, though all was done.
        let made = restoring.tx.rows(&self.sql.room, room_args(&room.id, None));
        let made = made
            .await
            .map_err(|failure| failure.into_read_error(doing))?;
        let row = made
            .first()
            .ok_or_else(|| Error::room_not_found(&room.id))?;
        let snapshot = self.snapshot(&room.id, RoomState::read(row, 0)?, None)?;
        let committed = restoring.tx.commit().await;
        committed.map_err(|failure| failure.into_error(doing))?;
        Ok(snapshot)
    }
}

struct Restoring<'a> {
    store: &'a Inner,
    tx: Tx,
    room: &'a Room,
    doing: Doing<'a>,
}

impl Restoring<'_> {
    async fn add(&mut self, part: RoomPart) -> Result<()> {
        let sql = &self.store.sql;
        let room = Args::new().id(self.room.id.as_str());
        let tenant = tenant(self.room.organization_id.as_ref());
        let open = self.room.status.accepts_events();
        match part {
            RoomPart::Binding(binding) => {
                let args = room
                    .add(tenant)
                    .add(open)
                    .ids([binding.channel_id.as_str()])
                    .add(vec![columns::binding_json(&binding)?]);
                self.put(&sql.restore_bindings, args).await
            }
            RoomPart::Participant(participant) => {
                let via = participant.connected_via.iter().map(|id| id.as_str());
                let args = room
                    .id(participant.id.as_str())
                    .ids(via)
                    .add(columns::participant_json(&participant)?);
                self.put(&sql.restore_participant, args).await
            }
            RoomPart::Sender {
                channel_type,
                sender_id,
            } => {
                let channel_type = channel_type.to_string();
                let args = room.add(tenant).add(open).ids([channel_type.as_str()]);
                let args = args.ids([sender_id.as_str()]);
                self.put(&sql.restore_senders, args).await
            }
            RoomPart::Event(mut versions) => {
                let Some(newest) = versions.pop() else {
                    return Ok(());
                };
                let keys = self.store.keys.as_ref();
                for version in versions {
                    let row = EventRow::of(&version, keys)?;
                    let args = room.clone().id(version.id.as_str());
                    let args = args.add(row.json).add(row.payload);
                    self.put(&sql.restore_version, args).await?;
                }
                let args = columns::event(room.add(tenant), &newest, keys)?;
                self.put(&sql.restore_event, args).await
            }
            RoomPart::Outcome(outcome) => {
                let json = to_json("an outcome", "", &outcome)?;
                let args = room.ids([outcome.key.as_str()]).add(vec![json]);
                self.put(&sql.restore_outcomes, args).await
            }
            RoomPart::Task(task) => {
                let id = task.id.as_str();
                // Their ids are not unique in the database: a commit may bring one twice.
                let key = room.clone().id(id);
                if self.is_there(&sql.task, key).await? {
                    return Err(invalid("a part is there twice"));
                }
                let args = room.ids([id]).add(vec![to_json("task", id, &task)?]);
                self.put(&sql.restore_tasks, args).await
            }
            RoomPart::Observation(observation) => {
                observation.validate()?;
                let id = observation.id.as_str();
                let args = room
                    .ids([id])
                    .add(vec![to_json("observation", id, &observation)?]);
                self.put(&sql.restore_observations, args).await
            }
            RoomPart::ReadMarker(marker) => {
                let args = room
                    .id(marker.channel_id.as_str())
                    .add(signed(marker.index))
                    .add(to_json("a read marker", "", &marker)?);
                self.put(&sql.restore_marker, args).await
            }
            RoomPart::Owed(owed) => {
                let args = room
                    .id(&owed.delivery_id)
                    .id(owed.channel_id.as_str())
                    .add(signed(owed.index))
                    .id(owed.event_id.as_str())
                    .add(to_json("delivery", &owed.delivery_id, &owed)?);
                self.put(&sql.restore_owed, args).await
            }
            // The checks have seen to these.
            _ => Ok(()),
        }
    }

    async fn put(&mut self, sql: &Sql, args: Args) -> Result<()> {
        match self.tx.rows(sql, args).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(self.refused(failure)),
        }
    }

    async fn is_there(&mut self, sql: &Sql, args: Args) -> Result<bool> {
        match self.tx.rows(sql, args).await {
            Ok(rows) => Ok(!rows.is_empty()),
            Err(failure) => Err(self.refused(failure)),
        }
    }

    fn refused(&self, failure: Failure) -> Error {
        match failure.violated() {
            Some(_) => invalid("a part is there twice"),
            // Nothing is kept of what was not committed.
            None => failure.into_read_error(self.doing),
        }
    }
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("room archive: {problem}"))
}
