//! Answers once more: the newest message is answered again, without being said again.
//!
//! Not in the RFC; a new version of an event, as the marked answer is, follows RFC §10.3.

use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::Rooms;
use crate::error::{Error, Result};
use crate::model::{EventId, InboundResult, RoomEvent, RoomId};
use crate::pipeline::replay::{self, Target};
use crate::sync::inside::Inside;

/// Lets the newest message of a room be answered again; await it to do so.
#[derive(Debug)]
#[must_use = "nobody is asked until this is awaited"]
pub struct RegenerateResponse {
    rooms: Rooms,
    room_id: RoomId,
    trigger_id: Option<EventId>,
}

impl Rooms {
    /// Asks the agents of a room to answer its [newest message](Self::regenerate_target) again.
    ///
    /// The message stays what it is: no hook sees it again and no transport gets it again. The agents that
    /// it asked are asked as they were then, with the words that it has now and a history that ends with
    /// it. What they answer is committed, streamed and delivered as any answer is. The answers that an
    /// agent gave before are then marked as [superseded](RoomEvent::superseded_by), a new version of which
    /// [`OnEventUpdated`](crate::hook::OnEventUpdated) is told; they are not taken back from channels
    /// that have them. Where an agent fails its earlier answer stays as it is, and the result has the
    /// `error`.
    ///
    /// The future is done when all that the answers caused is done, or, called from inside a channel or
    /// a hook, once the agents have their turn. Its result is one of the message: `blocked` with the
    /// reason `room_closed`, or with [`trigger`](RegenerateResponse::trigger) `trigger_moved`. `None`
    /// where there is no such message, or its channel may no longer write.
    ///
    /// ```
    /// # use roomkit_core::RoomKit;
    /// # async fn again(kit: RoomKit) -> roomkit_core::Result<()> {
    /// if let Some(message) = kit.regenerate_target("support-42").await? {
    ///     let result = kit.regenerate_response("support-42").trigger(&message.id).await?;
    ///     let moved = result.is_some_and(|it| it.reason.as_deref() == Some("trigger_moved"));
    ///     println!("answered again: {}", !moved);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](crate::ErrorKind::RoomNotFound), [`StoreFailed`](crate::ErrorKind::StoreFailed),
    ///   [`KitClosed`](crate::ErrorKind::KitClosed).
    /// - [`InsideRoomLock`](crate::ErrorKind::InsideRoomLock): called by a hook that runs under the room's lock.
    pub fn regenerate_response(&self, room: impl Into<RoomId>) -> RegenerateResponse {
        RegenerateResponse {
            rooms: self.clone(),
            room_id: room.into(),
            trigger_id: None,
        }
    }

    /// The message that [`regenerate_response`](Self::regenerate_response) would have answered again: of
    /// the messages from transports that were accepted and are not deleted, the newest, in its newest
    /// version. `None` where there is none among the last 2,000 messages, or its channel may no longer
    /// write.
    ///
    /// # Errors
    /// [`RoomNotFound`](crate::ErrorKind::RoomNotFound); [`RoomClosed`](crate::ErrorKind::RoomClosed) where the room
    /// takes no new events.
    pub async fn regenerate_target(
        &self,
        room: impl Into<RoomId>,
    ) -> Result<Option<Arc<RoomEvent>>> {
        let room = room.into();
        let inner = self.inner();
        let snapshot = inner.visible_room(&self.scope, &room).await?;
        match replay::target(inner, &snapshot).await? {
            Target::RoomClosed => Err(Error::room_closed(&room)),
            Target::Nothing => Ok(None),
            Target::Event(event) => Ok(Some(event)),
        }
    }
}

impl RegenerateResponse {
    /// Only where this is still the message that would be answered; else nobody is asked, and the
    /// result has the reason `trigger_moved`: it was deleted, or a newer one came. An edit moves
    /// nothing. Default: whichever it is by then.
    pub fn trigger(mut self, event: impl Into<EventId>) -> Self {
        self.trigger_id = Some(event.into());
        self
    }

    async fn regenerate(self) -> Result<Option<InboundResult>> {
        let is_inside = Inside::current().is_some();
        let Self {
            rooms,
            room_id,
            trigger_id,
        } = self;
        rooms
            .to_end(move |inner, scope| async move {
                inner.closing.check()?;
                let accepted =
                    replay::accept(&inner, &scope, &room_id, trigger_id.as_ref()).await?;
                Ok(match accepted {
                    None => None,
                    Some(accepted) => Some(accepted.settle_from(&inner, is_inside).await),
                })
            })
            .await
    }
}

impl IntoFuture for RegenerateResponse {
    type Output = Result<Option<InboundResult>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.regenerate().boxed()
    }
}
