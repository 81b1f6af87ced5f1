//! A room's life: paused, resumed, closed, opened again, archived, by hand (RFC §5.1).

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::rooms::update;
use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{OnRoomClosed, OnRoomPaused};
use crate::model::{EventType, FrameworkEventType, Metadata, Room, RoomId, RoomStatus, RoomTimers};
use crate::pipeline::{Scope, system_event};
use crate::store::{RoomSnapshot, RoomUpdate};

/// What is asked of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Pause,
    Resume,
    Close,
    Reopen,
    Archive,
}

impl Change {
    /// The status to which it takes a room of `status`; nothing where it is there already.
    fn from(self, status: RoomStatus, room: &RoomId) -> Result<Option<RoomStatus>> {
        use RoomStatus::{Active, Archived, Closed, Paused};
        let to = match (self, status) {
            (Self::Pause, Active) => Paused,
            (Self::Resume, Paused) | (Self::Reopen, Closed) => Active,
            (Self::Close, Active | Paused) => Closed,
            (Self::Archive, Active | Paused | Closed) => Archived,
            (Self::Pause, Paused)
            | (Self::Resume, Active)
            | (Self::Close, Closed | Archived)
            | (Self::Reopen, Active | Paused)
            | (Self::Archive, Archived) => return Ok(None),
            (Self::Pause, Closed | Archived) => {
                let problem = format!("room {room} is {status} and cannot be paused");
                return Err(Error::new(ErrorKind::RoomClosed, problem));
            }
            (Self::Resume, Closed) => {
                let problem = format!("room {room} is closed; reopen_room opens it again");
                return Err(Error::new(ErrorKind::RoomClosed, problem));
            }
            (Self::Resume | Self::Reopen, Archived) => {
                let problem = format!("room {room} is archived for good");
                return Err(Error::new(ErrorKind::RoomClosed, problem));
            }
        };
        Ok(Some(to))
    }
}

impl Rooms {
    /// Pauses a room, as its timers do when it is quiet. The next message makes it active again;
    /// an event that a hook or the framework injects does not. Pausing a paused room changes nothing.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`RoomClosed`](ErrorKind::RoomClosed) where it is
    /// closed or archived.
    pub async fn pause_room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        self.change_status(room.into(), Change::Pause).await
    }

    /// Makes a paused room active again; the time until it is paused for being quiet starts over.
    /// Resuming an active room changes nothing.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`RoomClosed`](ErrorKind::RoomClosed) where it is
    /// closed or archived.
    pub async fn resume_room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        self.change_status(room.into(), Change::Resume).await
    }

    /// Closes a room: it refuses every event from now on, and can still be read. Closing a closed
    /// or archived room changes nothing.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn close_room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        self.change_status(room.into(), Change::Close).await
    }

    /// Opens a closed room again: it is active, and its timers start over. Reopening an open room
    /// changes nothing.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`RoomClosed`](ErrorKind::RoomClosed) where it is
    /// archived, which is for good.
    pub async fn reopen_room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        self.change_status(room.into(), Change::Reopen).await
    }

    /// Archives a room, at whatever status: it is kept for reading and never opened again. A room
    /// that was open is not closed first, so hooks of `ON_ROOM_CLOSED` do not run for it. Archiving
    /// an archived room changes nothing.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn archive_room(&self, room: impl Into<RoomId>) -> Result<Arc<Room>> {
        self.change_status(room.into(), Change::Archive).await
    }

    /// Sets when a room pauses and closes by itself. The time for which it has been quiet or paused
    /// still counts; a room that has had no event is quiet from now on. What `timers` says of
    /// [`last_activity_at`](RoomTimers::last_activity_at) is taken where it is set, and of
    /// [`paused_at`](RoomTimers::paused_at) is ignored.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`InvalidInput`](ErrorKind::InvalidInput) where a
    /// time is 0.
    pub async fn set_room_timers(
        &self,
        room: impl Into<RoomId>,
        timers: RoomTimers,
    ) -> Result<Arc<Room>> {
        timers
            .validate()
            .map_err(|problem| problem.within("timers"))?;
        let room = room.into();
        self.to_end(|inner, scope| async move {
            let changed = update(&inner, &scope, room, |snapshot| {
                let mut timers = timers.clone();
                let known = &snapshot.room.timers;
                let activity = timers.last_activity_at.or(known.last_activity_at);
                timers.last_activity_at = Some(activity.unwrap_or_else(|| inner.clock.now()));
                timers.paused_at = known.paused_at;
                Ok(Some(RoomUpdate {
                    timers: Some(timers),
                    ..RoomUpdate::default()
                }))
            });
            let room = changed.await?.room;
            inner.timers.note(&inner, &room);
            Ok(room)
        })
        .await
    }

    async fn change_status(&self, room: RoomId, change: Change) -> Result<Arc<Room>> {
        self.to_end(|inner, scope| async move { to_status(&inner, &scope, room, change).await })
            .await
    }
}

async fn to_status(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: RoomId,
    change: Change,
) -> Result<Arc<Room>> {
    let mut reached = None;
    let snapshot = update(inner, scope, room, |snapshot| {
        reached = change.from(snapshot.room.status, &snapshot.room.id)?;
        Ok(reached.map(|status| status_update(&snapshot.room, status, inner.clock.now())))
    })
    .await?;
    if let Some(status) = reached {
        tracing::info!(room_id = %snapshot.room.id, %status, "room changed its status");
        inner.load_hooks(&snapshot.room).await;
        inner.timers.note(inner, &snapshot.room);
        match (change, status) {
            (Change::Reopen, _) => tell(inner, &snapshot, FrameworkEventType::RoomReopened, None),
            _ => announce(inner, &snapshot, status, None),
        }
    }
    Ok(snapshot.room)
}

/// The change of a room that takes it to another status.
pub(super) fn status_update(room: &Room, status: RoomStatus, now: DateTime<Utc>) -> RoomUpdate {
    let mut timers = room.timers.clone();
    match status {
        RoomStatus::Paused => timers.paused_at = Some(now),
        // Else it would be paused again at once, for having been quiet before.
        RoomStatus::Active => timers.last_activity_at = Some(now),
        RoomStatus::Closed | RoomStatus::Archived => {}
    }
    RoomUpdate {
        status: Some(status),
        timers: (timers != room.timers).then_some(timers),
        ..RoomUpdate::default()
    }
}

/// A transition that a timer made.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByTimer {
    /// For how long the room had been quiet or paused, in seconds.
    pub(super) elapsed: u64,
    /// After how long that is due, in seconds.
    pub(super) threshold: u64,
}

/// Tells of a status that a room has come to: hooks first, then listeners.
pub(super) fn announce(
    inner: &Arc<Inner>,
    room: &RoomSnapshot,
    status: RoomStatus,
    timer: Option<ByTimer>,
) {
    let id = &room.room.id;
    let (word, notice) = match status {
        // Nothing in the specification is told of a room that goes on.
        RoomStatus::Active => return,
        RoomStatus::Paused => ("paused", FrameworkEventType::RoomPaused),
        RoomStatus::Closed => ("closed", FrameworkEventType::RoomClosed),
        RoomStatus::Archived => ("archived", FrameworkEventType::RoomArchived),
    };
    let mut data = Metadata::new();
    data.insert("room_id", id.as_str());
    let mut code = format!("room_{word}");
    if let Some(ByTimer { elapsed, threshold }) = timer {
        code.push_str("_by_timer");
        data.insert("elapsed_seconds", elapsed);
        data.insert("threshold_seconds", threshold);
    }
    let body = format!("Room {id} {word}");
    let at = inner.clock.now();
    let event = Arc::new(system_event(id, EventType::System, &code, body, data, at));
    let context = inner.context(room.clone());
    match status {
        RoomStatus::Paused => inner.observe::<OnRoomPaused>(&context, &event),
        RoomStatus::Closed => inner.observe::<OnRoomClosed>(&context, &event),
        RoomStatus::Active | RoomStatus::Archived => {}
    }
    tell(inner, room, notice, timer);
}

fn tell(inner: &Inner, room: &RoomSnapshot, notice: FrameworkEventType, timer: Option<ByTimer>) {
    inner.emit(notice, |event| {
        event.room_id = Some(room.room.id.clone());
        event.data.insert("room_id", room.room.id.as_str());
        if timer.is_some() {
            event.data.insert("reason", "timer");
        }
    });
}
