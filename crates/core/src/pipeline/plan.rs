//! The delivery set of a committed event, resolved under the room's lock (RFC §10.1 step 12).

use std::sync::Arc;

use super::deliver::{Job, JobKind};
use super::pass::Origin;
use crate::context::RoomContext;
use crate::kit::Inner;
use crate::model::{ChannelBinding, ChannelCategory, ChannelDirection, RoomEvent};
use crate::router::addressing;

/// Who gets the event: each with a place in its lane, taken here so that lanes are in index order.
pub(super) fn plan(
    inner: &Inner,
    event: &Arc<RoomEvent>,
    context: &RoomContext,
    origin: &Origin,
) -> Vec<Job> {
    let source = context.binding(&event.source.channel_id);
    let mut jobs = Vec::new();
    for (order, binding) in context.bindings().iter().enumerate() {
        let Some(kind) = part_of(event, binding, source, context, origin) else {
            continue;
        };
        let lane = (event.room_id.clone(), binding.channel_id.clone());
        jobs.push(Job {
            kind,
            order,
            event: Arc::clone(event),
            binding: Arc::clone(binding),
            source: source.cloned(),
            channel: inner.channel(&binding.channel_id),
            context: context.clone(),
            place: inner.lanes.enqueue(lane, inner.settings.lane_capacity),
        });
    }
    jobs
}

/// What a binding has to do with an event: nothing, carry it, or react to it.
fn part_of(
    event: &RoomEvent,
    binding: &ChannelBinding,
    source: Option<&Arc<ChannelBinding>>,
    context: &RoomContext,
    origin: &Origin,
) -> Option<JobKind> {
    let is_source = binding.channel_id == event.source.channel_id;
    if is_source
        || !binding.can_read()
        || !event
            .visibility
            .allows(&binding.channel_id, binding.category)
    {
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
        _ => {
            let takes = binding.direction != ChannelDirection::Inbound && !binding.output_muted;
            takes.then_some(JobKind::Deliver)
        }
    }
}
