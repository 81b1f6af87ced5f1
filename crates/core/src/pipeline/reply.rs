//! The answer of an agent: as an event, as a failure, and in its span.

use std::sync::Arc;

use super::pass::Outcome;
use super::system_event;
use crate::channel::Reply;
use crate::error::Result;
use crate::kit::Inner;
use crate::model::{ChannelBinding, ChannelDirection, EventSource, EventType, Metadata, RoomEvent};
use crate::telemetry::Span;

/// The answer as an event: one deeper in the chain, in the thread of what it answers.
pub(super) fn answer_event(
    inner: &Inner,
    trigger: &RoomEvent,
    binding: &ChannelBinding,
    reply: Reply,
    response_metadata: &Metadata,
) -> RoomEvent {
    let mut source = EventSource::new(binding.channel_id.clone(), binding.channel_type.clone());
    source.direction = ChannelDirection::Outbound;
    source.provider = inner.provider_of(&binding.channel_id);
    let changes_another = reply.content.event_type() != EventType::Message;
    let room = trigger.room_id.clone();
    // For an edit or delete the type follows from the content.
    let mut event = RoomEvent::new(room, source, reply.content, inner.clock.now());
    if !changes_another {
        event.event_type = reply.event_type;
    }
    event.chain_depth = trigger.chain_depth.saturating_add(1);
    event.parent_event_id.clone_from(&trigger.parent_event_id);
    event
        .response_visibility
        .clone_from(&trigger.response_visibility);
    event.addressed_to = reply.addressed_to;
    event.visibility = reply.visibility;
    event.metadata = reply.metadata;
    event.metadata.merge(response_metadata);
    event
}

/// The failure of an agent over an event, as hooks are told of it.
pub(super) fn failure_event(
    inner: &Inner,
    event: &RoomEvent,
    binding: &ChannelBinding,
    code: &str,
    message: &str,
) -> Arc<RoomEvent> {
    let body = format!("{} failed", binding.channel_id);
    let at = inner.clock.now();
    let mut failure = system_event(
        &event.room_id,
        EventType::System,
        "error",
        body,
        Metadata::new(),
        at,
    );
    failure.metadata.insert("error", message);
    failure.metadata.insert("error_type", code);
    failure.metadata.insert("error_category", "channel");
    failure.metadata.insert("event_id", event.id.as_str());
    failure
        .metadata
        .insert("channel_id", binding.channel_id.as_str());
    Arc::new(failure)
}

/// Says in the span of an answer what became of it.
pub(super) fn end_reply(mut span: Span, outcome: &Result<Outcome>) {
    if let Some(open) = span.open() {
        let reason = match outcome {
            Ok(Outcome::Committed(committed, _)) => committed.event.blocked_by.as_deref(),
            Ok(Outcome::Refused(refusal)) => Some(refusal.code()),
            Ok(Outcome::Repeated(_)) => Some("repeated"),
            Err(_) => None,
        };
        open.set_some("reason", reason);
    }
    span.end_with(outcome);
}
