//! Routing: the room a message is for, found or made (RFC §10.4).

use std::sync::Arc;

use super::{ObserversDone, Scope, announce_created};
use crate::channel::Channel;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{Running, SessionStarted};
use crate::kit::greeting::hold;
use crate::kit::session::{self, Opening};
use crate::kit::{Inner, attach};
use crate::model::{ChannelId, InboundMessage, OrganizationId, ParticipantId, Room, RoomId};
use crate::router::RouteRequest;
use crate::store::RoomSnapshot;
use crate::sync::inside::Inside;
use crate::sync::queue::Ticket;

/// What first messages are serialised by: two of one sender make one room.
pub(crate) type RouteKey = (Option<OrganizationId>, ChannelId, ParticipantId);

/// The room of a message, and what keeps the sender's next message waiting until this one is in.
pub(super) struct Routed {
    pub(super) room: RoomSnapshot,
    /// Set where the room was made for this message.
    pub(super) made: Option<Box<Made>>,
    pub(super) turn: Option<Ticket<RouteKey>>,
}

pub(super) async fn route(
    inner: &Arc<Inner>,
    scope: &Scope,
    message: &InboundMessage,
    channel: &dyn Channel,
) -> Result<Routed> {
    if let Some(id) = &message.room_id {
        let (room, made) = named(inner, scope, id, message, channel).await?;
        return Ok(Routed {
            room,
            made,
            turn: None,
        });
    }
    let key = (
        scope.0.clone(),
        message.channel_id.clone(),
        message.sender_id.clone(),
    );
    Inside::check_turn(inner.id, &key)?;
    let turn = inner.routes.enqueue(key, usize::MAX);
    if let Some(turn) = &turn {
        turn.turn().await;
    }
    let request = RouteRequest {
        organization_id: scope.0.clone(),
        channel_id: message.channel_id.clone(),
        channel_type: channel.channel_type(),
        sender_id: message.sender_id.clone(),
        metadata: message.metadata.clone(),
    };
    let (room, made) = match inner.router.route(&request).await? {
        Some(id) => named(inner, scope, &id, message, channel).await?,
        None => {
            // Who is turned away leaves no room behind, and nobody is told of one.
            let stays = inner.identity.is_none();
            make(inner, scope, RoomId::generate(), message, channel, stays).await?
        }
    };
    Ok(Routed { room, made, turn })
}

/// The room with this id; made when there is none, not found when it is another organisation's.
async fn named(
    inner: &Arc<Inner>,
    scope: &Scope,
    id: &RoomId,
    message: &InboundMessage,
    channel: &dyn Channel,
) -> Result<Found> {
    let visible = |room: RoomSnapshot| {
        if scope.admits(&room.room) {
            Ok((room, None))
        } else {
            Err(Error::room_not_found(id))
        }
    };
    if let Some(room) = inner.store.room(id).await? {
        return visible(room);
    }
    check_id(id)?;
    match make(inner, scope, id.clone(), message, channel, true).await {
        Err(error) if error.kind() == ErrorKind::RoomAlreadyExists => {
            let room = inner.store.room(id).await?;
            visible(room.ok_or_else(|| Error::room_not_found(id))?)
        }
        made => made,
    }
}

/// A room, and what it begins with where it was just made.
type Found = (RoomSnapshot, Option<Box<Made>>);

async fn make(
    inner: &Arc<Inner>,
    scope: &Scope,
    id: RoomId,
    message: &InboundMessage,
    channel: &dyn Channel,
    stays: bool,
) -> Result<Found> {
    let channel_type = channel.channel_type();
    let session = (!session::has_sessions(&channel_type)).then(|| SessionStarted {
        room_id: id.clone(),
        channel_id: message.channel_id.clone(),
        channel_type,
        participant_id: message.sender_id.clone(),
        timestamp: inner.clock.now(),
        session_id: None,
    });
    let (running, opening) = if inner.greetings.any() {
        // Before anybody can find the room, so that no other message is answered before the greeting.
        let gate = hold(inner, &id);
        let (running, told) = ObserversDone::new();
        (Some(running), Some(Opening { gate, told }))
    } else {
        (None, None)
    };
    let room = store_room(inner, new_room(inner, scope, id)).await?;
    let mut made = Box::new(Made {
        inner: Arc::clone(inner),
        stays,
        untold: Some((room.clone(), running)),
        session,
        opening,
    });
    if stays {
        made.tell();
    }
    Ok((room, Some(made)))
}

/// A room that was made for a message; told of when this is dropped at the latest.
pub(super) struct Made {
    inner: Arc<Inner>,
    /// Whether it stays, whatever becomes of the message.
    pub(super) stays: bool,
    untold: Option<(RoomSnapshot, Option<Running>)>,
    session: Option<SessionStarted>,
    opening: Option<Opening>,
}

impl Made {
    /// Tells of the room and begins its session, where its channel has no sessions of its own. Returns
    /// the room as it is then.
    pub(super) async fn begin(mut self, scope: &Scope, room: RoomSnapshot) -> Result<RoomSnapshot> {
        self.tell();
        let Some(session) = self.session.take() else {
            return Ok(room);
        };
        let opening = self.opening.take();
        session::begin_text(&self.inner, scope, session, room, opening).await
    }

    /// Removes the room again, unless something has happened in it.
    pub(super) async fn unmake(mut self) -> Result<()> {
        let Some((room, _)) = &self.untold else {
            return Ok(());
        };
        let id = room.room.id.clone();
        let _lock = attach::lock_room(&self.inner, &id).await?;
        let now = self.inner.read(self.inner.store.room(&id)).await?;
        if now.is_some_and(|now| now.version == room.version) {
            self.inner.write(self.inner.store.delete_room(&id)).await?;
            self.inner.hooks.forget_room(&id);
            self.untold = None;
        }
        Ok(())
    }

    fn tell(&mut self) {
        if let Some((room, running)) = self.untold.take() {
            announce_created(&self.inner, &room, running.as_ref());
        }
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.tell();
    }
}

fn new_room(inner: &Inner, scope: &Scope, id: RoomId) -> Room {
    let mut room = Room::new(id, inner.clock.now());
    room.organization_id.clone_from(&scope.0);
    room.agent_response_policy = inner.settings.agent_response_policy;
    room
}

/// Refuses an id that no room may have.
pub(crate) fn check_id(id: &RoomId) -> Result<()> {
    if id.as_str().trim().is_empty() {
        let problem = "room_id: must not be empty";
        return Err(Error::new(ErrorKind::InvalidInput, problem));
    }
    Ok(())
}

async fn store_room(inner: &Arc<Inner>, room: Room) -> Result<RoomSnapshot> {
    let room = inner.store.create_room(room).await?;
    tracing::info!(room_id = %room.room.id, "room created");
    inner.load_hooks(&room.room).await;
    Ok(room)
}

/// Tells of a room that was just stored.
pub(crate) async fn room_created(inner: &Arc<Inner>, room: &RoomSnapshot) {
    tracing::info!(room_id = %room.room.id, "room created");
    inner.load_hooks(&room.room).await;
    announce_created(inner, room, None);
}
