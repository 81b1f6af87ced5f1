//! Ephemeral events: typing, presence, reactions, receipts; heard now or never (RFC §8.4).

use std::future::Future;
use std::sync::Arc;

use super::Rooms;
use crate::error::Result;
use crate::model::{
    EphemeralEvent, EphemeralEventType, EventId, Metadata, ParticipantId, RoomId, SubscriptionId,
};

impl Rooms {
    /// Publishes an ephemeral event to whoever listens to its room.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound), or where the realtime backend fails.
    pub async fn publish(&self, event: EphemeralEvent) -> Result<()> {
        self.inner()
            .visible_room(&self.scope, &event.room_id)
            .await?;
        self.inner().realtime.publish(event).await
    }

    /// Says that somebody began or stopped typing.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_typing(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        is_typing: bool,
    ) -> Result<()> {
        let event_type = if is_typing {
            EphemeralEventType::TypingStart
        } else {
            EphemeralEventType::TypingStop
        };
        self.publish(self.ephemeral(room.into(), user.into(), event_type, Metadata::new()))
            .await
    }

    /// Says that somebody reacted to an event with an emoji.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_reaction(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        target: impl Into<EventId>,
        emoji: &str,
    ) -> Result<()> {
        let mut data = Metadata::new();
        data.insert("target_event_id", target.into().as_str());
        data.insert("emoji", emoji);
        let event_type = EphemeralEventType::Reaction;
        self.publish(self.ephemeral(room.into(), user.into(), event_type, data))
            .await
    }

    /// Says that somebody has read an event.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_read_receipt(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        event: impl Into<EventId>,
    ) -> Result<()> {
        let mut data = Metadata::new();
        data.insert("event_id", event.into().as_str());
        let event_type = EphemeralEventType::ReadReceipt;
        self.publish(self.ephemeral(room.into(), user.into(), event_type, data))
            .await
    }

    /// Says whether somebody is there: one of the three presence types.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_presence(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        presence: EphemeralEventType,
    ) -> Result<()> {
        self.publish(self.ephemeral(room.into(), user.into(), presence, Metadata::new()))
            .await
    }

    /// Calls `listener` with every ephemeral event of a room, in order, until it is unsubscribed.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn subscribe_room<F, Fut>(
        &self,
        room: impl Into<RoomId>,
        listener: F,
    ) -> Result<SubscriptionId>
    where
        F: Fn(EphemeralEvent) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let room = room.into();
        self.inner().visible_room(&self.scope, &room).await?;
        let handler = Arc::new(
            move |event| -> futures_util::future::BoxFuture<'static, ()> {
                Box::pin(listener(event))
            },
        );
        self.inner().realtime.subscribe(&room, handler).await
    }

    /// Ends a subscription; `false` when there is none with this id.
    ///
    /// # Errors
    /// Where the realtime backend fails.
    pub async fn unsubscribe_room(&self, subscription: &SubscriptionId) -> Result<bool> {
        self.inner().realtime.unsubscribe(subscription).await
    }

    fn ephemeral(
        &self,
        room: RoomId,
        user: ParticipantId,
        event_type: EphemeralEventType,
        data: Metadata,
    ) -> EphemeralEvent {
        let mut event = EphemeralEvent::new(room, event_type, user, self.inner().clock.now());
        event.data = data;
        event
    }
}
