//! A room as hooks and channels see it: its state now, and its history as far as they may know it.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use crate::clock::Clock;
use crate::error::Result;
use crate::model::{
    ChannelBinding, ChannelId, ChannelType, Observation, Participant, ParticipantId, Room,
    RoomEvent, RoomId, Task,
};
use crate::store::{ConversationStore, EventQuery, RoomSnapshot};

/// How many stored events are looked at, at most, to find the visible ones that were asked for.
const MOST_SCANNED: usize = 2_000;

/// A room as it was when the context was made; a clone is a reference count.
///
/// A hook's context reads the whole timeline. A channel's context is bound to that channel as its
/// reader: history comes filtered by the visibility stamped on each event (RFC §7.5 rule 8).
#[derive(Clone)]
pub struct RoomContext {
    seen: Arc<Seen>,
    reader: Option<ChannelId>,
    /// The index of the last event that there is for the reader.
    until: Option<u64>,
}

/// What all contexts of one moment share.
struct Seen {
    snapshot: RoomSnapshot,
    store: Arc<dyn ConversationStore>,
    clock: Arc<dyn Clock>,
    /// The type of the channel that brought the message for which it was made.
    arrived_over: Option<ChannelType>,
}

/// The last events of a room, oldest first, and whether they are all there are.
#[derive(Debug, Clone, PartialEq)]
pub struct History {
    /// The events, in index order.
    pub events: Vec<Arc<RoomEvent>>,
    /// Whether nothing before the first event was left out for want of space.
    pub complete: bool,
}

impl RoomContext {
    pub(crate) fn new(
        snapshot: RoomSnapshot,
        store: Arc<dyn ConversationStore>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        Self {
            seen: Arc::new(Seen {
                snapshot,
                store,
                clock,
                arrived_over: None,
            }),
            reader: None,
            until: None,
        }
    }

    /// The context of a message that came over a channel of this type.
    pub(crate) fn of_arrival(
        snapshot: RoomSnapshot,
        store: Arc<dyn ConversationStore>,
        clock: Arc<dyn Clock>,
        channel_type: ChannelType,
    ) -> Self {
        Self {
            seen: Arc::new(Seen {
                snapshot,
                store,
                clock,
                arrived_over: Some(channel_type),
            }),
            reader: None,
            until: None,
        }
    }

    /// The room as it was when this was made.
    pub(crate) fn snapshot(&self) -> &RoomSnapshot {
        &self.seen.snapshot
    }

    /// Whether this is what a context made of `room` would show.
    pub(crate) fn is_of(&self, room: &RoomSnapshot) -> bool {
        // The room itself as well: one that is made anew under an old id counts from the start.
        self.seen.snapshot.version == room.version
            && Arc::ptr_eq(&self.seen.snapshot.room, &room.room)
    }

    /// The same room as `channel` may know it.
    pub(crate) fn for_reader(&self, channel: &ChannelId) -> Self {
        Self {
            seen: Arc::clone(&self.seen),
            reader: Some(channel.clone()),
            until: self.until,
        }
    }

    /// The same room with a history that ends with the event at this index.
    pub(crate) fn until(mut self, index: u64) -> Self {
        self.until = Some(index);
        self
    }

    /// The room.
    #[must_use]
    pub fn room(&self) -> &Arc<Room> {
        &self.seen.snapshot.room
    }

    /// The room's id.
    #[must_use]
    pub fn room_id(&self) -> &RoomId {
        &self.seen.snapshot.room.id
    }

    /// The channels attached to the room, in the order in which they were attached.
    #[must_use]
    pub fn bindings(&self) -> &[Arc<ChannelBinding>] {
        &self.seen.snapshot.bindings
    }

    /// The binding of one channel.
    #[must_use]
    pub fn binding(&self, channel: &ChannelId) -> Option<&Arc<ChannelBinding>> {
        self.seen.snapshot.binding(channel)
    }

    /// The type of the channel over which the message came that is being taken in, which need not be
    /// attached yet. It is there for a channel's [`handle_inbound`](crate::Channel::handle_inbound),
    /// for identity resolvers and for identity hooks; elsewhere `None`.
    #[must_use]
    pub fn arrived_over(&self) -> Option<&ChannelType> {
        self.seen.arrived_over.as_ref()
    }

    /// Every binding but that of one channel.
    pub fn other_channels(&self, except: &ChannelId) -> impl Iterator<Item = &Arc<ChannelBinding>> {
        self.bindings()
            .iter()
            .filter(move |binding| binding.channel_id != *except)
    }

    /// The bindings of channels of one type.
    pub fn channels_by_type(
        &self,
        channel_type: &ChannelType,
    ) -> impl Iterator<Item = &Arc<ChannelBinding>> {
        self.bindings()
            .iter()
            .filter(move |binding| binding.channel_type == *channel_type)
    }

    /// The people of the room.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn participants(&self) -> Result<Vec<Participant>> {
        self.seen.store.participants(self.room_id()).await
    }

    /// One person of the room.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn participant(&self, id: &ParticipantId) -> Result<Option<Participant>> {
        self.seen.store.participant(self.room_id(), id).await
    }

    /// One event of the room, if the reader of this context may see it.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn event(&self, id: &crate::model::EventId) -> Result<Option<Arc<RoomEvent>>> {
        let event = self.seen.store.event(self.room_id(), id).await?;
        Ok(event.filter(|event| self.shows(event)))
    }

    /// The last `limit` events that the reader of this context may see, oldest first.
    ///
    /// At most 2,000 stored events are looked at, however few of them are visible.
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn recent_events(&self, limit: usize) -> Result<History> {
        let before = self.until.map(|until| until.saturating_add(1));
        self.last_events(before, limit).await
    }

    /// The last `limit` events before an index that the reader of this context may see, oldest first:
    /// what an agent that is late read when an event was said. Bounded as
    /// [`recent_events`](Self::recent_events).
    ///
    /// # Errors
    /// Where the store cannot be read.
    pub async fn events_before(&self, index: u64, limit: usize) -> Result<History> {
        self.last_events(Some(index), limit).await
    }

    async fn last_events(&self, mut before: Option<u64>, limit: usize) -> Result<History> {
        let mut newest_first: Vec<Arc<RoomEvent>> = Vec::new();
        let mut scanned = 0;
        loop {
            let page = limit.saturating_sub(newest_first.len()).clamp(1, 200);
            let query = EventQuery::last(page).before_opt(before);
            let events = self.seen.store.events(self.room_id(), &query).await?;
            scanned += events.len();
            before = events.first().map(|event| event.index);
            let at_start = events.len() < page || before == Some(0);
            let found = events.into_iter().rev().filter(|event| self.shows(event));
            newest_first.extend(found);
            let cut = newest_first.len() > limit;
            newest_first.truncate(limit);
            if at_start || cut || newest_first.len() == limit || scanned >= MOST_SCANNED {
                newest_first.reverse();
                return Ok(History {
                    events: newest_first,
                    complete: at_start && !cut,
                });
            }
        }
    }

    /// Whether the reader of this context may see an event; a context without reader sees all.
    pub(crate) fn shows(&self, event: &RoomEvent) -> bool {
        if self.until.is_some_and(|until| event.index > until) {
            return false;
        }
        let Some(reader) = &self.reader else {
            return true;
        };
        if event.source.channel_id == *reader {
            return true;
        }
        if event.is_blocked() {
            return false;
        }
        self.binding(reader).is_some_and(|binding| {
            binding.can_read() && event.visibility.allows(reader, binding.category)
        })
    }

    /// The kit's clock, for channels that take their time.
    #[must_use]
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.seen.clock
    }

    /// The time of the kit's clock.
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.seen.clock.now()
    }

    /// A new task for this room.
    #[must_use]
    pub fn task(&self, title: impl Into<String>) -> Task {
        Task::new(self.room_id(), title, self.seen.clock.now())
    }

    /// A new observation about this room; the channel is this context's reader, else `system`.
    #[must_use]
    pub fn observation(
        &self,
        category: impl Into<String>,
        content: impl Into<String>,
    ) -> Observation {
        let channel = self
            .reader
            .clone()
            .unwrap_or_else(|| ChannelId::from("system"));
        Observation::new(
            self.room_id(),
            channel,
            category,
            content,
            self.seen.clock.now(),
        )
    }
}

impl std::fmt::Debug for RoomContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RoomContext")
            .field("room", self.room_id())
            .field("bindings", &self.bindings().len())
            .field("reader", &self.reader)
            .finish_non_exhaustive()
    }
}
