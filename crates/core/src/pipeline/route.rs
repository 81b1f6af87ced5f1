//! Routing: the room a message is for, found or made (RFC §10.4).

use std::sync::Arc;

use super::{ObserversDone, Scope, announce_created};
use crate::channel::Channel;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::Running;
use crate::kit::Inner;
use crate::kit::greeting::hold;
use crate::kit::session::Opening;
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
    /// Whether the message made it, and what it then begins with.
    pub(super) made: Option<Option<Opening>>,
    pub(super) turn: Option<Ticket<RouteKey>>,
}

pub(super) async fn route(
    inner: &Arc<Inner>,
    scope: &Scope,
    message: &InboundMessage,
    channel: &dyn Channel,
) -> Result<Routed> {
    if let Some(id) = &message.room_id {
        let (room, made) = named(inner, scope, id).await?;
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
        Some(id) => named(inner, scope, &id).await?,
        None => make(inner, scope, RoomId::generate()).await?,
    };
    Ok(Routed { room, made, turn })
}

/// The room with this id; made when there is none, not found when it is another organisation's.
async fn named(inner: &Arc<Inner>, scope: &Scope, id: &RoomId) -> Result<Made> {
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
    match make(inner, scope, id.clone()).await {
        Err(error) if error.kind() == ErrorKind::RoomAlreadyExists => {
            let room = inner.store.room(id).await?;
            visible(room.ok_or_else(|| Error::room_not_found(id))?)
        }
        made => made,
    }
}

/// A room, and what it begins with where it was just made.
type Made = (RoomSnapshot, Option<Option<Opening>>);

async fn make(inner: &Arc<Inner>, scope: &Scope, id: RoomId) -> Result<Made> {
    if !inner.greetings.any() {
        let room = create_room(inner, new_room(inner, scope, id)).await?;
        return Ok((room, Some(None)));
    }
    // Before anybody can find the room, so that no other message is answered before the greeting.
    let gate = hold(inner, &id);
    let (token, told) = ObserversDone::new();
    let room = create(inner, new_room(inner, scope, id), Some(&token)).await?;
    Ok((room, Some(Some(Opening { gate, told }))))
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

/// Stores a new room and tells of it.
pub(crate) async fn create_room(inner: &Arc<Inner>, room: Room) -> Result<RoomSnapshot> {
    create(inner, room, None).await
}

async fn create(inner: &Arc<Inner>, room: Room, token: Option<&Running>) -> Result<RoomSnapshot> {
    let room = inner.store.create_room(room).await?;
    tracing::info!(room_id = %room.room.id, "room created");
    inner.load_hooks(&room.room).await;
    announce_created(inner, &room, token);
    Ok(room)
}
