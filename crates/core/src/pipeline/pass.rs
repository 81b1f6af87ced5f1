//! One pass: under the room's lock an event is judged, committed and its deliveries are planned.

use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::decide::{self, Decision};
use super::deliver::Job;
use super::met::{self, Met};
use super::{Refusal, Scope, plan};
use crate::clock::{self, Elapsed};
use crate::context::RoomContext;
use crate::draft::EventDraft;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{
    BeforeBroadcast, HookEffects, HookFailure, InjectedEvent, OnEventDeleted, OnEventUpdated,
    OnParticipantIdentified, OnTaskCreated,
};
use crate::kit::Inner;
use crate::model::{
    ChannelId, EventContent, EventSource, EventType, FrameworkEventType, InboundMessage, Metadata,
    Observation, Participant, ParticipantId, RoomEvent, RoomId, Task, Visibility,
};
use crate::store::{IdempotentOutcome, RoomCommit};
use crate::sync::inside::Inside;
use crate::telemetry::SpanName;

/// How often a pass starts over because another process changed the room in between.
pub(super) const MOST_CONFLICTS: usize = 32;

/// How many events the hooks of one event may add.
const MOST_INJECTED: usize = 64;

/// Where an event comes from.
#[derive(Debug)]
pub(crate) enum Origin {
    /// From outside, over a channel.
    Inbound {
        /// The sender as the channel knows them.
        sender_id: ParticipantId,
        /// Who identity resolution says it is, to be stored with the event.
        person: Option<Box<Participant>>,
        /// What the message makes known of that person.
        met: Option<Box<Met>>,
    },
    /// From the application, in the name of a channel.
    Direct,
    /// From an agent, about an earlier event.
    Reply {
        /// The event it answers.
        trigger: Arc<RoomEvent>,
    },
    /// From an agent that greets.
    Greeting,
    /// From a hook or from the framework.
    Injected,
}

impl Origin {
    /// Whether the event comes from outside of the pipeline.
    fn is_outside(&self) -> bool {
        matches!(self, Self::Inbound { .. } | Self::Direct | Self::Greeting)
    }
}

/// An event on its way through one pass.
#[derive(Debug)]
pub(crate) struct Pass {
    pub(crate) origin: Origin,
    pub(crate) draft: EventDraft,
    /// What the event itself said about who may see it, before anything was stamped.
    pub(super) stated: Visibility,
    /// What its channel brought along with it.
    pub(crate) tasks: Vec<Task>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) metadata_updates: Metadata,
    /// The room as it was before the lock, for the hooks where it has not changed since. Not kept up
    /// to the commit, which would then have to copy what it shares.
    pub(super) seen: Option<RoomContext>,
    /// What the hooks said; they are asked once, however often the commit has to be tried.
    pub(super) hooked: Option<Hooked>,
}

/// What the hooks made of an event.
#[derive(Debug, Default)]
pub(super) struct Hooked {
    pub(super) block: Option<Block>,
    pub(super) effects: Option<Box<HookEffects>>,
    pub(super) failures: Vec<HookFailure>,
}

/// Why an event was stored as blocked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    pub(crate) reason: String,
    pub(crate) blocked_by: String,
    /// Set where the pipeline itself refused it.
    pub(crate) refusal: Option<Refusal>,
}

impl From<Refusal> for Block {
    fn from(refusal: Refusal) -> Self {
        let code = refusal.code().to_owned();
        Self {
            reason: code.clone(),
            blocked_by: code,
            refusal: Some(refusal),
        }
    }
}

/// An event that is in the timeline, and what is still to be done about it.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) event: Arc<RoomEvent>,
    pub(crate) block: Option<Block>,
    pub(crate) context: RoomContext,
    pub(crate) jobs: Vec<Job>,
    edited: Option<Arc<RoomEvent>>,
    tasks: Vec<Task>,
    failures: Vec<HookFailure>,
    /// Tells that it is known now who the sender is.
    identified: Option<Arc<RoomEvent>>,
}

/// What a pass came to.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing was stored.
    Refused(Refusal),
    /// The event had been here before.
    Repeated(IdempotentOutcome),
    /// The event, and the events that hooks added after it.
    Committed(Committed, Vec<Committed>),
}

/// How much of the time before the commit is left (RFC §13.6).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    until: Duration,
}

impl Budget {
    pub(crate) fn new(inner: &Inner) -> Self {
        Self {
            until: inner
                .clock
                .elapsed()
                .saturating_add(inner.settings.process_timeout),
        }
    }

    /// Runs `future` in the time that is left.
    pub(crate) async fn limit<F: Future>(
        self,
        inner: &Inner,
        future: Pin<&mut F>,
    ) -> Result<F::Output, Elapsed> {
        clock::timeout_at(&*inner.clock, self.until, future).await
    }
}

impl Pass {
    pub(crate) fn new(origin: Origin, draft: EventDraft) -> Self {
        let stated = draft.visibility.clone();
        Self {
            origin,
            draft,
            stated,
            tasks: Vec::new(),
            observations: Vec::new(),
            metadata_updates: Metadata::new(),
            seen: None,
            hooked: None,
        }
    }

    pub(super) fn injected(room: &RoomId, injected: InjectedEvent, inner: &Inner) -> Self {
        let mut event = RoomEvent::new(
            room.clone(),
            EventSource::system(),
            injected.content,
            inner.clock.now(),
        );
        event.event_type = EventType::System;
        event.visibility =
            Visibility::channels(injected.target_channel_ids.iter().map(ChannelId::as_str));
        event.metadata = injected.metadata;
        Self::new(Origin::Injected, EventDraft::new(event))
    }
}

/// Takes `pass` through the room's lock. Returns once the lock is released again.
pub(crate) async fn run(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    mut pass: Pass,
    budget: Budget,
) -> Result<Outcome> {
    Inside::check(inner.id, room)?;
    let Ok(lock) = budget.limit(inner, pin!(inner.locks.acquire(room))).await else {
        return Ok(timed_out(inner, &pass));
    };
    let lock = lock?;
    let outcome = commit(inner, scope, room, &mut pass, budget, lock.token()).await?;
    let (committed, injections) = match outcome {
        Step::Done(outcome) => {
            drop(lock);
            refused(inner, &pass, &outcome);
            Box::pin(keep_effects(inner, room, pass)).await?;
            return Ok(outcome);
        }
        Step::Committed(committed, injections) => (committed, injections),
    };
    let mut added = Vec::new();
    for injected in injections {
        if let Err(error) = injected.content.validate() {
            let error = Error::from(error);
            tracing::error!(room_id = %room, code = error.code(), error = %inner.shown(&error), "injected event is not acceptable");
            continue;
        }
        let mut pass = Pass::injected(room, injected, inner);
        let budget = Budget::new(inner);
        let adding = commit(inner, scope, room, &mut pass, budget, lock.token());
        // The event that they follow is stored: a panic here is not to lose what is due for it.
        let adding = AssertUnwindSafe(adding).catch_unwind().await;
        match adding.unwrap_or_else(|_panic| Err(Error::panicked())) {
            Ok(Step::Committed(committed, _)) => added.push(committed),
            Ok(Step::Done(outcome)) => {
                refused(inner, &pass, &outcome);
                // The others would hold the room as long again.
                if matches!(outcome, Outcome::Refused(Refusal::ProcessTimeout)) {
                    break;
                }
            }
            Err(error) => {
                tracing::error!(room_id = %room, code = error.code(), error = %inner.shown(&error), "injected event was not stored");
                if error.kind() == ErrorKind::OutcomeUnknown {
                    break;
                }
            }
        }
    }
    drop(lock);
    released(inner, &committed);
    for committed in &added {
        released(inner, committed);
    }
    Ok(Outcome::Committed(committed, added))
}

enum Step {
    Done(Outcome),
    Committed(Committed, Vec<InjectedEvent>),
}

/// Judges and commits, again where the room has changed in between.
async fn commit(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    pass: &mut Pass,
    budget: Budget,
    token: Option<crate::sync::FencingToken>,
) -> Result<Step> {
    for _ in 0..MOST_CONFLICTS {
        let decision = {
            let decided = pin!(decide::decide(inner, scope, room, pass));
            budget.limit(inner, decided).await
        };
        let Ok(decision) = decision else {
            return Ok(Step::Done(timed_out(inner, pass)));
        };
        let decision = match decision {
            Err(error) if error.kind() == ErrorKind::VersionConflict => {
                tracing::debug!(room_id = %room, code = error.code(), error = %inner.shown(&error), "room changed meanwhile, deciding anew");
                continue;
            }
            decision => decision?,
        };
        let (mut commit, block) = match decision {
            Decision::Refused(refusal) => return Ok(Step::Done(Outcome::Refused(refusal))),
            Decision::Repeated(outcome) => return Ok(Step::Done(Outcome::Repeated(outcome))),
            Decision::Ready(commit, block) => (commit, block),
        };
        commit.fencing = token;
        let edited = commit.edited.clone();
        let tasks = commit.tasks.clone();
        let changes_room = commit.room.is_some();
        let kept = commit.event.is_some();
        let committed = if commit.is_empty() {
            // An event that is not kept, with nothing beside it.
            inner.visible_room(scope, room).await
        } else {
            let span = inner.spans.start(SpanName::StoreEvent, |span| {
                span.set("room_id", room);
                span.set("event_id", &pass.draft.id);
                span.set("channel_id", &pass.draft.source.channel_id);
            });
            let stored = span.run(pin!(inner.commit(commit))).await;
            span.end_with(&stored);
            stored
        };
        let snapshot = match committed {
            Ok(snapshot) => snapshot,
            Err(error) if error.kind() == ErrorKind::VersionConflict => {
                tracing::debug!(room_id = %room, code = error.code(), error = %inner.shown(&error), "room changed meanwhile, deciding anew");
                continue;
            }
            // Boxed: a store seldom fails, and every pass would be larger.
            Err(error) => Box::pin(inner.after_failed_commit(room, &pass.draft.id, error)).await?,
        };
        let event = pass.draft.share();
        if kept {
            stored_log(inner, &event);
        }
        let context = inner.context(snapshot);
        if changes_room {
            // A paused room that is active again has another timer running.
            inner.timers.note(inner, context.room());
        }
        let jobs = match block {
            None => plan::plan(inner, &event, &context, &pass.origin),
            Some(_) => Vec::new(),
        };
        let hooked = pass.hooked.take();
        let (mut failures, mut injections) = hooked.map_or_else(Default::default, |hooked| {
            let injected = hooked.effects.map(|effects| effects.injected);
            (hooked.failures, injected.unwrap_or_default())
        });
        if !pass.origin.is_outside() {
            failures.clear();
        }
        if injections.len() > MOST_INJECTED {
            tracing::warn!(room_id = %room, dropped = injections.len() - MOST_INJECTED, "too many injected events");
            injections.truncate(MOST_INJECTED);
        }
        let identified = met::told(inner, pass);
        let committed = Committed {
            event,
            block,
            context,
            jobs,
            edited,
            tasks,
            failures,
            identified,
        };
        return Ok(Step::Committed(committed, injections));
    }
    Err(Error::new(
        ErrorKind::VersionConflict,
        format!("room {room} changed {MOST_CONFLICTS} times while an event was to be committed"),
    ))
}

/// Logs that an event is stored; what it says only where that was asked for by name.
fn stored_log(inner: &Inner, event: &RoomEvent) {
    tracing::info!(
        room_id = %event.room_id, event_id = %event.id, channel_id = %event.source.channel_id,
        provider = event.source.provider.as_deref(), index = event.index,
        chain_depth = event.chain_depth, status = %event.status, "event stored"
    );
    if inner.settings.log_content.0 {
        tracing::debug!(
            room_id = %event.room_id, event_id = %event.id,
            participant_id = event.source.participant_id.as_ref().map(ParticipantId::as_str),
            texts = ?event.content.texts(), raw_payload = ?event.source.raw_payload, "event content"
        );
    }
}

fn timed_out(inner: &Arc<Inner>, pass: &Pass) -> Outcome {
    tracing::error!(room_id = %pass.draft.room_id, event_id = %pass.draft.id, "not ready to commit in time");
    inner.tell_of_timeout(Some(&pass.draft.room_id), Some(&pass.draft.id));
    Outcome::Refused(Refusal::ProcessTimeout)
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn refused(inner: &Arc<Inner>, pass: &Pass, outcome: &Outcome) {
    if let Some(hooked) = pass.hooked.as_ref().filter(|_| pass.origin.is_outside()) {
        inner.report_hook_failures(&pass.draft.room_id, Some(&pass.draft.id), &hooked.failures);
    }
    let Outcome::Refused(refusal) = outcome else {
        return;
    };
    tracing::info!(room_id = %pass.draft.room_id, event_id = %pass.draft.id, reason = %refusal, "event refused");
    if *refusal == Refusal::RoomClosed {
        inner.emit(FrameworkEventType::RoomRefusedEvent, |event| {
            event.room_id = Some(pass.draft.room_id.clone());
            event.event_id = Some(pass.draft.id.clone());
            event.channel_id = Some(pass.draft.source.channel_id.clone());
            event
                .data
                .insert("event_type", pass.draft.event_type.as_str());
        });
    }
}

/// Side effects that came with an event are kept though the event is not.
async fn keep_effects(inner: &Arc<Inner>, room: &RoomId, pass: Pass) -> Result<()> {
    let effects = pass.hooked.and_then(|hooked| hooked.effects);
    let mut effects = effects.map_or_else(HookEffects::default, |effects| *effects);
    effects.tasks.extend(pass.tasks);
    effects.observations.extend(pass.observations);
    store_effects(
        inner,
        room,
        effects.tasks,
        effects.observations,
        pass.metadata_updates,
    )
    .await
}

/// Commits side effects alone; they commute with everything, so no lock is needed.
pub(crate) async fn store_effects(
    inner: &Arc<Inner>,
    room: &RoomId,
    tasks: Vec<Task>,
    observations: Vec<Observation>,
    metadata_updates: Metadata,
) -> Result<()> {
    if tasks.is_empty() && observations.is_empty() && metadata_updates.is_empty() {
        return Ok(());
    }
    let mut commit = RoomCommit::new(room.clone(), None, inner.clock.now());
    commit.tasks.clone_from(&tasks);
    commit.observations = observations;
    decide::merge_metadata(&mut commit, metadata_updates);
    let snapshot = inner.commit(commit).await?;
    announce_tasks(inner, &inner.context(snapshot), &tasks);
    Ok(())
}

/// Tells of a committed event, now that the lock is released.
fn released(inner: &Arc<Inner>, committed: &Committed) {
    let Committed {
        event,
        block,
        context,
        edited,
        tasks,
        failures,
        identified,
        ..
    } = committed;
    inner.report_hook_failures(&event.room_id, Some(&event.id), failures);
    if let Some(identified) = identified {
        inner.observe::<OnParticipantIdentified>(context, identified);
    }
    announce_tasks(inner, context, tasks);
    if let Some(block) = block {
        report_block(inner, event, block);
        return;
    }
    inner.observe::<BeforeBroadcast>(context, &EventDraft::from_shared(Arc::clone(event)));
    match (edited, &event.content) {
        (Some(edited), EventContent::Delete(_)) => inner.observe::<OnEventDeleted>(context, edited),
        (Some(edited), _) => inner.observe::<OnEventUpdated>(context, edited),
        (None, _) => {}
    }
}

fn report_block(inner: &Arc<Inner>, event: &RoomEvent, block: &Block) {
    let depth_exceeded = block.refusal == Some(Refusal::EventChainDepthLimit);
    let kind = if depth_exceeded {
        FrameworkEventType::ChainDepthExceeded
    } else {
        FrameworkEventType::EventBlocked
    };
    inner.emit(kind, |notice| {
        notice.room_id = Some(event.room_id.clone());
        notice.event_id = Some(event.id.clone());
        notice.channel_id = Some(event.source.channel_id.clone());
        if depth_exceeded {
            notice.data.insert("depth", event.chain_depth);
        } else {
            notice.data.insert("reason", block.reason.as_str());
            notice.data.insert("hook_name", block.blocked_by.as_str());
        }
    });
}

fn announce_tasks(inner: &Arc<Inner>, context: &RoomContext, tasks: &[Task]) {
    for task in tasks {
        let mut event = super::system_event(
            context.room_id(),
            EventType::TaskCreated,
            "task_created",
            task.title.clone(),
            Metadata::new(),
            inner.clock.now(),
        );
        event.metadata.insert("task_id", task.id.as_str());
        event.metadata.insert("task_title", task.title.as_str());
        inner.observe::<OnTaskCreated>(context, &Arc::new(event));
    }
}

/// The source of an event that the application sends in the name of a channel.
pub(crate) fn sender_of(message: &InboundMessage) -> Origin {
    Origin::Inbound {
        sender_id: message.sender_id.clone(),
        person: None,
        met: None,
    }
}
