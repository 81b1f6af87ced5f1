//! The stages that somebody looks on at: the same as the others, each inside of its span.
//!
//! They stand beside the others, and not within them, because the futures of the pipeline are large and
//! every message pays for what is in them: where nobody looks on, none of this is called.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::deliver::{self, Done, Job, JobKind};
use super::inbound::{self, Accepted};
use super::{Refusal, Scope, direct};
use crate::error::Result;
use crate::kit::Inner;
use crate::model::{ChannelId, DeliveryOutcome, InboundMessage, InboundResult, RoomEvent};
use crate::telemetry::{Parent, Span, SpanName, metric, millis};

/// Takes a message up to the commit, as [`inbound::accept`].
pub(crate) fn accept<'a>(
    inner: &'a Arc<Inner>,
    scope: &'a Scope,
    message: InboundMessage,
) -> BoxFuture<'a, Result<Accepted>> {
    let span = inner.spans.start(SpanName::ProcessInbound, |span| {
        span.set("channel_id", &message.channel_id);
        span.set_some("room_id", message.room_id.as_ref());
    });
    let counted = inner.spans.has_provider();
    let counted = counted.then(|| (message.channel_id.clone(), inner.clock.elapsed()));
    async move {
        let taken = span.run(pin!(inbound::accept(inner, scope, message))).await;
        if let Some((channel, began)) = counted {
            let latency = inner.clock.elapsed().saturating_sub(began);
            count(inner, &channel, &taken, latency);
        }
        left_open(span, taken)
    }
    .boxed()
}

/// A message that is refused before anything is done about it.
pub(crate) fn turned_away(inner: &Inner, message: &InboundMessage, refusal: Refusal) -> Accepted {
    let span = inner.spans.start(SpanName::ProcessInbound, |span| {
        span.set("channel_id", &message.channel_id);
        span.set_some("room_id", message.room_id.as_ref());
        span.set("reason", refusal.code());
    });
    span.end();
    record(inner, &message.channel_id, "refused", Duration::ZERO);
    inbound::refused(refusal)
}

/// Takes an event of the application up to the commit, as [`direct::accept`].
pub(crate) fn send<'a>(
    inner: &'a Arc<Inner>,
    scope: &'a Scope,
    event: RoomEvent,
) -> BoxFuture<'a, Result<Accepted>> {
    let span = inner.spans.start(SpanName::SendEvent, |span| {
        span.set("room_id", &event.room_id);
        span.set("channel_id", &event.source.channel_id);
    });
    async move {
        let taken = span.run(pin!(direct::accept(inner, scope, event))).await;
        left_open(span, taken)
    }
    .boxed()
}

impl Accepted {
    /// As [`settle`](Self::settle), to the end of the span.
    pub(crate) fn settle_observed(mut self) -> BoxFuture<'static, InboundResult> {
        let span = std::mem::take(&mut self.span);
        async move {
            let result = span.run(pin!(self.settle())).await;
            span.end();
            result
        }
        .boxed()
    }

    /// As [`settle_from`](Self::settle_from), to the end of the span.
    pub(crate) async fn settle_observed_from(
        self,
        inner: &Arc<Inner>,
        inside: bool,
    ) -> InboundResult {
        if !inside {
            return self.settle_observed().await;
        }
        let result = self.result.clone();
        inner.tasks.spawn(async move {
            self.settle_observed().await;
        });
        result
    }

    /// Settles in the background, whether somebody looks on or not.
    pub(crate) async fn settle_apart(self) -> InboundResult {
        if self.span.is_open() {
            self.settle_observed().await
        } else {
            self.settle().await
        }
    }
}

/// Says in the span of an event what became of it, and leaves it open for what follows.
fn left_open(mut span: Span, taken: Result<Accepted>) -> Result<Accepted> {
    let mut accepted = match taken {
        Ok(accepted) => accepted,
        Err(error) => {
            span.fail(error.code());
            return Err(error);
        }
    };
    if let Some(open) = span.open() {
        if let Some(event) = &accepted.result.event {
            open.set("room_id", &event.room_id);
            open.set("event_id", &event.id);
            open.set_some("provider", event.source.provider.as_deref());
            // Not the reason of a block, which a hook may say in words.
            open.set_some("reason", event.blocked_by.as_deref());
        }
        open.set_some("reason", accepted.refusal.map(Refusal::code));
    }
    match accepted.cascade {
        Some(_) => accepted.span = span,
        None => span.end(),
    }
    Ok(accepted)
}

/// Counts a message with what became of it.
fn count(inner: &Inner, channel: &ChannelId, taken: &Result<Accepted>, latency: Duration) {
    let status = match taken {
        Err(_) => "error",
        Ok(accepted) if accepted.refusal.is_some() => "refused",
        Ok(accepted) if accepted.result.blocked => "blocked",
        Ok(_) => "accepted",
    };
    record(inner, channel, status, latency);
}

fn record(inner: &Inner, channel: &ChannelId, status: &'static str, latency: Duration) {
    for (name, value) in [
        (metric::INBOUND_MESSAGES, 1.0),
        (metric::INBOUND_LATENCY, millis(latency)),
    ] {
        inner.spans.metric(name, value, |attributes| {
            attributes.set("channel_id", channel);
            attributes.set("status", status);
        });
    }
}

/// Begins the span of a broadcast, inside of which those of its deliveries begin.
pub(super) fn broadcast(inner: &Inner, event: &RoomEvent, jobs: &mut [Job]) -> Span {
    let span = inner.spans.start(SpanName::Broadcast, |span| {
        span.set("room_id", &event.room_id);
        span.set("event_id", &event.id);
        span.set("channel_id", &event.source.channel_id);
        span.set("targets", jobs.len());
    });
    for job in jobs {
        job.broadcast = span.as_parent();
    }
    span
}

/// Waits for the job's turn in its lane and does it, as [`deliver::run`].
pub(super) fn deliver(inner: &Arc<Inner>, job: Job) -> BoxFuture<'_, Done> {
    async move {
        // Waiting is no part of the delivery. At the head of the lane, the turn is had at once again.
        if let (Some(place), Some(_)) = (&job.place, &job.channel) {
            place.turn().await;
        }
        let span = begin(inner, &job);
        let done = span.run(pin!(deliver::run(inner, job))).await;
        end(inner, span, &done);
        done
    }
    .boxed()
}

fn begin(inner: &Inner, job: &Job) -> Span {
    let channel = &job.binding.channel_id;
    let name = match job.kind {
        JobKind::Deliver => SpanName::Deliver,
        JobKind::React => SpanName::AiGenerate,
    };
    let span = inner.spans.start_in(&job.broadcast, name, |span| {
        span.set("room_id", &job.event.room_id);
        span.set("event_id", &job.event.id);
        span.set("channel_id", channel);
        span.set_some("provider", inner.provider_of(channel).as_deref());
        span.set_some("wait_ms", waited(inner, &job.broadcast).map(millis));
    });
    if let Some(waited) = waited(inner, &job.broadcast) {
        inner
            .spans
            .metric(metric::LANE_WAIT, millis(waited), |attributes| {
                attributes.set("channel_id", channel);
            });
    }
    span
}

fn waited(inner: &Inner, broadcast: &Parent) -> Option<Duration> {
    broadcast
        .began()
        .map(|began| inner.clock.elapsed().saturating_sub(began))
}

/// Ends the span with what became of the job.
fn end(inner: &Inner, mut span: Span, done: &Done) {
    let Some(open) = span.open() else { return };
    let latency = millis(open.elapsed());
    let outcome = done.result.as_ref().map(|result| &result.outcome);
    if done.kind == JobKind::Deliver {
        open.set_some(
            "attempts",
            done.result.as_ref().map(|result| result.attempts),
        );
    }
    let status = match (outcome, done.kind) {
        (Some(DeliveryOutcome::Sent { .. }), _) | (None, JobKind::React) => "sent",
        (Some(DeliveryOutcome::Failed(_)), _) => "failed",
        (Some(DeliveryOutcome::Unknown(_)), _) => "unknown",
        (None, JobKind::Deliver) => "skipped",
    };
    let metrics: &[(&'static str, f64)] = match done.kind {
        JobKind::Deliver => &[
            (metric::DELIVERIES, 1.0),
            (metric::DELIVERY_LATENCY, latency),
        ],
        JobKind::React => &[(metric::AGENT_LATENCY, latency)],
    };
    for (name, value) in metrics {
        inner.spans.metric(name, *value, |attributes| {
            attributes.set("channel_id", &done.binding.channel_id);
            attributes.set("status", status);
        });
    }
    match outcome.and_then(DeliveryOutcome::error) {
        None => span.end(),
        Some(error) => span.fail(&error.code),
    }
}
