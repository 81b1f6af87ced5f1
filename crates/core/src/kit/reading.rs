//! Reading: how far each channel has read a room, and what it has not read yet.
//!
//! Its rules: RFC §5.7, where a binding has its last index read, and §14.1.

use super::Rooms;
use crate::error::{Error, Result};
use crate::model::{ChannelId, EventId, ReadMarker, RoomEvent, RoomId};
use crate::store::{EventQuery, RoomSnapshot};

/// How many stored events are looked at, at most, to count those that are unread.
const MOST_COUNTED: usize = 2_000;

/// How many events are read at a time.
const PAGE: usize = 500;

impl Rooms {
    /// Notes that a channel has read a room up to an event. A marker only moves forward: an event
    /// before it changes nothing. Allowed at every status of the room.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::TextContent};
    /// # async fn read(kit: RoomKit) -> roomkit_core::Result<()> {
    /// let event = kit.send_event("support", "system", TextContent::new("Welcome!")).await?;
    /// kit.mark_read("support", "web", &event.id).await?;
    /// assert_eq!(kit.unread_count("support", "web").await?, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound),
    /// [`EventNotFound`](crate::ErrorKind::EventNotFound).
    pub async fn mark_read(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        event: impl Into<EventId>,
    ) -> Result<()> {
        let (room, channel, event) = (room.into(), channel.into(), event.into());
        self.attached(&room, &channel).await?;
        let index = self.event(room.clone(), event).await?.index;
        self.mark(room, channel, index).await
    }

    /// Notes that a channel has read all there is in a room.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound).
    pub async fn mark_all_read(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<()> {
        let (room, channel) = (room.into(), channel.into());
        let snapshot = self.attached(&room, &channel).await?;
        match snapshot.room.latest_index {
            Some(index) => self.mark(room, channel, index).await,
            None => Ok(()),
        }
    }

    /// How many events a channel has not read: those after its marker, or all where it has none,
    /// that it may see. What it said itself, what was deleted and what it may not know of do not
    /// count.
    ///
    /// Of a channel that is far behind, the newest 2,000 stored events are looked at.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound),
    /// [`ChannelNotFound`](crate::ErrorKind::ChannelNotFound).
    pub async fn unread_count(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
    ) -> Result<u64> {
        let (room, channel) = (room.into(), channel.into());
        let snapshot = self.attached(&room, &channel).await?;
        let inner = self.inner();
        let stored = inner.ask(inner.store.unread_count(&room, &channel)).await?;
        if stored == 0 {
            return Ok(0);
        }
        let markers = inner.ask(inner.store.read_markers(&room)).await?;
        let read = markers.iter().find(|marker| marker.channel_id == channel);
        let context = inner.context(snapshot).for_reader(&channel);
        let is_unread = |event: &RoomEvent| {
            event.source.channel_id != channel && !event.is_deleted() && context.shows(event)
        };
        let (mut unread, mut scanned, mut before) = (0, 0, None);
        while scanned < MOST_COUNTED {
            let mut query = EventQuery::last(PAGE).before_opt(before);
            query.after = read.map(|marker| marker.index);
            let events = inner.ask(inner.store.events(&room, &query)).await?;
            unread += events.iter().filter(|event| is_unread(event)).count();
            scanned += events.len();
            before = events.first().map(|event| event.index);
            if events.len() < PAGE {
                break;
            }
        }
        Ok(unread as u64)
    }

    /// How far each channel has read a room; one that has read nothing is not among them.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound).
    pub async fn read_markers(&self, room: impl Into<RoomId>) -> Result<Vec<ReadMarker>> {
        let room = room.into();
        self.inner().visible_room(&self.scope, &room).await?;
        let inner = self.inner();
        inner.ask(inner.store.read_markers(&room)).await
    }

    /// The room, to which the channel must be attached.
    async fn attached(&self, room: &RoomId, channel: &ChannelId) -> Result<RoomSnapshot> {
        let snapshot = self.inner().visible_room(&self.scope, room).await?;
        match snapshot.binding(channel) {
            Some(_) => Ok(snapshot),
            None => Err(Error::not_attached(channel, room)),
        }
    }

    async fn mark(&self, room_id: RoomId, channel_id: ChannelId, index: u64) -> Result<()> {
        let inner = self.inner();
        let read_at = inner.clock.now();
        let marker = ReadMarker {
            room_id,
            channel_id,
            index,
            read_at,
        };
        inner.write(inner.store.mark_read(marker)).await
    }
}
