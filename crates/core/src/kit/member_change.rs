//! How a participant's record is changed: under the room's lock, with the event that says so.
//!
//! Its rules: RFC §5.5.

use std::sync::Arc;

use super::Inner;
use super::attach::under_lock_reading;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{EventType, Metadata, Participant, ParticipantId, RoomId};
use crate::pipeline::{Scope, announce_member, system_event};
use crate::store::{RoomCommit, RoomSnapshot, RoomUpdate};

/// What becomes of a participant's record.
pub(super) enum Change {
    /// It stays as it is, and nothing is told.
    None(Participant),
    /// It is written, and nothing is told: bookkeeping.
    Quiet(Participant),
    /// It is written, and the timeline and the hooks are told.
    Told(Participant, Told),
}

/// What the timeline is told about a participant.
pub(super) struct Told {
    pub(super) event_type: EventType,
    pub(super) code: &'static str,
    /// The rest of a sentence that begins with the participant.
    pub(super) what: &'static str,
    pub(super) data: Metadata,
}

/// The people that a change is decided on.
pub(super) struct People {
    all: Vec<Participant>,
    id: ParticipantId,
}

impl People {
    /// The participant that the change is about, if the room has them.
    pub(super) fn known(&self) -> Option<&Participant> {
        self.all.iter().find(|person| person.id == self.id)
    }

    /// The participant that the change is about.
    pub(super) fn found(&self, room: &RoomSnapshot) -> Result<Participant> {
        self.known()
            .cloned()
            .ok_or_else(|| not_found(&room.room.id, &self.id))
    }

    /// Everybody else, where the whole roster was asked for.
    pub(super) fn others(&self) -> impl Iterator<Item = &Participant> {
        self.all.iter().filter(|person| person.id != self.id)
    }
}

/// Whom of a room a change is decided on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Roster {
    /// The one that it is about.
    One,
    /// All.
    Whole,
}

pub(super) fn not_found(room: &RoomId, id: &ParticipantId) -> Error {
    let problem = format!("room {room} has no participant {id}");
    Error::new(ErrorKind::ParticipantNotFound, problem)
}

pub(super) fn check_id(id: &ParticipantId) -> Result<()> {
    not_empty("participant_id", id.as_str())
}

pub(super) fn not_empty(field: &str, text: &str) -> Result<()> {
    if text.trim().is_empty() {
        let problem = format!("{field}: must not be empty");
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    Ok(())
}

/// Changes a participant's record as `decide` says, and marks on the room what came with it.
///
/// A room that takes no new events refuses every change, so that no member comes or goes without
/// the timeline's knowledge; what stays as it is may be asked for at every status.
pub(super) async fn change(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    id: &ParticipantId,
    roster: Roster,
    mut decide: impl FnMut(&RoomSnapshot, &People) -> Result<(Change, Metadata)>,
) -> Result<Participant> {
    let read = || async {
        let all = match roster {
            Roster::One => Vec::from_iter(inner.read(inner.store.participant(room, id)).await?),
            Roster::Whole => inner.read(inner.store.participants(room)).await?,
        };
        let id = id.clone();
        Ok(People { all, id })
    };
    let decide = |snapshot: &RoomSnapshot, people: People| {
        let (change, marks) = decide(snapshot, &people)?;
        let (participant, told) = match change {
            Change::None(participant) => return Ok(((participant, None), None)),
            Change::Quiet(participant) => (participant, None),
            Change::Told(participant, told) => (participant, Some(told)),
        };
        if !snapshot.room.status.accepts_events() {
            return Err(Error::room_closed(room));
        }
        let now = inner.clock.now();
        let mut commit = RoomCommit::new(room.clone(), Some(snapshot.version), now);
        commit.participants.push(participant.clone());
        if !marks.is_empty() {
            let update: &mut RoomUpdate = commit.room.get_or_insert_default();
            update.merge_metadata = marks;
        }
        let event = told.map(|told| {
            let data = told.data.with("participant_id", id.as_str());
            let body = format!("Participant {id} {}", told.what);
            let mut event = system_event(room, told.event_type, told.code, body, data, now);
            if inner.keeps(event.event_type) {
                event.index = snapshot.room.next_index();
            }
            Arc::new(event)
        });
        commit.event = event.clone().filter(|event| inner.keeps(event.event_type));
        Ok(((participant, event), Some(commit)))
    };
    let (snapshot, (participant, event)) =
        under_lock_reading(inner, scope, room, read, decide).await?;
    if let Some(event) = event {
        inner.load_hooks(&snapshot.room).await;
        announce_member(inner, &snapshot, &event);
    }
    Ok(participant)
}
