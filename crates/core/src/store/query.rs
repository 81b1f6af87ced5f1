//! What is asked of a store, and a room as it answers.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::model::{
    ChannelBinding, ChannelId, EventFilter, Metadata, OrganizationId, Room, RoomEvent, RoomStatus,
};

/// A room, its version and its bindings, read in one piece.
#[derive(Debug, Clone, PartialEq)]
pub struct RoomSnapshot {
    /// The room.
    pub room: Arc<Room>,
    /// A number that grows with every commit to the room; what a commit compares and sets.
    pub version: u64,
    /// The attached channels, in the order in which they were attached.
    pub bindings: Arc<[Arc<ChannelBinding>]>,
    /// The channels that were detached and not attached again since (RFC §7.5 rule 7).
    pub detached: Arc<BTreeSet<ChannelId>>,
}

impl RoomSnapshot {
    /// The binding of one channel.
    #[must_use]
    pub fn binding(&self, channel: &ChannelId) -> Option<&Arc<ChannelBinding>> {
        self.bindings
            .iter()
            .find(|binding| binding.channel_id == *channel)
    }
}

/// A part of a long list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// How many entries are skipped.
    pub offset: usize,
    /// How many entries are returned at most.
    pub limit: usize,
}

impl Page {
    /// The first `limit` entries.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }
}

/// Which rooms are asked for; every condition that is set must hold.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct RoomFilter {
    /// Rooms of this organisation.
    pub organization_id: Option<OrganizationId>,
    /// Rooms with one of these statuses; empty means any.
    pub statuses: Vec<RoomStatus>,
    /// Rooms whose metadata has these entries.
    pub metadata: Metadata,
}

impl RoomFilter {
    /// Whether a room meets every condition.
    #[must_use]
    pub fn matches(&self, room: &Room) -> bool {
        self.organization_id
            .as_ref()
            .is_none_or(|id| room.organization_id.as_ref() == Some(id))
            && (self.statuses.is_empty() || self.statuses.contains(&room.status))
            && self
                .metadata
                .iter()
                .all(|(key, value)| room.metadata.get(key) == Some(value))
    }
}

/// Which events of a room are asked for; they come in index order whichever end they are taken from.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EventQuery {
    /// Only events with a greater index.
    pub after: Option<u64>,
    /// Only events with a smaller index.
    pub before: Option<u64>,
    /// Further conditions.
    pub filter: Option<Box<EventFilter>>,
    /// How many matching events are skipped, from the end that they are taken from.
    pub offset: usize,
    /// How many events are returned at most.
    pub limit: usize,
    /// Whether they are taken from the newest end.
    pub from_end: bool,
}

impl EventQuery {
    /// The oldest `limit` events.
    #[must_use]
    pub fn first(limit: usize) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// The newest `limit` events.
    #[must_use]
    pub fn last(limit: usize) -> Self {
        Self {
            limit,
            from_end: true,
            ..Self::default()
        }
    }

    /// Only events after this index.
    #[must_use]
    pub fn after(mut self, index: u64) -> Self {
        self.after = Some(index);
        self
    }

    /// Only events before this index.
    #[must_use]
    pub fn before(mut self, index: u64) -> Self {
        self.before = Some(index);
        self
    }

    pub(crate) fn before_opt(mut self, index: Option<u64>) -> Self {
        self.before = index;
        self
    }

    /// Skips the first `offset` matching events.
    #[must_use]
    pub fn offset(mut self, offset: usize) -> Self {
        self.offset = offset;
        self
    }

    /// Only events that pass `filter`.
    #[must_use]
    pub fn filter(mut self, filter: EventFilter) -> Self {
        self.filter = Some(Box::new(filter));
        self
    }

    /// Whether an event is in the range and passes the filter.
    #[must_use]
    pub fn matches(&self, event: &RoomEvent) -> bool {
        self.after.is_none_or(|after| event.index > after)
            && self.before.is_none_or(|before| event.index < before)
            && self
                .filter
                .as_ref()
                .is_none_or(|filter| filter.matches(event))
    }
}
