//! A message from outside, from its arrival to the commit (RFC §10.1).

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;

use super::decide::type_of;
use super::identify::{self, TurnedAway};
use super::pass::{self, Budget, Committed, Outcome, Pass};
use super::reenter::Settled;
use super::route::Made;
use super::turn_away::turn_away;
use super::{Cascade, Refusal, Scope, route};
use crate::clock::Elapsed;
use crate::context::RoomContext;
use crate::error::{Error, ErrorKind, Result};
use crate::kit::Inner;
use crate::model::{EventId, InboundMessage, InboundResult, RoomId};
use crate::store::IdempotentOutcome;
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
            inner.tell_of_timeout(None, None);
            return Ok(refused(Refusal::ProcessTimeout));
        }
    };
    let Prepared {
        room,
        pass,
        turned_away,
        turn,
    } = prepared;
    if let Some(turned) = turned_away {
        let Turned {
            context,
            made,
            turned,
        } = *turned;
        let place = match &turn {
            Some(turn) => Inside::in_turn(inner.id, turn.key()),
            None => Inside::channel(),
        };
        let turned_away = turn_away(inner, scope, &context, made, pass, turned);
        return Box::pin(place.scope(turned_away)).await;
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
            // What panics here is not to make a failure of a message that is stored.
            let settled = AssertUnwindSafe(cascade.run()).catch_unwind().await;
            let Settled {
                results,
                error,
                response_metadata,
            } = settled.unwrap_or_else(|_panic| Settled {
                error: Some(Error::panicked().to_string()),
                ..Settled::default()
            });
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
    turned_away: Option<Box<Turned>>,
    /// Keeps the sender's next message waiting until this one is in.
    turn: Option<crate::sync::queue::Ticket<route::RouteKey>>,
}

/// A message whose sender is turned away, in the room as it was then.
struct Turned {
    context: RoomContext,
    made: Option<Box<Made>>,
    turned: TurnedAway,
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
    let channel_type = channel.channel_type();
    if !channel.names_its_senders() {
        let written = message.sender_id.as_str();
        let canonical = inner.addresses.canonical(&channel_type, written);
        if *canonical != *written {
            message.sender_id = canonical.as_ref().into();
        }
    }
    let routed = route::route(inner, scope, &message, &*channel).await?;
    let mut made = routed.made;
    let mut room = routed.room;
    if let Some(made) = made.take_if(|made| made.stays) {
        // Boxed: most messages come into a room that is there.
        room = Box::pin(made.begin(scope, room)).await?;
    }
    let (store, clock) = (Arc::clone(&inner.store), Arc::clone(&inner.clock));
    let mut context = RoomContext::of_arrival(room, store, clock, channel_type);
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
    let turned_away = match turned_away {
        Some(turned) => Some(Box::new(Turned {
            context,
            made,
            turned,
        })),
        None => {
            if let Some(made) = made {
                let room = Box::pin(made.begin(scope, context.snapshot().clone())).await?;
                let (store, clock) = (Arc::clone(&inner.store), Arc::clone(&inner.clock));
                context = RoomContext::of_arrival(room, store, clock, channel.channel_type());
            }
            pass.seen = Some(context);
            None
        }
    };
    Ok(Prepared {
        room,
        pass,
        turned_away,
        turn: routed.turn,
    })
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
pub(super) async fn repeat(
    inner: &Arc<Inner>,
    room: &RoomId,
    first: IdempotentOutcome,
) -> Result<Accepted> {
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
    inner.read(inner.store.event(room, event)).await
}
