//! The commit: everything that must become true at once, in one call (RFC §10.1 step 12, §14.3).

use std::iter;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    AgentResponsePolicy, ChannelBinding, ChannelId, ChannelType, EventId, Metadata, Observation,
    Participant, ParticipantId, RoomEvent, RoomId, RoomStatus, RoomTimers, Task,
};
use crate::store::RoomSnapshot;
use crate::sync::FencingToken;

/// What a store makes true at once, or not at all, for one or more rooms.
///
/// It is never empty. A store may join the batches of several callers into one transaction, but
/// each room's part succeeds or fails on its own version.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitBatch {
    first: RoomCommit,
    more: Vec<RoomCommit>,
}

impl CommitBatch {
    /// Adds the part of another room; a batch with two parts of one room is refused.
    #[must_use]
    pub fn and(mut self, commit: RoomCommit) -> Self {
        self.more.push(commit);
        self
    }

    /// The part, where there is only one.
    ///
    /// # Errors
    /// The batch itself, where it has several.
    #[expect(
        clippy::result_large_err,
        reason = "the batch is given back, not an error"
    )]
    pub fn into_single(self) -> Result<RoomCommit, Self> {
        if self.more.is_empty() {
            Ok(self.first)
        } else {
            Err(self)
        }
    }

    /// The parts, in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = &RoomCommit> {
        iter::once(&self.first).chain(&self.more)
    }
}

impl From<RoomCommit> for CommitBatch {
    fn from(first: RoomCommit) -> Self {
        Self {
            first,
            more: Vec::new(),
        }
    }
}

impl IntoIterator for CommitBatch {
    type Item = RoomCommit;
    type IntoIter = iter::Chain<iter::Once<RoomCommit>, std::vec::IntoIter<RoomCommit>>;

    fn into_iter(self) -> Self::IntoIter {
        iter::once(self.first).chain(self.more)
    }
}

/// The part of a commit that belongs to one room. Everything in it holds, or nothing.
///
/// With an event the store also sets the room's counters, its time of last activity and its version.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RoomCommit {
    /// The room.
    pub room_id: RoomId,
    /// The version that the room must have; `None` only for what commutes: side effects and metadata.
    pub expected_version: Option<u64>,
    /// The token of the lock under which this was decided; a store refuses one older than it has seen.
    pub fencing: Option<FencingToken>,
    /// When it was decided; becomes the room's `updated_at`.
    pub at: DateTime<Utc>,
    /// The event to append; its index must be the room's next.
    pub event: Option<Arc<RoomEvent>>,
    /// The new version of an event that is already there, with the same id and index.
    pub edited: Option<Arc<RoomEvent>>,
    /// Who spoke, so that the room knows them from now on.
    pub speaker: Option<Speaker>,
    /// The key under which a repeat finds this outcome.
    pub idempotency: Option<IdempotentOutcome>,
    /// Changes of the room itself.
    pub room: Option<Box<RoomUpdate>>,
    /// Changes of its bindings.
    pub bindings: Vec<BindingChange>,
    /// Participants to create or replace.
    pub participants: Vec<Participant>,
    /// Tasks to create.
    pub tasks: Vec<Task>,
    /// Observations to record.
    pub observations: Vec<Observation>,
    /// Deliveries, and answers of agents, that are owed from now on.
    pub owed: Vec<OwedDelivery>,
}

impl RoomCommit {
    /// A commit to a room at `version` that changes nothing yet.
    #[must_use]
    pub fn new(room_id: RoomId, version: Option<u64>, at: DateTime<Utc>) -> Self {
        Self {
            room_id,
            expected_version: version,
            fencing: None,
            at,
            event: None,
            edited: None,
            speaker: None,
            idempotency: None,
            room: None,
            bindings: Vec::new(),
            participants: Vec::new(),
            tasks: Vec::new(),
            observations: Vec::new(),
            owed: Vec::new(),
        }
    }

    /// Whether it would change nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.event.is_none()
            && self.edited.is_none()
            && self.speaker.is_none()
            && self.idempotency.is_none()
            && self.room.is_none()
            && self.bindings.is_empty()
            && self.participants.is_empty()
            && self.tasks.is_empty()
            && self.observations.is_empty()
            && self.owed.is_empty()
    }
}

/// Somebody who spoke in a room over a channel (RFC §5.5).
///
/// A store creates the participant when the room has none with this id, else adds the channel to
/// its `connected_via`. It remembers that this sender spoke over this type of channel.
#[derive(Debug, Clone, PartialEq)]
pub struct Speaker {
    /// The participant.
    pub participant_id: ParticipantId,
    /// The sender's id on the channel; differs from the participant where identity was resolved.
    pub sender_id: ParticipantId,
    /// The channel.
    pub channel_id: ChannelId,
    /// The channel's type.
    pub channel_type: ChannelType,
}

/// What a repeat of an idempotency key is answered with (RFC §13.4).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IdempotentOutcome {
    /// The key.
    pub key: String,
    /// The event that the first one became.
    pub event_id: EventId,
    /// Whether it was blocked.
    pub blocked: bool,
    /// Why it was blocked.
    pub reason: Option<String>,
}

/// Changes of a room; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RoomUpdate {
    /// The new status. CLOSED and ARCHIVED set `closed_at` where it is not set; ACTIVE clears it.
    pub status: Option<RoomStatus>,
    /// The new timers, their `last_activity_at` included.
    pub timers: Option<RoomTimers>,
    /// What an agent's output asks of other agents.
    pub agent_response_policy: Option<AgentResponsePolicy>,
    /// Entries that are set in the metadata; others stay.
    pub merge_metadata: Metadata,
}

/// A change of one binding.
#[derive(Debug, Clone, PartialEq)]
pub enum BindingChange {
    /// Attaches a channel, or replaces its binding; a place in the order is kept.
    Put(Arc<ChannelBinding>),
    /// Detaches a channel and remembers that it was.
    Detach(ChannelId),
}

/// A delivery, or an agent's answer, that is still to be made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OwedDelivery {
    /// Stays the same over every attempt, so that a receiver can tell a repeat.
    pub delivery_id: String,
    /// The room.
    pub room_id: RoomId,
    /// The event.
    pub event_id: EventId,
    /// The event's index, which orders a lane.
    pub index: u64,
    /// The channel it is owed to.
    pub channel_id: ChannelId,
    /// Whether the channel is to deliver or to answer.
    pub kind: OwedKind,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last try failed; set and no longer tried once it has failed for good.
    pub last_error: Option<String>,
    /// Whether it is given up until somebody asks for it again.
    pub failed: bool,
}

impl OwedDelivery {
    /// A delivery of `event` that nobody has tried yet.
    #[must_use]
    pub fn new(event: &RoomEvent, channel_id: ChannelId, kind: OwedKind) -> Self {
        Self {
            delivery_id: format!("{}:{channel_id}", event.id),
            room_id: event.room_id.clone(),
            event_id: event.id.clone(),
            index: event.index,
            channel_id,
            kind,
            attempts: 0,
            last_error: None,
            failed: false,
        }
    }
}

/// What is owed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwedKind {
    /// A transport owes its receiver the event.
    Delivery,
    /// An agent owes the room its reaction.
    Solicitation,
}

/// What a commit left behind.
#[derive(Debug, Clone, PartialEq)]
pub struct CommitReceipt {
    first: RoomSnapshot,
    more: Vec<RoomSnapshot>,
}

impl CommitReceipt {
    /// A receipt with the rooms as they are now, in the order of the batch.
    ///
    /// # Errors
    /// [`StoreFailed`](ErrorKind::StoreFailed) without any room: a batch is never empty.
    pub fn of(rooms: impl IntoIterator<Item = RoomSnapshot>) -> Result<Self> {
        let mut rooms = rooms.into_iter();
        match rooms.next() {
            Some(first) => Ok(Self {
                first,
                more: rooms.collect(),
            }),
            None => Err(Error::new(
                ErrorKind::StoreFailed,
                "a commit changed no room",
            )),
        }
    }

    /// The rooms after the commit, in the order of the batch.
    pub fn rooms(&self) -> impl Iterator<Item = &RoomSnapshot> {
        iter::once(&self.first).chain(&self.more)
    }

    /// The first room of the batch after the commit.
    #[must_use]
    pub fn into_first(self) -> RoomSnapshot {
        self.first
    }
}

impl From<RoomSnapshot> for CommitReceipt {
    fn from(first: RoomSnapshot) -> Self {
        Self {
            first,
            more: Vec::new(),
        }
    }
}
