//! A message from outside, from its arrival to the commit (RFC §10.1).

use std::pin::pin;
use std::sync::Arc;

use super::decide::type_of;
use super::identify::{self, TurnedAway};
use super::pass::{self, Budget, Committed, Outcome, Pass};
use super::reenter::Settled;
use super::{Cascade, Refusal, Scope, route};
use crate::channel::Channel;
use crate::clock::Elapsed;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{InjectedEvent, SessionStarted};
use crate::kit::session::{self, Opening};
use crate::kit::{Inner, attach};
use crate::model::{EventId, FrameworkEventType, InboundMessage, InboundResult, RoomId};
use crate::store::{IdempotentOutcome, RoomSnapshot};
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::inside::Inside;

/// A message that was taken or refused, and what still follows from it.
pub(crate) struct Accepted {
    pub(crate) result: InboundResult,
    pub(crate) cascade: Option<Cascade>,
}

/// Takes a message up to the commit.
pub(crate) async fn accept(
    inner: &Arc<Inner>,
    scope: &Scope,
    message: InboundMessage,
) -> Result<Accepted> {
    let budget = Budget::new(inner);
    let prepared = match budget
        .limit(inner, pin!(prepare(inner, scope, message)))
        .await
    {
        Ok(prepared) => prepared?,
        Err(Elapsed) => {
            tracing::error!("inbound message was not ready to commit in time");
            inner.emit(FrameworkEventType::ProcessTimeout, |event| {
                event
                    .data
                    .insert("timeout_ms", pass::millis(inner.settings.process_timeout));
            });
            return Ok(refused(Refusal::ProcessTimeout));
        }
    };
    let Prepared {
        room,
        pass,
        turned_away,
        turn,
    } = prepared;
    if let Some(TurnedAway { refusal, told }) = turned_away {
        let mut accepted = refused(refusal);
        if let Some(told) = told {
            accepted.cascade = Box::pin(async {
                let channel = &pass.draft.source.channel_id;
                attach::commit_if_new(inner, scope, &room, channel).await?;
                tell(inner, scope, &room, told).await
            })
            .await?;
        }
        return Ok(accepted);
    }
    let run = pass::run(inner, scope, &room, pass, budget);
    let outcome = match &turn {
        Some(turn) => Box::pin(Inside::in_turn(inner.id, turn.key()).scope(run)).await?,
        None => run.await?,
    };
    match outcome {
        Outcome::Refused(refusal) => Ok(refused(refusal)),
        Outcome::Repeated(first) => repeat(inner, &room, first).await,
        Outcome::Committed(committed, added) => Ok(accepted(inner, scope, room, committed, added)),
    }
}

impl Accepted {
    /// Follows the message to its end, or leaves that to the background where the caller is inside
    /// a channel or hook, which the end may be waiting for.
    pub(crate) async fn settle_from(self, inner: &Arc<Inner>, inside: bool) -> InboundResult {
        if !inside {
            return self.settle().await;
        }
        let result = self.result.clone();
        inner.tasks.spawn(async move {
            self.settle().await;
        });
        result
    }

    /// Follows the message to the end of all that it caused.
    pub(crate) async fn settle(self) -> InboundResult {
        let Self {
            mut result,
            cascade,
        } = self;
        if let Some(cascade) = cascade {
            let Settled {
                results,
                error,
                response_metadata,
            } = cascade.run().await;
            if !result.blocked {
                result.delivery_results = results;
            }
            result.error = error;
            result.response_metadata = response_metadata;
        }
        result
    }
}

pub(super) fn accepted(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: RoomId,
    committed: Committed,
    added: Vec<Committed>,
) -> Accepted {
    let result = InboundResult {
        event: Some(Arc::clone(&committed.event)),
        blocked: committed.block.is_some(),
        reason: committed.block.as_ref().map(|block| block.reason.clone()),
        ..InboundResult::default()
    };
    let cascade = Cascade::new(Arc::clone(inner), scope.clone(), room, committed, added);
    let cascade = Some(cascade);
    Accepted { result, cascade }
}

struct Prepared {
    room: RoomId,
    pass: Pass,
    turned_away: Option<TurnedAway>,
    /// Keeps the sender's next message waiting until this one is in.
    turn: Option<crate::sync::queue::Ticket<route::RouteKey>>,
}

/// What happens outside the lock: resolve the channel, route, let the channel parse, identify.
async fn prepare(
    inner: &Arc<Inner>,
    scope: &Scope,
    mut message: InboundMessage,
) -> Result<Prepared> {
    let channel = inner.channel(&message.channel_id).ok_or_else(|| {
        Error::new(
            ErrorKind::ChannelNotRegistered,
            format!("no channel {} is registered", message.channel_id),
        )
    })?;
    message.validate()?;
    message.event_type = type_of(&message.content, message.event_type)?;
    let routed = route::route(inner, scope, &message, &*channel).await?;
    let mut room = routed.room;
    if let Some(opening) = routed.made {
        // Boxed: most messages come into a room that is there.
        room = Box::pin(begin_session(
            inner, scope, &message, &*channel, room, opening,
        ))
        .await?;
    }
    let context = inner.context(room);
    let sender = pass::sender_of(&message);
    let channel_id = message.channel_id.clone();
    let resolvable = inner.identity.is_some().then(|| message.clone());
    let place = match &routed.turn {
        Some(turn) => Inside::in_turn(inner.id, turn.key()),
        None => Inside::channel(),
    };
    let parsed = place
        .clone()
        .scope(channel.handle_inbound(message, &context));
    let draft = match guard(&*inner.clock, inner.settings.process_timeout, pin!(parsed)).await {
        Ok(draft) => draft?,
        Err(NoAnswer::Panicked) => return Err(Error::channel("the channel panicked on a message")),
        Err(NoAnswer::TookTooLong) => return Err(Error::channel("the channel took too long")),
    };
    if draft.room_id != *context.room_id() || draft.source.channel_id != channel_id {
        return Err(Error::channel(
            "the channel made an event of another room or channel",
        ));
    }
    draft.content.validate()?;
    let mut pass = Pass::new(sender, draft);
    let turned_away = match &resolvable {
        None => None,
        Some(message) => {
            // Boxed: most kits ask nobody.
            let asked = identify::identify(inner, message, &*channel, &context, &mut pass);
            Box::pin(place.scope(asked)).await?
        }
    };
    let room = context.room_id().clone();
    pass.seen = Some(context);
    Ok(Prepared {
        room,
        pass,
        turned_away,
        turn: routed.turn,
    })
}

/// A message that makes a room begins its session, where its channel has no sessions of its own.
async fn begin_session(
    inner: &Arc<Inner>,
    scope: &Scope,
    message: &InboundMessage,
    channel: &dyn Channel,
    room: RoomSnapshot,
    opening: Option<Opening>,
) -> Result<RoomSnapshot> {
    let channel_type = channel.channel_type();
    if session::has_sessions(&channel_type) {
        return Ok(room);
    }
    let started = SessionStarted {
        room_id: room.room.id.clone(),
        channel_id: message.channel_id.clone(),
        channel_type,
        participant_id: message.sender_id.clone(),
        timestamp: inner.clock.now(),
        session_id: None,
    };
    session::begin_text(inner, scope, started, room, opening).await
}

pub(crate) fn refused(refusal: Refusal) -> Accepted {
    let result = InboundResult {
        blocked: true,
        reason: Some(refusal.code().to_owned()),
        ..InboundResult::default()
    };
    Accepted {
        result,
        cascade: None,
    }
}

/// The first result again, as it was.
async fn repeat(inner: &Arc<Inner>, room: &RoomId, first: IdempotentOutcome) -> Result<Accepted> {
    let IdempotentOutcome {
        event_id,
        blocked,
        reason,
        ..
    } = first;
    let event = find(inner, room, &event_id).await?;
    let result = InboundResult {
        event,
        blocked,
        reason,
        ..InboundResult::default()
    };
    Ok(Accepted {
        result,
        cascade: None,
    })
}

pub(super) async fn find(
    inner: &Inner,
    room: &RoomId,
    event: &EventId,
) -> Result<Option<Arc<crate::model::RoomEvent>>> {
    inner.store.event(room, event).await
}

/// Tells the sender something though their message is not taken.
async fn tell(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    told: InjectedEvent,
) -> Result<Option<Cascade>> {
    told.content.validate()?;
    let pass = Pass::injected(room, told, inner);
    match pass::run(inner, scope, room, pass, Budget::new(inner)).await? {
        Outcome::Committed(committed, added) => {
            Ok(accepted(inner, scope, room.clone(), committed, added).cascade)
        }
        Outcome::Refused(_) | Outcome::Repeated(_) => Ok(None),
    }
}
