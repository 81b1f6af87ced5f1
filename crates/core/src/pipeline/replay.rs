//! A message that is answered again: which one that is, who is asked, and what becomes of the answers
//! that were there before.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;

use super::deliver::Job;
use super::inbound::{Accepted, refused};
use super::pass::Budget;
use super::{Cascade, Refusal, Scope, plan};
use crate::clock::Elapsed;
use crate::context::RoomContext;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::OnEventUpdated;
use crate::kit::{Inner, attach};
use crate::model::{
    ChannelCategory, EventFilter, EventId, EventType, InboundResult, RoomEvent, RoomId,
    SUPERSEDED_BY,
};
use crate::store::{EventQuery, RoomCommit, RoomSnapshot};
use crate::sync::inside::Inside;
use crate::telemetry::Span;

/// How many messages are looked at for the one to answer again, and how many of an agent's old answers
/// are marked.
const MOST_SCANNED: usize = 2_000;

/// How many of them are read at a time.
const PAGE: usize = 100;

/// What there is to answer again in a room.
pub(crate) enum Target {
    /// The room takes no new events.
    RoomClosed,
    /// Nothing, or nothing from a channel that may still write.
    Nothing,
    Event(Arc<RoomEvent>),
}

/// The newest message that was accepted from a transport which may still write.
pub(crate) async fn target(inner: &Inner, room: &RoomSnapshot) -> Result<Target> {
    if !room.room.status.accepts_events() {
        return Ok(Target::RoomClosed);
    }
    let is_said = |event: &RoomEvent| {
        let binding = room.binding(&event.source.channel_id);
        binding.is_some_and(|binding| binding.category == ChannelCategory::Transport)
            && !event.is_blocked()
            && !event.is_deleted()
            && !event.is_redacted()
    };
    let messages = EventFilter::of_types([EventType::Message]);
    let mut query = EventQuery::last(PAGE).filter(messages);
    let mut scanned = 0;
    let found = loop {
        let page = inner
            .read(inner.store.events(&room.room.id, &query))
            .await?;
        if let Some(event) = page.iter().rev().find(|event| is_said(event)) {
            break Some(Arc::clone(event));
        }
        scanned += page.len();
        query.before = page.first().map(|event| event.index);
        if page.len() < PAGE || scanned >= MOST_SCANNED {
            break None;
        }
    };
    let may_write = |event: &Arc<RoomEvent>| {
        let binding = room.binding(&event.source.channel_id);
        binding.is_some_and(|binding| binding.can_write())
    };
    Ok(found
        .filter(may_write)
        .map_or(Target::Nothing, Target::Event))
}

/// Takes the places of those who are asked again, under the room's lock. `None` where there is nothing
/// to answer.
pub(crate) async fn accept(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    expected: Option<&EventId>,
) -> Result<Option<Accepted>> {
    Inside::check(inner.id, room)?;
    let choice = pin!(choose(inner, scope, room, expected));
    let chosen = match Budget::new(inner).limit(inner, choice).await {
        Ok(chosen) => chosen?,
        Err(Elapsed) => Err(Refusal::ProcessTimeout),
    };
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(refusal) => {
            tracing::info!(room_id = %room, reason = %refusal, "not answered again");
            return Ok(Some(refused(refusal)));
        }
    };
    Ok(chosen.map(|(event, context, jobs)| {
        let result = InboundResult {
            event: Some(Arc::clone(&event)),
            ..InboundResult::default()
        };
        let cascade = Cascade::again(Arc::clone(inner), scope.clone(), event, context, jobs);
        Accepted {
            result,
            cascade: Some(cascade),
            refusal: None,
            span: Span::none(),
        }
    }))
}

/// The message to answer again, with the room as it is and those who are asked.
type Chosen = (Arc<RoomEvent>, RoomContext, Vec<Job>);

async fn choose(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    expected: Option<&EventId>,
) -> Result<Result<Option<Chosen>, Refusal>> {
    let _lock = inner.locks.acquire(room).await?;
    let snapshot = inner.visible_room(scope, room).await?;
    let event = match target(inner, &snapshot).await? {
        Target::RoomClosed => return Ok(Err(Refusal::RoomClosed)),
        Target::Nothing => None,
        Target::Event(event) => Some(event),
    };
    if expected.is_some_and(|id| event.as_ref().is_none_or(|event| event.id != *id)) {
        return Ok(Err(Refusal::TriggerMoved));
    }
    Ok(Ok(event.map(|event| {
        let context = inner.context(snapshot);
        let jobs = plan::plan_again(inner, &event, &context);
        (event, context, jobs)
    })))
}

/// Marks what the agent has answered to `trigger` before `new`. Where that fails the new answer is there
/// all the same, and the failure is logged.
pub(super) async fn supersede(
    inner: &Arc<Inner>,
    scope: &Scope,
    trigger: &RoomEvent,
    new: &RoomEvent,
) {
    // A panic of the store's or a lock's, too, must not keep the new answer from being delivered.
    let marked = AssertUnwindSafe(mark(inner, scope, trigger, new)).catch_unwind();
    let marked = marked.await.unwrap_or_else(|_panic| Err(Error::panicked()));
    if let Err(error) = marked {
        tracing::error!(
            room_id = %trigger.room_id, event_id = %new.id, code = error.code(),
            error = %inner.shown(&error),
            "earlier answers were not marked"
        );
    }
}

async fn mark(
    inner: &Arc<Inner>,
    scope: &Scope,
    trigger: &RoomEvent,
    new: &RoomEvent,
) -> Result<()> {
    let room = &trigger.room_id;
    // A new answer that is not kept has no index, and comes after all that are.
    let before = if inner.keeps(new.event_type) {
        new.index
    } else {
        u64::MAX
    };
    let mut filter = EventFilter::of_types([new.event_type]);
    filter.source_channel_id = Some(new.source.channel_id.clone());
    let query = EventQuery::last(MOST_SCANNED)
        .after(trigger.index)
        .before(before)
        .filter(filter);
    let old = inner.read(inner.store.events(room, &query)).await?;
    let is_answer = |event: &&Arc<RoomEvent>| {
        event.chain_depth > trigger.chain_depth
            && !event.is_blocked()
            && !event.is_deleted()
            && event.superseded_by().is_none()
    };
    for id in old.iter().filter(is_answer).map(|event| event.id.clone()) {
        match mark_one(inner, scope, room, &id, &new.id).await {
            // Deleted meanwhile.
            Err(error) if error.kind() == ErrorKind::EventNotFound => {}
            marked => marked?,
        }
    }
    Ok(())
}

async fn mark_one(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    old: &EventId,
    new: &EventId,
) -> Result<()> {
    let read = || async { inner.read(inner.store.event(room, old)).await };
    let decide = |snapshot: &RoomSnapshot, stored: Option<Arc<RoomEvent>>| {
        let Some(stored) = stored else {
            return Ok((None, None));
        };
        let mut changed = RoomEvent::clone(&stored);
        changed.metadata.insert(SUPERSEDED_BY, new.as_str());
        let changed = Arc::new(changed);
        let now = inner.clock.now();
        let mut commit = RoomCommit::new(room.clone(), Some(snapshot.version), now);
        commit.edited = Some(Arc::clone(&changed));
        Ok((Some(changed), Some(commit)))
    };
    let (snapshot, changed) = attach::under_lock_reading(inner, scope, room, read, decide).await?;
    if let Some(changed) = changed {
        inner.observe::<OnEventUpdated>(&inner.context(snapshot), &changed);
    }
    Ok(())
}
