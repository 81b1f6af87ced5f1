//! The commit: one statement for a room, one transaction for several, and what became of it.

use std::collections::BTreeSet;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use roomkit_core::model::{Participant, Room, RoomEvent, RoomId, RoomStatus};
use roomkit_core::store::{
    BindingChange, CommitBatch, CommitReceipt, ConversationStore, RoomCommit, RoomSnapshot,
    RoomUpdate, Speaker,
};
use roomkit_core::{Error, ErrorKind, Result};
use roomkit_store::to_json;
use sqlx::postgres::PgRow;
use tracing::{info, warn};

use crate::append::{appended, only_appends};
use crate::args::{Args, column, signed, unsigned};
use crate::cache::Cached;
use crate::columns;
use crate::db::{Repeat, Tries, Tx};
use crate::error::{Certainty, Doing, Failure};
use crate::store::{Inner, PostgresStore, RoomState, stamp};

/// How often a change of a room's record is made anew because the record was another.
const REREADS: u32 = 32;

#[async_trait]
impl ConversationStore for PostgresStore {
    async fn commit(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        match batch.into_single() {
            Ok(commit) => self.0.commit_one(commit).await.map(CommitReceipt::from),
            Err(batch) => self.0.commit_several(batch).await,
        }
    }

    fn is_shared(&self) -> bool {
        true
    }

    async fn close(&self) -> Result<()> {
        self.0.db.close().await;
        info!(schema = self.0.schema.name, "closed");
        Ok(())
    }
}

/// What the server answered to a commit of one room.
enum Answer {
    Done(Box<RoomState>),
    /// The room's record is another than the change was made from, or was just being changed.
    Reread,
    Refused(Error),
}

/// Where a commit stands whose answer never came.
enum Settled {
    Done(RoomSnapshot),
    /// It was not done and can no longer be: the room has this version now.
    NotDone(u64),
    Refused(Error),
}

impl Inner {
    async fn commit_one(&self, mut commit: RoomCommit) -> Result<RoomSnapshot> {
        let room = commit.room_id.clone();
        let doing = Doing::new("committing to room", room.as_str());
        let mut tries = Tries::new(self.db.patience());
        let mut rereads = 0;
        loop {
            let known = self.known(&commit).await?;
            let failure = match self.send(&commit, known.as_ref(), doing).await? {
                Ok(Answer::Done(state)) => return self.snapshot(&room, *state, known.as_ref()),
                Ok(Answer::Refused(error)) => return Err(error),
                Ok(Answer::Reread) if rereads < REREADS => {
                    rereads += 1;
                    self.cache.forget(&room);
                    continue;
                }
                Ok(Answer::Reread) => return Err(changes_all_the_time(&room)),
                Err(failure) => failure,
            };
            if failure.certainty == Certainty::NotDone {
                return Err(refusal(&commit, failure, doing));
            }
            let (Some(event), Some(_)) = (&commit.event, commit.expected_version) else {
                warn!(%room, cause = %failure, "a commit without an event has an unknown outcome");
                return Err(failure.into_error(doing));
            };
            if !tries.again(doing, &failure).await {
                return Err(failure.into_error(doing));
            }
            match self.settle(&commit, event, doing).await {
                Ok(Settled::Done(snapshot)) => return Ok(snapshot),
                Ok(Settled::NotDone(version)) => commit.expected_version = Some(version),
                Ok(Settled::Refused(error)) => return Err(error),
                Err(_) => return Err(failure.into_error(doing)),
            }
        }
    }

    async fn send(
        &self,
        commit: &RoomCommit,
        known: Option<&Cached>,
        doing: Doing<'_>,
    ) -> Result<Result<Answer, Failure>> {
        let rows = |sql, args| self.db.try_rows(doing, sql, args, Repeat::NotDone);
        if let (Some(event), Some(known)) = (only_appends(commit), known) {
            let args = self.append_args(commit, event, known)?;
            match rows(&self.sql.append, args).await {
                Ok(rows) => {
                    if let Some(row) = rows.first() {
                        let state = appended(row, commit, event, known)?;
                        return Ok(Ok(Answer::Done(Box::new(state))));
                    }
                }
                Err(failure) => return Ok(Err(failure)),
            }
            // Nothing was done. The function says why, or does what was more to do.
        }
        let args = self.commit_args(commit, known)?;
        match rows(&self.sql.commit, args).await {
            Ok(rows) => self.answer(commit, &rows).map(Ok),
            Err(failure) => Ok(Err(failure)),
        }
    }

    /// Finds out whether a commit was done whose answer never came. Where it was not, the room gets
    /// another version, so that the lost statement, should it still be on its way, changes nothing.
    async fn settle(
        &self,
        commit: &RoomCommit,
        event: &RoomEvent,
        doing: Doing<'_>,
    ) -> Result<Settled> {
        let room = &commit.room_id;
        let failed = |failure: Failure| failure.into_error(doing);
        let mut tx = self.db.begin(doing, Tx::WRITE).await?;
        let args = Args::new().id(room.as_str());
        let rows = tx
            .rows(&self.sql.lock_room, args.clone())
            .await
            .map_err(failed)?;
        let Some(row) = rows.first() else {
            tx.rollback().await;
            return Ok(Settled::Refused(Error::room_not_found(room)));
        };
        let version = unsigned(column(row, 0)?);
        let event_args = args.clone().add(signed(event.index)).id(event.id.as_str());
        let there = tx
            .rows(&self.sql.has_event, event_args)
            .await
            .map_err(failed)?;
        if !there.is_empty() {
            tx.rollback().await;
            info!(%room, event = %event.id, "a commit whose answer was lost had been done");
            let snapshot = self.room(room).await?;
            let snapshot = snapshot.ok_or_else(|| Error::room_not_found(room))?;
            return Ok(Settled::Done(snapshot));
        }
        if commit.expected_version != Some(version) {
            tx.rollback().await;
            let error = conflict(
                room,
                format!("version is {version} and not the expected one"),
            );
            return Ok(Settled::Refused(error));
        }
        tx.rows(&self.sql.fence_room, args).await.map_err(failed)?;
        tx.commit().await.map_err(failed)?;
        Ok(Settled::NotDone(version.saturating_add(1)))
    }

    /// Rooms are locked in the order of their ids, so that two batches never wait for one another.
    async fn commit_several(&self, batch: CommitBatch) -> Result<CommitReceipt> {
        let mut rooms = BTreeSet::new();
        if let Some(twice) = batch.iter().find(|commit| !rooms.insert(&commit.room_id)) {
            let problem = format!("room {} is twice in one batch", twice.room_id);
            return Err(Error::new(ErrorKind::StoreFailed, problem));
        }
        let names: Vec<&str> = rooms.iter().map(|room| room.as_str()).collect();
        let names = names.join(", ");
        let doing = Doing::new("committing to rooms", &names);
        let mut tries = Tries::new(self.db.patience());
        loop {
            let mut tx = self.db.begin(doing, Tx::WRITE).await?;
            let failure = match self.apply_several(&batch, &mut tx).await {
                Ok(Ok(snapshots)) => match tx.commit().await {
                    Ok(()) => return CommitReceipt::of(snapshots),
                    Err(failure) => return Err(failure.into_error(doing)),
                },
                Ok(Err(error)) => {
                    tx.rollback().await;
                    return Err(error);
                }
                // Nothing was committed, whatever became of the connection.
                Err(failure) => failure,
            };
            drop(tx);
            let may = failure.lost || failure.gave_way();
            if !may || !tries.again(doing, &failure).await {
                return Err(failure.into_read_error(doing));
            }
        }
    }

    /// The parts in the order of their rooms; the first refusal in the order of the batch.
    async fn apply_several(
        &self,
        batch: &CommitBatch,
        tx: &mut Tx,
    ) -> Result<Result<Vec<RoomSnapshot>>, Failure> {
        let mut parts: Vec<(usize, &RoomCommit)> = batch.iter().enumerate().collect();
        parts.sort_by(|(_, a), (_, b)| a.room_id.cmp(&b.room_id));
        for (_, part) in &parts {
            let args = Args::new().id(part.room_id.as_str());
            tx.rows(&self.sql.lock_room, args).await?;
        }
        let mut snapshots = Vec::new();
        for part in batch.iter() {
            match self.apply_part(part, tx).await? {
                Ok(snapshot) => snapshots.push(snapshot),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Ok(snapshots))
    }

    async fn apply_part(
        &self,
        part: &RoomCommit,
        tx: &mut Tx,
    ) -> Result<Result<RoomSnapshot>, Failure> {
        let room = &part.room_id;
        let doing = Doing::new("committing to room", room.as_str());
        // The room is locked: what is read now still holds when it is changed.
        let mut known = self.cache.get(room);
        for _ in 0..2 {
            if known.is_none() && part.room.is_some() {
                let args = room_args(room, None);
                let rows = tx.rows(&self.sql.room, args).await?;
                let Some(row) = rows.first() else {
                    return Ok(Err(Error::room_not_found(room)));
                };
                let snapshot =
                    RoomState::read(row, 0).and_then(|state| self.snapshot(room, state, None));
                if let Err(error) = snapshot {
                    return Ok(Err(error));
                }
                known = self.cache.get(room);
            }
            let args = match self.commit_args(part, known.as_ref()) {
                Ok(args) => args,
                Err(error) => return Ok(Err(error)),
            };
            let rows = match tx.rows(&self.sql.commit, args).await {
                Ok(rows) => rows,
                Err(failure) if failure.lost || failure.gave_way() => return Err(failure),
                Err(failure) => return Ok(Err(refusal(part, failure, doing))),
            };
            match self.answer(part, &rows) {
                Ok(Answer::Done(state)) => return Ok(self.snapshot(room, *state, known.as_ref())),
                Ok(Answer::Refused(error)) | Err(error) => return Ok(Err(error)),
                Ok(Answer::Reread) => {
                    self.cache.forget(room);
                    known = None;
                }
            }
        }
        Ok(Err(changes_all_the_time(room)))
    }

    /// What is known of the room; where its record is to be changed it is read if need be.
    async fn known(&self, commit: &RoomCommit) -> Result<Option<Cached>> {
        let known = self.cache.get(&commit.room_id);
        if known.is_some() || commit.room.is_none() {
            return Ok(known);
        }
        self.room(&commit.room_id).await?;
        Ok(self.cache.get(&commit.room_id))
    }

    fn answer(&self, commit: &RoomCommit, rows: &[PgRow]) -> Result<Answer> {
        let room = &commit.room_id;
        let row = rows.first().ok_or_else(|| {
            let problem = format!("committing to room {room} was answered by nothing");
            Error::new(ErrorKind::StoreFailed, problem)
        })?;
        let version = || column::<i64>(row, 1);
        Ok(match column::<i32>(row, 0)? {
            0 => Answer::Done(Box::new(RoomState::read(row, 1)?)),
            1 => Answer::Refused(Error::room_not_found(room)),
            2 => Answer::Refused(Error::new(
                ErrorKind::StaleFencingToken,
                format!("room {room}: a newer holder of its lock has committed"),
            )),
            3 => {
                let expected = commit.expected_version.unwrap_or_default();
                let problem = format!("version is {}, not {expected}", version()?);
                Answer::Refused(conflict(room, problem))
            }
            4 => {
                let next = column::<Option<i64>>(row, 2)?.map_or(0, |index| index + 1);
                let index = commit.event.as_ref().map_or(0, |event| event.index);
                Answer::Refused(conflict(room, format!("next index is {next}, not {index}")))
            }
            _ => Answer::Reread,
        })
    }

    fn commit_args(&self, commit: &RoomCommit, known: Option<&Cached>) -> Result<Args> {
        let changes = commit.event.is_some()
            || commit.edited.is_some()
            || commit.room.is_some()
            || !commit.bindings.is_empty();
        let args = Args::new()
            .id(commit.room_id.as_str())
            .add(commit.expected_version.map(signed))
            .add(commit.fencing.map(|token| signed(token.0)))
            .add(commit.at.timestamp_micros())
            .add(changes)
            .add(stamp())
            .add(known.map(|known| known.data_stamp))
            .add(known.map(|known| known.bindings_stamp));
        let args = room_columns(args, commit, known)?;
        let mut args = args;
        for event in [&commit.event, &commit.edited] {
            args = match event {
                Some(event) => columns::event(args, event, self.keys.as_ref())?,
                None => columns::no_event(args),
            };
        }
        let args = columns::outcome(args, commit)?;
        let args = binding_columns(args, &commit.bindings)?;
        let args = participant_columns(args, &commit.participants)?;
        let args = speaker_columns(args, commit.speaker.as_ref(), &commit.room_id, commit.at)?;
        let tasks = commit.tasks.iter().map(|task| {
            let id = task.id.as_str();
            Ok((id, to_json("task", id, task)?))
        });
        let args = records(args, tasks.collect::<Result<Vec<_>>>()?);
        let observations = commit.observations.iter().map(|observation| {
            let id = observation.id.as_str();
            observation.validate()?;
            Ok((id, to_json("observation", id, observation)?))
        });
        let args = records(args, observations.collect::<Result<Vec<_>>>()?);
        owed_columns(args, commit)
    }
}

/// What is told to the server of a room that is asked for.
pub(crate) fn room_args(room: &RoomId, known: Option<&Cached>) -> Args {
    Args::new()
        .id(room.as_str())
        .add(known.map(|known| known.data_stamp))
        .add(known.map(|known| known.bindings_stamp))
}

fn conflict(room: &RoomId, problem: String) -> Error {
    Error::new(
        ErrorKind::VersionConflict,
        format!("room {room}: {problem}"),
    )
}

fn changes_all_the_time(room: &RoomId) -> Error {
    let problem = format!("room {room} is changed all the time by others");
    Error::new(ErrorKind::StoreFailed, problem).retryable(true)
}

/// The error of a statement that the server refused.
fn refusal(commit: &RoomCommit, failure: Failure, doing: Doing<'_>) -> Error {
    let room = &commit.room_id;
    if failure.state() == "RK001" {
        let id = commit
            .edited
            .as_ref()
            .map_or("", |edited| edited.id.as_str());
        let problem = format!("room {room}: no event {id} to edit");
        return Error::new(ErrorKind::EventNotFound, problem);
    }
    match failure.violated() {
        Some("outcomes_pkey") => conflict(room, "its idempotency key is taken".to_owned()),
        Some("events_pkey" | "events_id_key") => {
            let id = commit.event.as_ref().map_or("", |event| event.id.as_str());
            conflict(room, format!("event {id} is there already"))
        }
        Some(_) => conflict(room, "another process wrote the same".to_owned()),
        None => failure.into_error(doing),
    }
}

/// The columns of a change of the room's record; the change is made here, from what is known of it.
fn room_columns(args: Args, commit: &RoomCommit, known: Option<&Cached>) -> Result<Args> {
    let mut activity = commit.event.as_ref().map(|_| Some(commit.at));
    let mut data = None;
    let mut status = None;
    if let Some(update) = &commit.room {
        if let Some(timers) = &update.timers {
            activity = Some(timers.last_activity_at);
        }
        status = update.status;
        // Where nothing is known the room is not there, which the server will say.
        data = match known {
            Some(known) => {
                let mut room = (*known.room).clone();
                change_room(&mut room, update, commit.at);
                Some(columns::room(&room)?)
            }
            None => Some(String::new()),
        };
    }
    Ok(args
        .add(data)
        .add(status.map(RoomStatus::as_str))
        .add(status.map(RoomStatus::accepts_events))
        .add(activity.is_some())
        .add(activity.flatten().map(|time| time.timestamp_micros())))
}

fn change_room(room: &mut Room, update: &RoomUpdate, at: DateTime<Utc>) {
    if let Some(status) = update.status {
        room.status = status;
        room.closed_at = match status {
            RoomStatus::Closed | RoomStatus::Archived => room.closed_at.or(Some(at)),
            RoomStatus::Active => None,
            _ => room.closed_at,
        };
    }
    if let Some(timers) = &update.timers {
        room.timers = timers.clone();
    }
    if let Some(policy) = update.agent_response_policy {
        room.agent_response_policy = policy;
    }
    room.metadata.merge(&update.merge_metadata);
}

fn binding_columns(args: Args, changes: &[BindingChange]) -> Result<Args> {
    if changes.is_empty() {
        return Ok(args.add(None::<Vec<String>>).add(None::<Vec<String>>));
    }
    let mut channels = Vec::new();
    let mut data: Vec<Option<String>> = Vec::new();
    for change in changes {
        match change {
            BindingChange::Put(binding) => {
                channels.push(binding.channel_id.as_str());
                data.push(Some(columns::binding_json(binding)?));
            }
            BindingChange::Detach(channel) => {
                channels.push(channel.as_str());
                data.push(None);
            }
        }
    }
    Ok(args.ids(channels).add(data))
}

fn participant_columns(args: Args, participants: &[Participant]) -> Result<Args> {
    if participants.is_empty() {
        let none = None::<Vec<String>>;
        return Ok(args
            .add(none.clone())
            .add(none.clone())
            .add(none)
            .add(None::<Vec<i64>>));
    }
    let json = participants.iter().map(columns::participant_json);
    let json: Vec<String> = json.collect::<Result<_>>()?;
    let via = participants
        .iter()
        .zip(1..)
        .flat_map(|(participant, number)| {
            let channels = participant.connected_via.iter();
            channels.map(move |channel| (channel.as_str(), number))
        });
    let (via, of): (Vec<&str>, Vec<i64>) = via.unzip();
    let ids = participants
        .iter()
        .map(|participant| participant.id.as_str());
    Ok(args.ids(ids).add(json).ids(via).add(of))
}

fn speaker_columns(
    args: Args,
    speaker: Option<&Speaker>,
    room: &RoomId,
    at: DateTime<Utc>,
) -> Result<Args> {
    let Some(speaker) = speaker else {
        let none = None::<&str>;
        return Ok(args.add(none).add(none).add(none).add(none).add(none));
    };
    let participant = Participant::new(
        speaker.participant_id.clone(),
        room.clone(),
        speaker.channel_id.clone(),
        at,
    );
    let json = columns::participant_json(&participant)?;
    Ok(args
        .id(&speaker.channel_type.to_string())
        .id(speaker.sender_id.as_str())
        .id(speaker.channel_id.as_str())
        .id(speaker.participant_id.as_str())
        .add(json))
}

/// Records by their ids and JSON.
fn records(args: Args, records: Vec<(&str, String)>) -> Args {
    if records.is_empty() {
        return args.add(None::<Vec<String>>).add(None::<Vec<String>>);
    }
    let (ids, json): (Vec<&str>, Vec<String>) = records.into_iter().unzip();
    args.ids(ids).add(json)
}

fn owed_columns(args: Args, commit: &RoomCommit) -> Result<Args> {
    let owed = &commit.owed;
    if owed.is_empty() {
        let none = None::<Vec<String>>;
        let args = args
            .add(none.clone())
            .add(none.clone())
            .add(None::<Vec<i64>>);
        return Ok(args.add(none.clone()).add(none));
    }
    let json = owed
        .iter()
        .map(|owed| to_json("delivery", &owed.delivery_id, owed));
    let json: Vec<String> = json.collect::<Result<_>>()?;
    let indexes: Vec<i64> = owed.iter().map(|owed| signed(owed.index)).collect();
    Ok(args
        .ids(owed.iter().map(|owed| owed.delivery_id.as_str()))
        .ids(owed.iter().map(|owed| owed.channel_id.as_str()))
        .add(indexes)
        .ids(owed.iter().map(|owed| owed.event_id.as_str()))
        .add(json))
}
