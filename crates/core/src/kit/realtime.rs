//! Ephemeral events: typing, presence, reactions, receipts; heard now or never (RFC §8.4).
//!
//! They go to who subscribes to the room, and nowhere else: no channel is given them, and one that
//! shows them to its people [subscribes](Rooms::subscribe_room) as anybody does, through its
//! [`WeakKit`](crate::WeakKit).

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;

use serde_json::Value;

use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelId, EphemeralEvent, EphemeralEventType, EventId, Metadata, OrganizationId,
    ParticipantId, Presence, RoomId, SubscriptionId,
};
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::{Mutex, lock};

/// The organisations whose rooms are listened to, by subscription. One to a room of none is not here.
#[derive(Debug, Default)]
pub(crate) struct Listening(Mutex<HashMap<SubscriptionId, OrganizationId>>);

impl Rooms {
    /// Publishes an ephemeral event to whoever listens to its room.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`InvalidInput`](ErrorKind::InvalidInput) where it is
    /// not [what its type asks for](EphemeralEvent::validate); or where the realtime backend fails,
    /// [`ProviderFailed`](ErrorKind::ProviderFailed) where it panics or does not answer in time.
    pub async fn publish(&self, event: EphemeralEvent) -> Result<()> {
        event.validate()?;
        self.inner()
            .visible_room(&self.scope, &event.room_id)
            .await?;
        let inner = self.inner();
        inner.realtime_call(inner.realtime.publish(event)).await
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

    /// Says that somebody reacted to an event with an emoji. The event need not be one of the
    /// timeline: what is reacted to may be older than it.
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
        self.reaction(room.into(), user.into(), target.into(), emoji, "add")
            .await
    }

    /// Says that somebody took a reaction back: the one with this emoji, or with an empty one whatever
    /// they had.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_reaction_removed(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        target: impl Into<EventId>,
        emoji: &str,
    ) -> Result<()> {
        self.reaction(room.into(), user.into(), target.into(), emoji, "remove")
            .await
    }

    async fn reaction(
        &self,
        room: RoomId,
        user: ParticipantId,
        target: EventId,
        emoji: &str,
        action: &str,
    ) -> Result<()> {
        let data = Metadata::new()
            .with("target_event_id", target.as_str())
            .with("emoji", emoji)
            .with("action", action);
        let event_type = EphemeralEventType::Reaction;
        self.publish(self.ephemeral(room, user, event_type, data))
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

    /// Says whether somebody is there: `online`, `away`, `offline`, or a word of the application's own,
    /// which goes out as a custom event with `status` in its data.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_presence(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        presence: impl Into<Presence>,
    ) -> Result<()> {
        let mut data = Metadata::new();
        let event_type = match presence.into() {
            Presence::Online => EphemeralEventType::PresenceOnline,
            Presence::Away => EphemeralEventType::PresenceAway,
            Presence::Offline => EphemeralEventType::PresenceOffline,
            Presence::Other(status) => {
                data.insert("status", status);
                EphemeralEventType::Custom
            }
        };
        self.publish(self.ephemeral(room.into(), user.into(), event_type, data))
            .await
    }

    /// Says how far an agent is with its tool calls: one of the three tool call types, and the calls,
    /// each an object with `id` and `name`. The user is the agent's channel.
    ///
    /// # Errors
    /// As [`publish`](Self::publish), and where `event_type` is none of those types.
    pub async fn publish_tool_call(
        &self,
        room: impl Into<RoomId>,
        agent: impl Into<ChannelId>,
        event_type: EphemeralEventType,
        calls: Vec<Value>,
    ) -> Result<()> {
        use EphemeralEventType::{ToolCallDelta, ToolCallEnd, ToolCallStart};
        if !matches!(event_type, ToolCallDelta | ToolCallStart | ToolCallEnd) {
            let problem = format!("type: {event_type} says nothing about a tool call");
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let agent = agent.into();
        let data = Metadata::new()
            .with("tool_calls", calls)
            .with("channel_id", agent.as_str());
        let mut event = self.ephemeral(room.into(), agent.as_str().into(), event_type, data);
        event.channel_id = Some(agent);
        self.publish(event).await
    }

    /// Says anything else; `data` says what.
    ///
    /// # Errors
    /// As [`publish`](Self::publish).
    pub async fn publish_custom(
        &self,
        room: impl Into<RoomId>,
        user: impl Into<ParticipantId>,
        data: Metadata,
    ) -> Result<()> {
        let event_type = EphemeralEventType::Custom;
        self.publish(self.ephemeral(room.into(), user.into(), event_type, data))
            .await
    }

    /// Calls `listener` with every ephemeral event of a room, in order, until it is unsubscribed.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound), or where the realtime backend fails.
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
        let found = self.inner().visible_room(&self.scope, &room).await?;
        let handler = Arc::new(
            move |event| -> futures_util::future::BoxFuture<'static, ()> {
                Box::pin(listener(event))
            },
        );
        let inner = self.inner();
        let subscribing = inner.realtime.subscribe(&room, handler);
        let subscription = inner.realtime_call(subscribing).await?;
        if let Some(organization) = &found.room.organization_id {
            lock(&inner.listening.0).insert(subscription.clone(), organization.clone());
        }
        Ok(subscription)
    }

    /// Ends a subscription; `false` when there is none with this id, or it is to a room of another
    /// organisation.
    ///
    /// # Errors
    /// Where the realtime backend fails.
    pub async fn unsubscribe_room(&self, subscription: &SubscriptionId) -> Result<bool> {
        let inner = self.inner();
        if self.scope.0.is_some()
            && lock(&inner.listening.0).get(subscription) != self.scope.0.as_ref()
        {
            return Ok(false);
        }
        let unsubscribing = inner.realtime.unsubscribe(subscription);
        let ended = inner.realtime_call(unsubscribing).await?;
        lock(&inner.listening.0).remove(subscription);
        Ok(ended)
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

impl Inner {
    /// Runs a call to the realtime backend, which may panic or hang.
    async fn realtime_call<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = self.settings.process_timeout;
        let problem = match guard(&*self.clock, limit, pin!(call)).await {
            Ok(answer) => return answer,
            Err(NoAnswer::Panicked) => "the realtime backend panicked",
            Err(NoAnswer::TookTooLong) => "the realtime backend did not answer in time",
        };
        Err(Error::new(ErrorKind::ProviderFailed, problem))
    }
}
