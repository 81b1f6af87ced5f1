//! The judgement on an event, in the one order that nothing changes: status, repeat, sender, edit or
//! delete, chain depth, hooks, the source's right to write.

use std::pin::pin;
use std::sync::Arc;

use super::pass::{Block, Hooked, Origin, Pass};
use super::{Refusal, Scope, admit, edit, gate, met};
use crate::error::{Error, Result};
use crate::hook::{BeforeBroadcast, HookVerdict};
use crate::kit::{Inner, attach};
use crate::model::{
    EventContent, EventStatus, EventType, Metadata, Observation, RoomEvent, RoomId, RoomStatus,
};
use crate::router::visibility;
use crate::store::{IdempotentOutcome, RoomCommit, RoomSnapshot, RoomUpdate, Speaker};
use crate::sync::inside::Inside;

/// What is to become of an event.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every decision is the large one"
)]
pub(super) enum Decision {
    Refused(Refusal),
    Repeated(IdempotentOutcome),
    /// It is to be committed as it now stands in the pass, blocked or not.
    Ready(RoomCommit, Option<Block>),
}

pub(super) async fn decide(
    inner: &Arc<Inner>,
    scope: &Scope,
    room_id: &RoomId,
    pass: &mut Pass,
) -> Result<Decision> {
    let mut room = inner.visible_room_in_time(scope, room_id).await?;
    if !room.room.status.accepts_events() {
        return Ok(Decision::Refused(Refusal::RoomClosed));
    }
    if let Some(key) = &pass.draft.idempotency_key
        && let Some(outcome) = inner.store.idempotent_outcome(room_id, key).await?
    {
        return Ok(Decision::Repeated(outcome));
    }
    if admit::is_a_question(inner, &room.room, pass)
        && let Some(refusal) = Box::pin(admit::admit(inner, &room, pass)).await?
    {
        return Ok(Decision::Refused(refusal));
    }
    if let Some(attached) = attach_unbound(inner, &room, pass).await? {
        room = attached;
    }
    normalise(inner, room_id, pass).await?;
    if matches!(&pass.origin, Origin::Inbound { person, .. } if person.is_some()) {
        Box::pin(met::meet(inner, room_id, pass)).await?;
    }
    let target = match edit::target_of(&pass.draft.content).cloned() {
        None => None,
        Some(target) => match edit::authorize(inner, &room, pass, &target).await? {
            Ok(target) => Some(target),
            Err(refusal) => return Ok(Decision::Refused(refusal)),
        },
    };
    let block = judge(inner, &room, pass).await?;
    Ok(Decision::Ready(
        prepare(inner, &room, pass, target, block.as_ref()),
        block,
    ))
}

/// Attaches the channel of an inbound that is not attached, unless it was detached before.
async fn attach_unbound(
    inner: &Arc<Inner>,
    room: &RoomSnapshot,
    pass: &Pass,
) -> Result<Option<RoomSnapshot>> {
    let channel = &pass.draft.source.channel_id;
    if pass.origin.is_system(&pass.draft) || room.binding(channel).is_some() {
        return Ok(None);
    }
    match &pass.origin {
        Origin::Inbound { .. } if !room.detached.contains(channel) => {
            let binding = attach::default_binding(inner, &room.room.id, channel)?;
            attach::commit(inner, room, binding).await.map(Some)
        }
        Origin::Direct => Err(Error::not_attached(channel, &room.room.id)),
        _ => Ok(None),
    }
}

/// Makes a reply point at the root of its thread; threads have two levels (RFC §5.2).
async fn normalise(inner: &Inner, room: &RoomId, pass: &mut Pass) -> Result<()> {
    let Some(parent) = &pass.draft.parent_event_id else {
        return Ok(());
    };
    let parent = inner.store.event(room, parent).await?;
    if parent.is_none() {
        // A reference that leads nowhere must not lose what was said: it stands at the top.
        tracing::warn!(room_id = %room, event_id = %pass.draft.id, "parent event not found");
    }
    let root = parent.map(|parent| parent.parent_event_id.clone().unwrap_or(parent.id.clone()));
    if root != pass.draft.parent_event_id {
        pass.draft.edit().parent_event_id = root;
    }
    Ok(())
}

/// Chain depth, hooks, gate. What the hooks said once holds for every later try.
async fn judge(inner: &Arc<Inner>, room: &RoomSnapshot, pass: &mut Pass) -> Result<Option<Block>> {
    let too_deep = pass.draft.chain_depth >= inner.settings.max_chain_depth;
    if too_deep && matches!(pass.origin, Origin::Reply { .. }) {
        return Ok(Some(Refusal::EventChainDepthLimit.into()));
    }
    let is_last = pass.draft.chain_depth.saturating_add(1) >= inner.settings.max_chain_depth;
    if is_last && matches!(pass.origin, Origin::Reply { .. }) {
        let (event, depth) = (&pass.draft.id, pass.draft.chain_depth);
        tracing::warn!(room_id = %room.room.id, event_id = %event, chain_depth = depth, "no answer may follow this one");
    }
    if pass.hooked.is_none() {
        pass.hooked = Some(run_hooks(inner, room, pass).await?);
    }
    if let Some(block) = pass.hooked.as_ref().and_then(|hooked| hooked.block.clone()) {
        return Ok(Some(block));
    }
    let binding = room.binding(&pass.draft.source.channel_id);
    Ok(
        gate::may_write(&pass.origin, &pass.draft, binding.map(|binding| &**binding))
            .err()
            .map(Into::into),
    )
}

async fn run_hooks(inner: &Arc<Inner>, room: &RoomSnapshot, pass: &mut Pass) -> Result<Hooked> {
    if inner.hooks.has_provider() {
        Inside::under_lock(inner.id, &room.room.id)
            .scope(inner.hooks.load(&room.room))
            .await?;
    }
    let seen = pass.seen.take();
    if !inner.hooks.may_have::<BeforeBroadcast>(false) {
        return Ok(Hooked::default());
    }
    let context = seen
        .filter(|context| context.is_of(room))
        .unwrap_or_else(|| inner.context(room.clone()));
    let before = &pass.draft;
    let acceptable = |changed: &crate::draft::EventDraft| {
        if !changed.is_draft_of(before) {
            return Err("it is the draft of another event".to_owned());
        }
        changed
            .content
            .validate()
            .map_err(|invalid| invalid.to_string())?;
        edit::still_about(&before.content, &changed.content)
    };
    let outcome = {
        // Pinned here, so that it is not moved once more into its scope.
        let hooks = inner
            .hooks
            .run::<BeforeBroadcast>(&context, before.clone(), acceptable);
        let hooks = pin!(hooks);
        Inside::under_lock(inner.id, &room.room.id)
            .scope(hooks)
            .await
    };
    let mut effects = outcome.effects;
    if let (Origin::Injected, Some(effects)) = (&pass.origin, &mut effects) {
        effects.injected.clear();
    }
    let block = match outcome.verdict {
        HookVerdict::Allowed(draft) => {
            pass.stated = draft.visibility.clone();
            pass.draft = draft;
            None
        }
        HookVerdict::Blocked { reason, blocked_by } => Some(Block {
            reason,
            blocked_by,
            refusal: None,
        }),
    };
    Ok(Hooked {
        block,
        effects,
        failures: outcome.failures,
    })
}

/// Finishes the event in the pass and puts together all that is committed with it.
fn prepare(
    inner: &Inner,
    room: &RoomSnapshot,
    pass: &mut Pass,
    target: Option<Arc<RoomEvent>>,
    block: Option<&Block>,
) -> RoomCommit {
    let now = inner.clock.now();
    let source = room.binding(&pass.draft.source.channel_id).cloned();
    let response = match &pass.origin {
        Origin::Reply { trigger } => trigger.response_visibility.as_ref(),
        _ => None,
    };
    let mut visibility = visibility::stamp(&pass.stated, source.as_deref(), response, room);
    if let Some(target) = &target {
        // A change tells of its target: no channel that may not see the one may see the other.
        visibility = visibility::both(visibility, &target.visibility, room);
    }
    let is_kept = block.is_some()
        || matches!(pass.origin, Origin::Injected)
        || inner.keeps(pass.draft.event_type);
    let event = pass.draft.edit();
    event.index = if is_kept { room.room.next_index() } else { 0 };
    event.visibility = visibility;
    event.blocked_by = block.map(|block| block.blocked_by.clone());
    event.status = if block.is_some() {
        EventStatus::Blocked
    } else {
        EventStatus::Delivered
    };
    let event = pass.draft.share();

    let mut commit = RoomCommit::new(room.room.id.clone(), Some(room.version), now);
    if let (None, Some(target)) = (block, target) {
        commit.edited = Some(Arc::new(edit::apply(&target, &event)));
    }
    // Who was kept out of the room does not take part in it, nor are their messages routed to it.
    let is_kept_out = block.and_then(|block| block.refusal) == Some(Refusal::SourceUnbound);
    let origin = &mut pass.origin;
    if let (Origin::Inbound { met, .. }, true) = (&mut *origin, is_kept_out) {
        *met = None;
    }
    if let (
        Origin::Inbound {
            sender_id,
            person,
            met,
        },
        false,
    ) = (&*origin, is_kept_out)
    {
        commit.speaker = event
            .source
            .participant_id
            .clone()
            .map(|participant_id| Speaker {
                participant_id,
                sender_id: sender_id.clone(),
                channel_id: event.source.channel_id.clone(),
                channel_type: event.source.channel_type.clone(),
            });
        commit.participants.extend(person.as_deref().cloned());
        let earlier = met.as_ref().and_then(|met| met.earlier.clone());
        commit.participants.extend(earlier);
    }
    commit.idempotency = event.idempotency_key.clone().map(|key| IdempotentOutcome {
        key,
        event_id: event.id.clone(),
        blocked: block.is_some(),
        reason: block.map(|block| block.reason.clone()),
    });
    commit.tasks.clone_from(&pass.tasks);
    commit.observations.clone_from(&pass.observations);
    if let Some(effects) = pass
        .hooked
        .as_ref()
        .and_then(|hooked| hooked.effects.as_ref())
    {
        commit.tasks.extend_from_slice(&effects.tasks);
        commit.observations.extend_from_slice(&effects.observations);
    }
    if block.and_then(|block| block.refusal) == Some(Refusal::EventChainDepthLimit) {
        commit.observations.push(depth_exceeded(&event, now));
    }
    merge_metadata(&mut commit, pass.metadata_updates.clone());
    let resumes = room.room.status == RoomStatus::Paused && block.is_none();
    if resumes && !matches!(pass.origin, Origin::Injected) {
        commit.room.get_or_insert_default().status = Some(RoomStatus::Active);
    }
    if is_kept {
        commit.event = Some(event);
    } else {
        keep_alive(&mut commit, &room.room);
    }
    commit
}

/// Says that a room is in use though the event that says so is not kept. A room without timers has
/// nothing that this would be of use for.
fn keep_alive(commit: &mut RoomCommit, room: &crate::model::Room) {
    let timers = &room.timers;
    if timers.inactive_after_seconds.is_some() || timers.closed_after_seconds.is_some() {
        let mut timers = timers.clone();
        timers.last_activity_at = Some(commit.at);
        commit.room.get_or_insert_default().timers = Some(timers);
    }
}

/// Sets entries of the room's metadata with the commit.
pub(super) fn merge_metadata(commit: &mut RoomCommit, updates: Metadata) {
    if !updates.is_empty() {
        let room: &mut RoomUpdate = commit.room.get_or_insert_default();
        room.merge_metadata = updates;
    }
}

fn depth_exceeded(event: &RoomEvent, at: chrono::DateTime<chrono::Utc>) -> Observation {
    let content = format!("chain depth {} reached", event.chain_depth);
    let channel = event.source.channel_id.clone();
    Observation::new(
        event.room_id.clone(),
        channel,
        "event_chain_depth_exceeded",
        content,
        at,
    )
}

impl Origin {
    /// Whether the event is the framework's or a hook's own, or the application's in its name.
    pub(super) fn is_system(&self, event: &RoomEvent) -> bool {
        matches!(self, Self::Injected) || event.source.channel_id == *crate::kit::SYSTEM_CHANNEL
    }
}

/// The type that content asks for: an edit is an edit whatever the message says it is.
pub(crate) fn type_of(content: &EventContent, stated: EventType) -> Result<EventType> {
    let by_content = match content {
        EventContent::Edit(_) => Some(EventType::Edit),
        EventContent::Delete(_) => Some(EventType::Delete),
        _ => None,
    };
    match (by_content, stated) {
        (Some(event_type), _) => Ok(event_type),
        (None, EventType::Edit | EventType::Delete) => Err(Error::new(
            crate::ErrorKind::InvalidInput,
            format!(
                "content: a {stated} event needs {stated} content, not {}",
                content.type_name()
            ),
        )),
        (None, stated) => Ok(stated),
    }
}
