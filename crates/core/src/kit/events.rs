//! Events: sending one into a room, and reading the timeline.
//!
//! Its rules: RFC §5.2, §10.5 for what the application sends, and §14.1 for what is read.

use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Rooms;
use crate::context::History;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelId, EventContent, EventId, EventSource, EventType, Metadata, Observation, ParticipantId,
    RoomEvent, RoomId, Task, Visibility,
};
use crate::pipeline;
use crate::store::{EventQuery, EventSearch};
use crate::sync::inside::Inside;
use crate::telemetry::SpanName;

/// How many words a search may have.
const MOST_SEARCHED_WORDS: usize = 64;

/// Sends an event into a room in the name of a channel; await it to do so.
#[derive(Debug)]
#[must_use = "nothing is sent until this is awaited"]
pub struct SendEvent {
    rooms: Rooms,
    room_id: RoomId,
    channel_id: ChannelId,
    content: EventContent,
    event_type: EventType,
    participant_id: Option<ParticipantId>,
    visibility: Visibility,
    response_visibility: Option<Visibility>,
    addressed_to: Option<Vec<ChannelId>>,
    parent_event_id: Option<EventId>,
    correlation_id: Option<String>,
    idempotency_key: Option<String>,
    metadata: Metadata,
}

impl Rooms {
    /// Sends an event into a room without a message from outside (RFC §10.5). It passes the same
    /// hooks and checks, and the future is done when all that it caused is done, or, called from
    /// inside a channel or a hook, once the event is committed.
    ///
    /// The channel must be attached; `system` always is. A blocked event is returned, its status
    /// `blocked`.
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound), [`RoomClosed`](ErrorKind::RoomClosed),
    ///   [`ChannelNotFound`](ErrorKind::ChannelNotFound).
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the content is not acceptable; it names the field.
    /// - [`InsideRoomLock`](ErrorKind::InsideRoomLock): called by a hook that runs under the room's lock.
    /// - [`Refused`](ErrorKind::Refused): an edit or delete that is not allowed, or a timeout.
    /// - [`OutcomeUnknown`](ErrorKind::OutcomeUnknown): as of
    ///   [`process_inbound`](Self::process_inbound).
    pub fn send_event(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        content: impl Into<EventContent>,
    ) -> SendEvent {
        let content = content.into();
        SendEvent {
            rooms: self.clone(),
            room_id: room.into(),
            channel_id: channel.into(),
            event_type: content.event_type(),
            content,
            participant_id: None,
            visibility: Visibility::All,
            response_visibility: None,
            addressed_to: None,
            parent_event_id: None,
            correlation_id: None,
            idempotency_key: None,
            metadata: Metadata::new(),
        }
    }

    /// Events of a room in index order: `limit` of them after the first `offset`.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn timeline(
        &self,
        room: impl Into<RoomId>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Arc<RoomEvent>>> {
        self.events(room, &EventQuery::first(limit).offset(offset))
            .await
    }

    /// Events of a room, as `query` asks for them.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`InvalidInput`](ErrorKind::InvalidInput) where
    /// the query's filter contradicts itself.
    pub async fn events(
        &self,
        room: impl Into<RoomId>,
        query: &EventQuery,
    ) -> Result<Vec<Arc<RoomEvent>>> {
        if let Some(filter) = &query.filter {
            filter.validate()?;
        }
        let room = room.into();
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        inner.ask(inner.store.events(&room, query)).await
    }

    /// Events by the words in them, newest first; with a scoped handle only those of its
    /// organisation's rooms.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound) where the search names a room that there is not;
    /// [`InvalidInput`](ErrorKind::InvalidInput) where it has more than 64 words.
    pub async fn search_events(&self, mut search: EventSearch) -> Result<Vec<Arc<RoomEvent>>> {
        if search.words().len() > MOST_SEARCHED_WORDS {
            let problem = format!("text: has more than {MOST_SEARCHED_WORDS} words");
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let inner = self.inner();
        if let Some(room) = &search.room_id {
            inner.visible_room(&self.scope, room).await?;
        }
        if let Some(organization) = &self.scope.0 {
            let other = search.organization_id.as_ref();
            if other.is_some_and(|other| other != organization) {
                return Ok(Vec::new());
            }
            search.organization_id = Some(organization.clone());
        }
        inner.ask(inner.store.search_events(&search)).await
    }

    /// One event of a room, in its newest version.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound), [`EventNotFound`](ErrorKind::EventNotFound).
    pub async fn event(
        &self,
        room: impl Into<RoomId>,
        event: impl Into<EventId>,
    ) -> Result<Arc<RoomEvent>> {
        let (room, event) = (room.into(), event.into());
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        let found = inner.ask(inner.store.event(&room, &event)).await?;
        found.ok_or_else(|| {
            Error::new(
                ErrorKind::EventNotFound,
                format!("room {room} has no event {event}"),
            )
        })
    }

    /// Every version of one event, the oldest first; more than one where it was edited.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn event_versions(
        &self,
        room: impl Into<RoomId>,
        event: impl Into<EventId>,
    ) -> Result<Vec<Arc<RoomEvent>>> {
        let (room, event) = (room.into(), event.into());
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        inner.ask(inner.store.event_versions(&room, &event)).await
    }

    /// The last `limit` events as one channel of the room may know them (RFC §7.5 rule 8). Deleted
    /// events are among them with what they said, marked as deleted: leave them out of what a model reads.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn history_for(
        &self,
        room: impl Into<RoomId>,
        channel: impl Into<ChannelId>,
        limit: usize,
    ) -> Result<History> {
        let (room, channel) = (room.into(), channel.into());
        let inner = self.inner();
        let snapshot = inner.visible_room(&self.scope, &room).await?;
        let context = inner.context(snapshot).for_reader(&channel);
        inner.ask(context.recent_events(limit)).await
    }

    /// Cancels what an agent is saying in a room as it comes; what it has said is kept. `false` when
    /// it is not streaming an answer there.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn cancel_answer(
        &self,
        room: impl Into<RoomId>,
        agent: impl Into<ChannelId>,
    ) -> Result<bool> {
        let (room, agent) = (room.into(), agent.into());
        self.inner().visible_room(&self.scope, &room).await?;
        Ok(self.inner().streaming.cancel(&(room, agent)))
    }

    /// The tasks of a room, in the order in which they were created.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn tasks(&self, room: impl Into<RoomId>) -> Result<Vec<Task>> {
        let room = room.into();
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        inner.ask(inner.store.tasks(&room)).await
    }

    /// The observations about a room, in the order in which they were recorded.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound).
    pub async fn observations(&self, room: impl Into<RoomId>) -> Result<Vec<Observation>> {
        let room = room.into();
        let inner = self.inner();
        inner.visible_room(&self.scope, &room).await?;
        inner.ask(inner.store.observations(&room)).await
    }
}

impl SendEvent {
    /// What kind of event it is. Default: message, or what the content asks for.
    pub fn event_type(mut self, event_type: EventType) -> Self {
        self.event_type = event_type;
        self
    }

    /// Who says it. Default: nobody in particular.
    pub fn participant(mut self, participant: impl Into<ParticipantId>) -> Self {
        self.participant_id = Some(participant.into());
        self
    }

    /// Who may see it. Default: what the channel's binding says.
    pub fn visibility(mut self, visibility: impl Into<Visibility>) -> Self {
        self.visibility = visibility.into();
        self
    }

    /// Who may see the answers to it. Default: no restriction.
    pub fn response_visibility(mut self, visibility: impl Into<Visibility>) -> Self {
        self.response_visibility = Some(visibility.into());
        self
    }

    /// The agents that it asks to act; an empty list asks nobody. Default: the room's policy.
    pub fn addressed_to<C: Into<ChannelId>>(mut self, agents: impl IntoIterator<Item = C>) -> Self {
        self.addressed_to = Some(agents.into_iter().map(Into::into).collect());
        self
    }

    /// The event it replies to, which becomes the root of its thread.
    pub fn parent(mut self, event: impl Into<EventId>) -> Self {
        self.parent_event_id = Some(event.into());
        self
    }

    /// The application's own reference.
    pub fn correlation_id(mut self, id: impl Into<String>) -> Self {
        self.correlation_id = Some(id.into());
        self
    }

    /// Tells a repeat: a second event with this key in this room is the first one again.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Data of the application.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    async fn send(self) -> Result<Arc<RoomEvent>> {
        let Self {
            rooms,
            room_id,
            channel_id,
            content,
            ..
        } = self;
        let inner = Arc::clone(rooms.inner());
        inner.closing.check()?;
        let source = if channel_id == *super::SYSTEM_CHANNEL {
            EventSource::system()
        } else {
            let room = inner.visible_room(&rooms.scope, &room_id).await?;
            let channel_type = match room.binding(&channel_id) {
                Some(binding) => binding.channel_type.clone(),
                None if !room.room.status.accepts_events() => {
                    return Err(Error::room_closed(&room_id));
                }
                None => return Err(Error::not_attached(&channel_id, &room_id)),
            };
            let mut source = EventSource::new(channel_id.clone(), channel_type);
            source.provider = inner.provider_of(&channel_id);
            source
        };
        let mut event = RoomEvent::new(room_id, source, content, inner.clock.now());
        event.event_type = self.event_type;
        event.source.participant_id = self.participant_id;
        event.visibility = self.visibility;
        event.response_visibility = self.response_visibility;
        event.addressed_to = self.addressed_to;
        event.parent_event_id = self.parent_event_id;
        event.correlation_id = self.correlation_id;
        event.idempotency_key = self.idempotency_key;
        event.metadata = self.metadata;
        let (running, scope) = (Arc::clone(&inner), rooms.scope.clone());
        let inside = Inside::current();
        let is_inside = inside.is_some();
        let result = inner
            .run_to_end(
                inside,
                Box::pin(async move {
                    running.closing.check()?;
                    if running.spans.may_watch(SpanName::SendEvent) {
                        let sent = pipeline::observed::send(&running, &scope, event).await?;
                        return Ok(sent.settle_observed_from(&running, is_inside).await);
                    }
                    let accepted = pipeline::direct::accept(&running, &scope, event).await?;
                    Ok(accepted.settle_from(&running, is_inside).await)
                }),
            )
            .await?;
        result.event.ok_or_else(|| {
            Error::new(
                ErrorKind::EventNotFound,
                "the event of an earlier call is gone, or is of a type that is not kept",
            )
        })
    }
}

impl IntoFuture for SendEvent {
    type Output = Result<Arc<RoomEvent>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.send().boxed()
    }
}
