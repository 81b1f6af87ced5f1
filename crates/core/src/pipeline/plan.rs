//! The delivery set of a committed event, resolved under the room's lock (RFC §10.1 step 12).

use std::sync::Arc;

use super::deliver::{Job, JobKind};
use super::loop_guard::{LoopGuard, Verdict};
use super::pass::Origin;
use crate::context::RoomContext;
use crate::kit::Inner;
use crate::model::{
    ChannelBinding, ChannelCategory, ChannelDirection, FrameworkEventType, RoomEvent,
};
use crate::router::addressing;

/// Who gets the event: each with a place in its lane, taken here so that lanes are in index order.
pub(super) fn plan(
    inner: &Inner,
    event: &Arc<RoomEvent>,
    context: &RoomContext,
    origin: &Origin,
) -> Vec<Job> {
    let source = context.binding(&event.source.channel_id);
    let part = |binding: &Arc<ChannelBinding>| part_of(event, binding, source, context, origin);
    let asks_no_agent = inner.settings.loop_guard.is_some_and(|guard| {
        context
            .bindings()
            .iter()
            .any(|binding| part(binding) == Some(JobKind::React))
            && goes_in_circles(inner, guard, event)
    });
    let mut jobs = Vec::new();
    for (order, binding) in context.bindings().iter().enumerate() {
        let Some(kind) = part(binding) else { continue };
        if asks_no_agent && kind == JobKind::React {
            continue;
        }
        jobs.push(job(inner, event, context, kind, order, binding));
    }
    jobs
}

/// The agents that an event asks, to be asked again: nobody else gets anything, and what comes after
/// the event is no history of theirs.
pub(super) fn plan_again(inner: &Inner, event: &Arc<RoomEvent>, context: &RoomContext) -> Vec<Job> {
    let source = context.binding(&event.source.channel_id);
    let asked = |binding: &Arc<ChannelBinding>| {
        part_of(event, binding, source, context, &Origin::Direct) == Some(JobKind::React)
    };
    let until = context.clone().until(event.index);
    let bindings = context.bindings().iter().enumerate();
    bindings
        .filter(|(_, binding)| asked(binding))
        .map(|(order, binding)| job(inner, event, &until, JobKind::React, order, binding))
        .collect()
}

fn job(
    inner: &Inner,
    event: &Arc<RoomEvent>,
    context: &RoomContext,
    kind: JobKind,
    order: usize,
    binding: &Arc<ChannelBinding>,
) -> Job {
    let lane = (event.room_id.clone(), binding.channel_id.clone());
    Job {
        kind,
        order,
        event: Arc::clone(event),
        binding: Arc::clone(binding),
        source: context.binding(&event.source.channel_id).cloned(),
        channel: inner.channel(&binding.channel_id),
        context: context.clone(),
        live: None,
        place: inner.lanes.enqueue(lane, inner.settings.lane_capacity),
    }
}

/// Whether the loop guard lets this event ask no agent; the first that it stops is told of.
fn goes_in_circles(inner: &Inner, guard: LoopGuard, event: &RoomEvent) -> bool {
    let verdict = inner.watched.judge(guard, event, inner.clock.elapsed());
    if verdict == Verdict::Tripped {
        tracing::warn!(room_id = %event.room_id, event_id = %event.id, "loop detected, agents are not asked");
        inner.emit(FrameworkEventType::LoopDetected, |notice| {
            notice.room_id = Some(event.room_id.clone());
            notice.event_id = Some(event.id.clone());
            notice.channel_id = Some(event.source.channel_id.clone());
        });
    }
    verdict != Verdict::Admitted
}

/// What a binding has to do with an event: nothing, carry it, or react to it.
fn part_of(
    event: &RoomEvent,
    binding: &ChannelBinding,
    source: Option<&Arc<ChannelBinding>>,
    context: &RoomContext,
    origin: &Origin,
) -> Option<JobKind> {
    if !may_see(event, binding) {
        return None;
    }
    match binding.category {
        ChannelCategory::Intelligence => {
            let policy = context.room().agent_response_policy;
            let category = source.map(|source| source.category);
            let asked = !matches!(origin, Origin::Injected)
                && addressing::is_solicited(event, category, policy, binding);
            asked.then_some(JobKind::React)
        }
        _ => is_carried(event, binding).then_some(JobKind::Deliver),
    }
}

fn may_see(event: &RoomEvent, binding: &ChannelBinding) -> bool {
    let (id, category) = (&binding.channel_id, binding.category);
    *id != event.source.channel_id && binding.can_read() && event.visibility.allows(id, category)
}

/// Whether a transport carries an event with this source and visibility.
pub(super) fn is_carried(event: &RoomEvent, binding: &ChannelBinding) -> bool {
    may_see(event, binding)
        && binding.direction != ChannelDirection::Inbound
        && !binding.output_muted
}
