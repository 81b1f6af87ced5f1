//! Whole rooms, part by part: what moves a room from one store to any other.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use serde::{Deserialize, Serialize};

use super::{IdempotentOutcome, OwedDelivery, RoomSnapshot};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelBinding, ChannelId, ChannelType, Observation, Participant, ParticipantId, ReadMarker,
    Room, RoomEvent, RoomId, Task,
};

/// A piece of a room, as [`ArchiveStore::dump`] gives it and [`ArchiveStore::restore`] takes it.
///
/// [`Room`](Self::Room) comes first and [`End`](Self::End) last; between them the kinds follow in the
/// order in which they are listed here. Bindings, participants, tasks and observations are in the
/// order in which they came, events in that of their indexes; senders, outcomes, read markers and
/// deliveries by their keys, as bytes. So two stores that hold the same room dump the same parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "part", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RoomPart {
    /// The room itself.
    Room(Box<RoomHead>),
    /// A channel that is attached.
    Binding(Arc<ChannelBinding>),
    /// Someone in the room.
    Participant(Participant),
    /// A sender who has spoken over a type of channel, which routes their next message.
    Sender {
        /// The type of channel.
        channel_type: ChannelType,
        /// The sender's id on it.
        sender_id: ParticipantId,
    },
    /// Every version of one event, the oldest first.
    Event(Vec<Arc<RoomEvent>>),
    /// What a repeat of an idempotency key is answered with.
    Outcome(IdempotentOutcome),
    /// A task.
    Task(Task),
    /// An observation.
    Observation(Observation),
    /// How far a channel has read.
    ReadMarker(ReadMarker),
    /// A delivery that is still to be made.
    Owed(OwedDelivery),
    /// The end; without it something is missing.
    End {
        /// How many parts came before.
        parts: u64,
    },
}

/// A room and what a store keeps beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoomHead {
    /// The room, its counters included.
    pub room: Room,
    /// Its version.
    pub version: u64,
    /// The channels that were detached and not attached again since.
    #[serde(default)]
    pub detached: BTreeSet<ChannelId>,
}

/// Rooms as a whole: how they leave a store and enter another.
#[async_trait]
pub trait ArchiveStore: Send + Sync {
    /// Everything that a room holds, as it was at one moment; nothing where there is no such room.
    ///
    /// `raw_payload` is as it was received, whatever the store encrypts.
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>>;

    /// Makes a room of its parts, whole or not at all. The parts need not lie in memory at once.
    ///
    /// # Errors
    /// - [`RoomAlreadyExists`](ErrorKind::RoomAlreadyExists): the id is in use.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the parts make no room; see [`checked`].
    /// - The first error among the parts.
    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot>;
}

/// The same parts, with an error where they make no room: a wrong order, a part of another room,
/// an index twice or beyond the room's counters, or an end that is missing or does not fit.
pub fn checked(parts: BoxStream<'_, Result<RoomPart>>) -> BoxStream<'_, Result<RoomPart>> {
    unfold(Some((parts, Check::default())), next_checked).boxed()
}

type Checking<'a> = (BoxStream<'a, Result<RoomPart>>, Check);

async fn next_checked(
    state: Option<Checking<'_>>,
) -> Option<(Result<RoomPart>, Option<Checking<'_>>)> {
    let (mut parts, mut check) = state?;
    let part = match parts.next().await {
        Some(part) => part.and_then(|part| check.take(&part).map(|()| part)),
        None if check.ended => return None,
        None => Err(invalid("the end is missing")),
    };
    let next = part.is_ok().then_some((parts, check));
    Some((part, next))
}

/// What has come so far.
#[derive(Default)]
struct Check {
    room: Option<RoomId>,
    parts: u64,
    next_index: u64,
    event_count: u64,
    /// One more than the highest index.
    indexes: u64,
    ended: bool,
}

impl Check {
    fn take(&mut self, part: &RoomPart) -> Result<()> {
        if self.ended {
            return Err(invalid("something follows the end"));
        }
        let Some(room) = &self.room else {
            let RoomPart::Room(head) = part else {
                return Err(invalid("the room is not the first part"));
            };
            return self.begin(head);
        };
        let owner = match part {
            RoomPart::Room(_) => return Err(invalid("there are two rooms")),
            RoomPart::End { parts } if *parts != self.parts => {
                let problem = format!("{} parts came, {parts} were written", self.parts);
                return Err(invalid(&problem));
            }
            RoomPart::End { .. } => {
                self.ended = true;
                return Ok(());
            }
            RoomPart::Event(versions) => {
                return self.event(versions);
            }
            RoomPart::Sender { .. } | RoomPart::Outcome(_) => room,
            RoomPart::Binding(binding) => &binding.room_id,
            RoomPart::Participant(participant) => &participant.room_id,
            RoomPart::Task(task) => &task.room_id,
            RoomPart::Observation(observation) => &observation.room_id,
            RoomPart::ReadMarker(marker) => &marker.room_id,
            RoomPart::Owed(owed) => &owed.room_id,
        };
        if owner != room {
            return Err(invalid("a part belongs to another room"));
        }
        self.parts += 1;
        Ok(())
    }

    fn begin(&mut self, head: &RoomHead) -> Result<()> {
        let room = &head.room;
        room.validate()?;
        self.indexes = room.next_index();
        if room.event_count > self.indexes {
            return Err(invalid("event_count: is more than there are indexes"));
        }
        self.room = Some(room.id.clone());
        self.event_count = room.event_count;
        self.parts = 1;
        Ok(())
    }

    fn event(&mut self, versions: &[Arc<RoomEvent>]) -> Result<()> {
        let Some(newest) = versions.last() else {
            return Err(invalid("an event has no version"));
        };
        let same = |event: &Arc<RoomEvent>| {
            event.id == newest.id
                && event.index == newest.index
                && Some(&event.room_id) == self.room.as_ref()
        };
        if !versions.iter().all(same) {
            return Err(invalid(
                "the versions of an event differ in id, index or room",
            ));
        }
        if newest.index < self.next_index || newest.index >= self.indexes {
            let problem = format!("index {} is out of order or too high", newest.index);
            return Err(invalid(&problem));
        }
        self.next_index = newest.index + 1;
        let Some(left) = self.event_count.checked_sub(1) else {
            return Err(invalid("there are more events than event_count"));
        };
        self.event_count = left;
        self.parts += 1;
        Ok(())
    }
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("room archive: {problem}"))
}
