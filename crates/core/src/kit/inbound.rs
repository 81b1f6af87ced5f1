//! Messages from outside.
//!
//! Its rules: RFC §10.1.

use std::sync::Arc;

use tokio::sync::oneshot;

use super::{Rooms, close};
use crate::error::Result;
use crate::model::{InboundMessage, InboundResult};
use crate::pipeline::{self, Refusal, observed};
use crate::sync::inside::Inside;
use crate::telemetry::SpanName;

/// Waits for the deliveries of a message whose caller did not.
#[derive(Debug)]
pub struct DeliveryHandle {
    settled: oneshot::Receiver<InboundResult>,
}

impl DeliveryHandle {
    /// The result once the event and all that it caused is done, with its delivery results.
    /// Dropping the handle does not stop the deliveries.
    ///
    /// # Errors
    /// [`KitClosed`](crate::ErrorKind::KitClosed): the kit went away before.
    pub async fn wait(self) -> Result<InboundResult> {
        self.settled.await.map_err(|_gone| close::closed())
    }
}

impl Rooms {
    /// Takes a message through the pipeline (RFC §10.1). Returns when the event and all that it
    /// caused is done: deliveries, agents' answers and what follows from them.
    ///
    /// A room that the message names and that does not exist is created. A message that names none
    /// goes to the only open room that fits its channel and sender; where none or several do, to a
    /// new one (RFC §10.4).
    ///
    /// A message that is refused is a result, `blocked` with its reason. The call may be dropped at
    /// any time; a pass that has begun goes on to its end. A call from inside a channel or a hook
    /// returns once the event is committed, since what follows may be waiting for its caller.
    ///
    /// # Errors
    /// - [`ChannelNotRegistered`](crate::ErrorKind::ChannelNotRegistered).
    /// - [`RoomNotFound`](crate::ErrorKind::RoomNotFound): the room that is named is another
    ///   organisation's.
    /// - [`InvalidInput`](crate::ErrorKind::InvalidInput): the content is not acceptable; it names the field.
    /// - [`InsideRoomLock`](crate::ErrorKind::InsideRoomLock): called by a hook or channel for the room,
    ///   or for the sender without a room, whose event it is dealing with.
    /// - [`StoreFailed`](crate::ErrorKind::StoreFailed), [`KitClosed`](crate::ErrorKind::KitClosed).
    /// - [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown): the message may be stored or not, since
    ///   the store did not answer; every other error says that it is not. A repeat with the same
    ///   idempotency key is stored once either way.
    pub async fn process_inbound(&self, message: InboundMessage) -> Result<InboundResult> {
        let inner = self.inner();
        if inner.spans.may_watch(SpanName::ProcessInbound) {
            return Box::pin(self.process_observed(message)).await;
        }
        let (running, scope) = (Arc::clone(inner), self.scope.clone());
        let inside = Inside::current();
        let is_inside = inside.is_some();
        inner
            .run_to_end(
                inside,
                Box::pin(async move {
                    running.closing.check()?;
                    if !running.intake.admits(&running, &scope, &message) {
                        return Ok(pipeline::inbound::refused(Refusal::RateLimited).result);
                    }
                    let accepted = pipeline::inbound::accept(&running, &scope, message).await?;
                    Ok(accepted.settle_from(&running, is_inside).await)
                }),
            )
            .await
    }

    /// As [`process_inbound`](Self::process_inbound), where somebody looks on.
    async fn process_observed(&self, message: InboundMessage) -> Result<InboundResult> {
        let inner = self.inner();
        let (running, scope) = (Arc::clone(inner), self.scope.clone());
        let inside = Inside::current();
        let is_inside = inside.is_some();
        let call = async move {
            running.closing.check()?;
            if !running.intake.admits(&running, &scope, &message) {
                let limited = Refusal::RateLimited;
                return Ok(observed::turned_away(&running, &message, limited).result);
            }
            let accepted = observed::accept(&running, &scope, message).await?;
            Ok(accepted.settle_observed_from(&running, is_inside).await)
        };
        inner.run_to_end(inside, Box::pin(call)).await
    }

    /// As [`process_inbound`](Self::process_inbound), but returns once the event is committed or
    /// refused; deliveries go on in the background, and the handle waits for them.
    ///
    /// # Errors
    /// As [`process_inbound`](Self::process_inbound).
    pub async fn process_inbound_deferred(
        &self,
        message: InboundMessage,
    ) -> Result<(InboundResult, DeliveryHandle)> {
        let inner = self.inner();
        let (running, scope) = (Arc::clone(inner), self.scope.clone());
        inner
            .run_to_end(
                Inside::current(),
                Box::pin(async move {
                    running.closing.check()?;
                    let accepted = if running.intake.admits(&running, &scope, &message) {
                        if running.spans.may_watch(SpanName::ProcessInbound) {
                            observed::accept(&running, &scope, message).await?
                        } else {
                            pipeline::inbound::accept(&running, &scope, message).await?
                        }
                    } else {
                        observed::turned_away(&running, &message, Refusal::RateLimited)
                    };
                    let result = accepted.result.clone();
                    let (sender, settled) = oneshot::channel();
                    running.tasks.spawn(async move {
                        // Nobody may be waiting.
                        let _ = sender.send(accepted.settle_apart().await);
                    });
                    Ok((result, DeliveryHandle { settled }))
                }),
            )
            .await
    }
}
