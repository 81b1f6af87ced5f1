//! Sessions: who is told that one began, and who greets then (RFC §9.2).

use std::pin::pin;
use std::sync::Arc;

use super::greeting::{Gate, greet_all, greeters, hold};
use super::{Inner, Rooms, attach};
use crate::clock;
use crate::error::Result;
use crate::hook::{OnSessionStarted, SessionStarted};
use crate::model::{ChannelType, FrameworkEventType};
use crate::pipeline::{ObserversDone, Scope};
use crate::store::RoomSnapshot;
use crate::sync::inside::Inside;

impl Rooms {
    /// Tells that a session began on a channel: for channels with sessions of their own, such as calls,
    /// when their audio flows. For a room that an inbound message makes, the pipeline does it itself:
    /// before that message is taken, whatever becomes of it.
    ///
    /// Agents of the room that [greet by themselves](crate::Channel::greets_by_itself) do so first, once
    /// a session or, where it has no id, once a room. Then hooks at
    /// [`OnSessionStarted`] and listeners of `session_started` are told, in the background. Returns when
    /// the greetings are committed; as with [`send_greeting`](Self::send_greeting), answers wait until
    /// they are delivered.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound), [`KitClosed`](crate::ErrorKind::KitClosed).
    pub async fn session_started(&self, session: SessionStarted) -> Result<()> {
        self.to_end(|inner, scope| async move {
            inner.closing.check()?;
            let room = inner.visible_room(&scope, &session.room_id).await?;
            let agents = greeters(&inner, &room);
            if !agents.is_empty() && room.room.status.accepts_events() {
                let gate = hold(&inner, &session.room_id);
                let id = session.session_id.as_deref();
                greet_all(&inner, &scope, &session.room_id, id, agents, &gate).await;
            }
            inner.load_hooks(&room.room).await;
            tell(&inner, room, &session);
            Ok(())
        })
        .await
    }
}

/// What a room that an inbound message makes begins with where some agent may greet it.
pub(crate) struct Opening {
    pub(crate) gate: Gate,
    /// Whoever is told of the new room may attach the agent that greets.
    pub(crate) told: ObserversDone,
}

/// Whether channels of a type have sessions of their own, and tell of them themselves.
pub(crate) fn has_sessions(channel_type: &ChannelType) -> bool {
    matches!(
        channel_type,
        ChannelType::Voice | ChannelType::RealtimeVoice
    )
}

/// The session of a room that an inbound message has just made. Returns the room as it is then.
pub(crate) async fn begin_text(
    inner: &Arc<Inner>,
    scope: &Scope,
    session: SessionStarted,
    mut room: RoomSnapshot,
    opening: Option<Opening>,
) -> Result<RoomSnapshot> {
    if let Some(opening) = opening {
        let (running, scope, session) = (Arc::clone(inner), scope.clone(), session.clone());
        let call = async move { open(&running, &scope, &session, opening).await };
        // To its end, also where the message runs out of time: what is greeted has to be delivered.
        room = inner.run_to_end(Inside::current(), Box::pin(call)).await?;
    }
    tell(inner, room.clone(), &session);
    Ok(room)
}

/// Lets the agents greet that whoever was told of the new room has attached.
async fn open(
    inner: &Arc<Inner>,
    scope: &Scope,
    session: &SessionStarted,
    Opening { gate, told }: Opening,
) -> Result<RoomSnapshot> {
    let id = &session.room_id;
    // Of the time that the message has, half at most: it must not be lost to a hook that hangs.
    let limit = inner.settings.process_timeout / 2;
    let told = pin!(told.wait());
    if clock::timeout(&*inner.clock, limit, told).await.is_err() {
        tracing::warn!(room_id = %id, "hooks of a new room are late, a greeting may be too");
    }
    let room = inner.visible_room(scope, id).await?;
    let agents = greeters(inner, &room);
    if agents.is_empty() {
        return Ok(room);
    }
    // Else it would not hear the greeting: the message attaches it, which comes after.
    attach::commit_if_new(inner, scope, id, &session.channel_id).await?;
    greet_all(inner, scope, id, None, agents, &gate).await;
    inner.visible_room(scope, id).await
}

fn tell(inner: &Arc<Inner>, room: RoomSnapshot, session: &SessionStarted) {
    inner.observe::<OnSessionStarted>(&inner.context(room), session);
    inner.emit(FrameworkEventType::SessionStarted, |notice| {
        notice.room_id = Some(session.room_id.clone());
        notice.channel_id = Some(session.channel_id.clone());
        notice
            .data
            .insert("channel_id", session.channel_id.as_str());
        let channel_type = session.channel_type.to_string();
        notice.data.insert("channel_type", channel_type);
        if let Some(id) = &session.session_id {
            notice.data.insert("session_id", id.as_str());
        }
    });
}
