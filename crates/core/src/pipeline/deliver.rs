//! One delivery: an event goes to one channel, which carries it or reacts to it (RFC §10.2 step 3).

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;

use super::lane::LaneTicket;
use super::live::Live;
use super::stream::{self, Followed};
use crate::channel::{Channel, ChannelOutput, Response};
use crate::context::RoomContext;
use crate::error::{Error, Result};
use crate::kit::Inner;
use crate::model::{ChannelBinding, DeliveryError, DeliveryOutcome, DeliveryResult, RoomEvent};
use crate::resilience::{backoff, may_retry};
use crate::router::adapt;
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::inside::Inside;
use crate::telemetry::Parent;

/// A delivery that is planned, with its place in the lane.
pub(crate) struct Job {
    pub(super) kind: JobKind,
    /// The binding's place in the room.
    pub(super) order: usize,
    pub(super) event: Arc<RoomEvent>,
    pub(super) binding: Arc<ChannelBinding>,
    /// The binding the event came through, where there is one.
    pub(super) source: Option<Arc<ChannelBinding>>,
    /// `None` where the channel is attached but not registered in this process.
    pub(super) channel: Option<Arc<dyn Channel>>,
    pub(super) context: RoomContext,
    /// The answer as it was shown while it came, where the channel was among those who saw it.
    pub(super) live: Option<Arc<Live>>,
    /// The span of the event's broadcast, where somebody looks on.
    pub(super) broadcast: Parent,
    /// `None` where the lane was full.
    pub(super) place: Option<LaneTicket>,
}

/// What the channel is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobKind {
    /// Carry the event to its receiver.
    Deliver,
    /// React to it.
    React,
}

/// What became of a job.
pub(super) struct Done {
    pub(super) kind: JobKind,
    pub(super) order: usize,
    pub(super) event: Arc<RoomEvent>,
    pub(super) binding: Arc<ChannelBinding>,
    /// `None` where nothing had to be delivered: the transcoder skipped it.
    pub(super) result: Option<DeliveryResult>,
    pub(super) output: Option<ChannelOutput>,
    /// The streamed ones of the output's answers, in order, as they were shown.
    pub(super) lives: VecDeque<Arc<Live>>,
}

/// Waits for the job's turn in its lane and does it. The place is kept over every retry.
pub(super) async fn run(inner: &Arc<Inner>, job: Job) -> Done {
    let Job {
        kind,
        order,
        event,
        binding,
        source,
        channel,
        context,
        live,
        place,
        ..
    } = job;
    let mut done = Done {
        kind,
        order,
        event,
        binding,
        result: None,
        output: None,
        lives: VecDeque::new(),
    };
    let (Some(place), Some(channel)) = (&place, &channel) else {
        let outcome = if place.is_none() {
            refused("lane_full", "too much is waiting for this channel", true)
        } else {
            refused(
                "channel_not_registered",
                "no such channel in this process",
                false,
            )
        };
        leave_stream(live.as_deref(), &done.binding, &outcome);
        done.result = Some(result(&done, outcome, 0));
        return done;
    };
    place.turn().await;
    let source = source.as_deref();
    let adapted = adapted(inner, &done.event, source, &done.binding).await;
    let event = match adapted {
        Ok(Some(event)) => event,
        Ok(None) => {
            let skipped = refused("skipped", "the transcoder skipped it", false);
            leave_stream(live.as_deref(), &done.binding, &skipped);
            return done;
        }
        Err(error) => {
            let outcome = failed_by(&error);
            leave_stream(live.as_deref(), &done.binding, &outcome);
            done.result = Some(result(&done, outcome, 0));
            return done;
        }
    };
    let context = context.for_reader(&done.binding.channel_id);
    match kind {
        JobKind::Deliver => {
            let streamed = match &live {
                Some(live) => live.finish(&done.binding.channel_id, &event).await,
                None => None,
            };
            let (outcome, attempts) = match streamed {
                Some(outcome) => (outcome, 1),
                None => carry(inner, &**channel, &event, &done.binding, &context).await,
            };
            inner
                .receipts
                .sent(inner, &done.event, &done.binding.channel_id, &outcome);
            done.result = Some(result(&done, outcome, attempts));
        }
        JobKind::React => {
            if inner.greetings.any_under_way() {
                Box::pin(inner.greetings.wait(inner, &done.event.room_id)).await;
            }
            // Boxed, so that the far more frequent delivery is not as large as a turn.
            let reacted = Box::pin(react(inner, &**channel, &event, &done.binding, &context));
            match reacted.await {
                Ok((output, followed)) => {
                    let failed = followed.failure.as_ref().map(failed_by);
                    done.result = failed.map(|outcome| result(&done, outcome, 1));
                    (done.output, done.lives) = (Some(output), followed.lives);
                }
                Err(error) => done.result = Some(result(&done, failed_by(&error), 1)),
            }
        }
    }
    done
}

/// A channel that saw an answer coming and does not get it after all is told so.
fn leave_stream(live: Option<&Live>, binding: &ChannelBinding, outcome: &DeliveryOutcome) {
    if let (Some(live), Some(error)) = (live, outcome.error()) {
        live.retract_from(
            |channel| *channel == binding.channel_id,
            &error.code,
            &error.code,
        );
    }
}

/// The event in the form of its receiver, from a transcoder that may panic or hang.
async fn adapted(
    inner: &Inner,
    event: &Arc<RoomEvent>,
    source: Option<&ChannelBinding>,
    target: &ChannelBinding,
) -> Result<Option<Arc<RoomEvent>>> {
    let adapted = adapt(&*inner.transcoder, event, source, target);
    let limit = inner.settings.delivery_timeout;
    match guard(&*inner.clock, limit, pin!(adapted)).await {
        Ok(adapted) => adapted,
        Err(NoAnswer::Panicked) => Err(Error::channel("the transcoder panicked")),
        Err(NoAnswer::TookTooLong) => Err(Error::channel("the transcoder took too long")),
    }
}

fn result(done: &Done, outcome: DeliveryOutcome, attempts: u32) -> DeliveryResult {
    let mut result = DeliveryResult::new(done.binding.channel_id.clone(), outcome);
    result.attempts = attempts;
    result
}

fn refused(code: &str, message: &str, retryable: bool) -> DeliveryOutcome {
    DeliveryOutcome::Failed(DeliveryError {
        retryable,
        ..DeliveryError::new(code, message)
    })
}

fn failed_by(error: &Error) -> DeliveryOutcome {
    refused(error.code(), error.message(), error.is_retryable())
}

/// Delivers, and tries again as the binding's policy says; what may have been sent is not resent.
async fn carry(
    inner: &Inner,
    channel: &dyn Channel,
    event: &Arc<RoomEvent>,
    binding: &ChannelBinding,
    context: &RoomContext,
) -> (DeliveryOutcome, u32) {
    let mut attempts = 0;
    loop {
        inner.flow.wait_for_rate(inner, binding).await;
        if !inner.flow.allow(inner, &binding.channel_id) {
            let outcome = refused(
                "circuit_open",
                "the channel failed too often and rests",
                true,
            );
            return (outcome, attempts);
        }
        let call = Inside::channel().scope(channel.deliver(event, binding, context));
        let outcome = match guard(&*inner.clock, inner.settings.delivery_timeout, pin!(call)).await
        {
            Ok(outcome) => outcome,
            Err(NoAnswer::Panicked) => {
                DeliveryOutcome::unknown("channel_panicked", "the channel panicked")
            }
            Err(NoAnswer::TookTooLong) => {
                DeliveryOutcome::unknown("delivery_timeout", "the channel took too long")
            }
        };
        attempts += 1;
        let retry = match &outcome {
            DeliveryOutcome::Failed(error)
                if may_retry(binding.retry_policy.as_ref(), attempts - 1, error) =>
            {
                binding
                    .retry_policy
                    .as_ref()
                    .map(|policy| backoff(policy, attempts - 1, error))
            }
            _ => None,
        };
        let Some(delay) = retry else {
            inner.flow.note(inner, &binding.channel_id, &outcome);
            return (outcome, attempts);
        };
        inner.flow.release(&binding.channel_id);
        tracing::warn!(
            room_id = %event.room_id, event_id = %event.id, channel_id = %binding.channel_id,
            attempts, delay_ms = super::pass::millis(delay), "delivery failed, trying again"
        );
        inner.clock.sleep(delay).await;
    }
}

/// Lets an agent react, to the end of its streamed answer.
async fn react(
    inner: &Arc<Inner>,
    channel: &dyn Channel,
    event: &Arc<RoomEvent>,
    binding: &Arc<ChannelBinding>,
    context: &RoomContext,
) -> Result<(ChannelOutput, Followed)> {
    let until = inner.clock.elapsed() + inner.settings.agent_timeout;
    let turn = Inside::channel().scope(channel.on_event(event, binding, context));
    let mut output = match guard(&*inner.clock, inner.settings.agent_timeout, pin!(turn)).await {
        Ok(output) => output?,
        Err(NoAnswer::Panicked) => return Err(Error::channel("the agent panicked")),
        Err(NoAnswer::TookTooLong) => return Err(Error::channel("the agent took too long")),
    };
    let mut followed = Followed::default();
    if let Response::Stream(deltas) = output.response {
        let following = stream::follow(inner, event, binding, deltas, until);
        followed = Inside::channel().scope(following).await;
        output.response = Response::Replies(std::mem::take(&mut followed.replies));
        output.response_metadata.merge(&followed.metadata);
    }
    Ok((output, followed))
}

impl std::fmt::Debug for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Job")
            .field("kind", &self.kind)
            .field("event", &self.event.id)
            .field("channel", &self.binding.channel_id)
            .finish_non_exhaustive()
    }
}
