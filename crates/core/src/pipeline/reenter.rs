//! What follows a commit: deliveries run side by side, and answers go back through the pipeline.

use std::collections::{HashMap, VecDeque};
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;

use futures_util::future::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};

use super::deliver::{self, Done, Job, JobKind};
use super::live::{self, Live};
use super::pass::{self, Budget, Committed, Origin, Outcome, Pass};
use super::reply::{answer_event, end_reply, failure_event};
use super::{Refusal, Scope, observed, replay};
use crate::channel::{ChannelOutput, Response};
use crate::context::RoomContext;
use crate::draft::EventDraft;
use crate::error::Error;
use crate::hook::{AfterBroadcast, OnError};
use crate::kit::Inner;
use crate::model::{
    ChannelBinding, ChannelId, DeliveryOutcome, DeliveryResult, FrameworkEventType, Metadata,
    RoomEvent, RoomId,
};
use crate::telemetry::{Span, SpanName};

/// Everything that one event sets off in a room: its deliveries, the answers, and theirs.
///
/// It is one future, driven to its end by whoever has it. Deliveries run side by side; answers
/// commit one after the other: as they come, and those that are ready at the same time by the index
/// of what they answer, then in the order of bindings.
pub(crate) struct Cascade {
    inner: Arc<Inner>,
    scope: Scope,
    room: RoomId,
    root: Option<Committed>,
    added: Vec<Committed>,
    /// Set where agents answer an earlier event again.
    again: Option<Box<Again>>,
    under_way: Vec<UnderWay>,
    answers: Vec<Answer>,
    /// Of the caller's own event.
    results: Vec<DeliveryResult>,
    /// The room as it was when the caller's own event was committed.
    root_context: Option<RoomContext>,
    error: Option<String>,
    response_metadata: Metadata,
}

/// An earlier event that is answered again, the room as it is now, and whom it asks.
type Again = (Arc<RoomEvent>, RoomContext, Vec<Job>);

/// An event whose lanes are not all done with it.
struct UnderWay {
    event: Arc<RoomEvent>,
    context: RoomContext,
    left: usize,
    failed: usize,
    /// Whether it is the event that the caller brought in.
    is_root: bool,
    /// Whether it was done with before, and is answered again.
    is_again: bool,
    /// Its broadcast.
    span: Span,
}

/// What an agent made of an event, not yet committed.
struct Answer {
    /// Whether it takes the place of what the agent answered before.
    is_again: bool,
    trigger: Arc<RoomEvent>,
    /// The room as it was when that was committed.
    context: RoomContext,
    order: usize,
    binding: Arc<ChannelBinding>,
    output: ChannelOutput,
    /// The streamed ones of its answers, as they were shown.
    lives: VecDeque<Arc<Live>>,
}

/// What the whole cascade came to, for the caller's own event.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) results: Vec<DeliveryResult>,
    pub(crate) error: Option<String>,
    pub(crate) response_metadata: Metadata,
}

enum Work {
    Deliver(Job),
    Answer(Vec<Answer>),
}

#[expect(
    clippy::large_enum_variant,
    reason = "nearly every step is the large one"
)]
enum Step {
    Delivered(Done),
    Answered {
        committed: Vec<Committed>,
        error: Option<String>,
    },
}

impl Cascade {
    /// What follows the caller's own event, `root`, and those that hooks added after it.
    pub(crate) fn new(
        inner: Arc<Inner>,
        scope: Scope,
        room: RoomId,
        root: Committed,
        added: Vec<Committed>,
    ) -> Self {
        Self {
            inner,
            scope,
            room,
            root: Some(root),
            added,
            again: None,
            under_way: Vec::new(),
            answers: Vec::new(),
            results: Vec::new(),
            root_context: None,
            error: None,
            response_metadata: Metadata::new(),
        }
    }

    /// What follows when the agents of `jobs` answer an earlier event again.
    pub(crate) fn again(
        inner: Arc<Inner>,
        scope: Scope,
        event: Arc<RoomEvent>,
        context: RoomContext,
        jobs: Vec<Job>,
    ) -> Self {
        Self {
            inner,
            scope,
            room: event.room_id.clone(),
            root: None,
            added: Vec::new(),
            again: Some(Box::new((event, context, jobs))),
            under_way: Vec::new(),
            answers: Vec::new(),
            results: Vec::new(),
            root_context: None,
            error: None,
            response_metadata: Metadata::new(),
        }
    }

    /// Drives all of it to the end.
    pub(crate) async fn run(mut self) -> Settled {
        let mut queue = VecDeque::new();
        if let Some(root) = self.root.take() {
            self.start(root, true, &mut queue);
        }
        for added in std::mem::take(&mut self.added) {
            self.start(added, false, &mut queue);
        }
        if let Some(again) = self.again.take() {
            let (event, context, jobs) = *again;
            self.start_again(event, context, jobs, &mut queue);
        }
        // One delivery that nothing else waits for needs no set of futures.
        while queue.len() == 1 {
            let Some(work) = queue.pop_front() else { break };
            let step = perform(&self.inner, &self.scope, &self.room, work).await;
            self.take(step, &mut queue);
            self.commit_answers(&mut queue);
        }
        if !queue.is_empty() {
            // Boxed, so that a cascade of one is small.
            Box::pin(self.run_side_by_side(queue)).await;
        }
        self.sort_results();
        Settled {
            results: self.results,
            error: self.error,
            response_metadata: self.response_metadata,
        }
    }

    /// Drives what is queued, and what comes of it, side by side.
    async fn run_side_by_side(&mut self, mut queue: VecDeque<Work>) {
        let (inner, scope, room) = (
            Arc::clone(&self.inner),
            self.scope.clone(),
            self.room.clone(),
        );
        let mut running = FuturesUnordered::new();
        let mut answering = false;
        loop {
            running.extend(
                queue
                    .drain(..)
                    .map(|work| perform(&inner, &scope, &room, work)),
            );
            let Some(step) = running.next().await else {
                break;
            };
            let mut next = Some(step);
            while let Some(step) = next {
                answering &= !matches!(step, Step::Answered { .. });
                self.take(step, &mut queue);
                next = running.next().now_or_never().flatten();
            }
            if !answering {
                answering = self.commit_answers(&mut queue);
            }
        }
    }

    /// Puts the results into the order of the room's bindings.
    fn sort_results(&mut self) {
        let Some(context) = self.root_context.take().filter(|_| self.results.len() > 1) else {
            return;
        };
        let bindings = context.bindings().iter().enumerate();
        let places: HashMap<&ChannelId, usize> = bindings
            .map(|(at, binding)| (&binding.channel_id, at))
            .collect();
        self.results
            .sort_by_key(|result| places.get(&result.channel_id).copied());
    }

    /// Queues the deliveries of a committed event.
    fn start(&mut self, committed: Committed, is_root: bool, queue: &mut VecDeque<Work>) {
        let Committed {
            event,
            block,
            context,
            mut jobs,
            ..
        } = committed;
        if block.is_some() {
            return;
        }
        if is_root {
            self.root_context = Some(context.clone());
        }
        let span = observed::broadcast(&self.inner, &event, &mut jobs);
        let under_way = UnderWay {
            event,
            context,
            left: jobs.len(),
            failed: 0,
            is_root,
            is_again: false,
            span,
        };
        if under_way.left == 0 {
            self.finish(under_way);
            return;
        }
        self.under_way.push(under_way);
        queue.extend(jobs.into_iter().map(Work::Deliver));
    }

    /// Queues the agents that answer an earlier event again.
    fn start_again(
        &mut self,
        event: Arc<RoomEvent>,
        context: RoomContext,
        mut jobs: Vec<Job>,
        queue: &mut VecDeque<Work>,
    ) {
        let span = observed::broadcast(&self.inner, &event, &mut jobs);
        self.root_context = Some(context.clone());
        self.under_way.push(UnderWay {
            event,
            context,
            left: jobs.len(),
            failed: 0,
            is_root: true,
            is_again: true,
            span,
        });
        queue.extend(jobs.into_iter().map(Work::Deliver));
    }

    fn take(&mut self, step: Step, queue: &mut VecDeque<Work>) {
        match step {
            Step::Delivered(done) => self.delivered(done),
            Step::Answered { committed, error } => {
                self.error = self.error.take().or(error);
                for committed in committed {
                    self.start(committed, false, queue);
                }
            }
        }
    }

    fn delivered(&mut self, done: Done) {
        let Done {
            kind,
            order,
            event,
            binding,
            result,
            output,
            lives,
        } = done;
        let found = self
            .under_way
            .iter()
            .position(|other| other.event.id == event.id);
        let Some(at) = found else { return };
        if let Some(result) = result {
            self.report(kind, &event, &binding, &result);
            if let Some(under_way) = self.under_way.get_mut(at) {
                under_way.failed += usize::from(!result.outcome.is_sent());
                if under_way.is_root {
                    self.results.push(result);
                }
            }
        }
        let context = self.under_way.get(at).map(|it| it.context.clone());
        if let (Some(output), Some(context)) = (output, context) {
            let replied = !matches!(output.response, Response::None);
            if replied && self.response_metadata.is_empty() {
                self.response_metadata.clone_from(&output.response_metadata);
            }
            let is_again = self.under_way.get(at).is_some_and(|it| it.is_again);
            self.answers.push(Answer {
                is_again,
                trigger: event,
                context,
                order,
                binding,
                output,
                lives,
            });
        }
        let finished = self.under_way.get_mut(at).is_some_and(|under_way| {
            under_way.left -= 1;
            under_way.left == 0
        });
        if finished {
            let under_way = self.under_way.swap_remove(at);
            self.finish(under_way);
        }
    }

    /// Queues the answers that are ready; `true` when there are any.
    fn commit_answers(&mut self, queue: &mut VecDeque<Work>) -> bool {
        let mut answers = std::mem::take(&mut self.answers);
        answers.retain(|answer| !answer.output.is_empty());
        if answers.is_empty() {
            return false;
        }
        answers.sort_by_key(|answer| (answer.trigger.index, answer.order));
        queue.push_back(Work::Answer(answers));
        true
    }

    /// All lanes are done with an event.
    fn finish(&self, under_way: UnderWay) {
        let UnderWay {
            event,
            context,
            failed,
            is_root,
            is_again,
            mut span,
            ..
        } = under_way;
        if !is_again {
            span.enter(|| self.inner.observe::<AfterBroadcast>(&context, &event));
        }
        if let Some(open) = span.open() {
            open.set("failed", failed);
        }
        span.end();
        if is_again {
            return;
        }
        if failed > 0 {
            self.inner
                .emit(FrameworkEventType::BroadcastPartialFailure, |notice| {
                    notice.room_id = Some(event.room_id.clone());
                    notice.event_id = Some(event.id.clone());
                    notice.data.insert("failed", failed);
                });
        }
        if is_root {
            self.inner
                .emit(FrameworkEventType::EventProcessed, |notice| {
                    notice.room_id = Some(event.room_id.clone());
                    notice.event_id = Some(event.id.clone());
                });
        }
    }

    /// Tells of a delivery, or of an agent that failed.
    fn report(
        &mut self,
        kind: JobKind,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        result: &DeliveryResult,
    ) {
        let (succeeded, error) = match &result.outcome {
            DeliveryOutcome::Sent { .. } => (true, None),
            DeliveryOutcome::Failed(error) | DeliveryOutcome::Unknown(error) => {
                (false, Some(error))
            }
        };
        let event_type = if succeeded {
            FrameworkEventType::DeliverySucceeded
        } else {
            FrameworkEventType::DeliveryFailed
        };
        if let Some(error) = error {
            tracing::error!(
                room_id = %event.room_id, event_id = %event.id, channel_id = %binding.channel_id,
                attempts = result.attempts, code = %error.code, "delivery failed"
            );
        }
        self.inner.emit(event_type, |notice| {
            notice.room_id = Some(event.room_id.clone());
            notice.event_id = Some(event.id.clone());
            notice.channel_id = Some(binding.channel_id.clone());
            if let Some(error) = error {
                notice.data.insert("error", error.code.as_str());
                notice.data.insert("message", error.message.as_str());
            }
        });
        if let (JobKind::React, Some(error)) = (kind, error) {
            self.error
                .get_or_insert_with(|| format!("{}: {}", error.code, error.message));
            let found = self
                .under_way
                .iter()
                .find(|other| other.event.id == event.id);
            if let Some(under_way) = found {
                let failure =
                    failure_event(&self.inner, event, binding, &error.code, &error.message);
                self.inner.observe::<OnError>(&under_way.context, &failure);
            }
        }
    }
}

/// Does one piece of work. All of a cascade's work is of this one type.
async fn perform(inner: &Arc<Inner>, scope: &Scope, room: &RoomId, work: Work) -> Step {
    match work {
        Work::Deliver(job) if job.broadcast.is_open() => {
            Step::Delivered(observed::deliver(inner, job).await)
        }
        Work::Deliver(job) => Step::Delivered(deliver::run(inner, job).await),
        // Boxed, so that the far more frequent delivery is not as large as a whole pass.
        Work::Answer(answers) => Box::pin(answer(inner, scope, room, answers)).await,
    }
}

/// Commits answers one after the other, each in a pass of its own.
async fn answer(inner: &Arc<Inner>, scope: &Scope, room: &RoomId, answers: Vec<Answer>) -> Step {
    let mut committed = Vec::new();
    let mut error = None;
    for answer in answers {
        let Answer {
            mut is_again,
            trigger,
            context,
            binding,
            output,
            mut lives,
            ..
        } = answer;
        let mut lost = |code: &str, problem: String| {
            let failure = failure_event(inner, &trigger, &binding, code, &problem);
            inner.observe::<OnError>(&context, &failure);
            error.get_or_insert(problem);
        };
        let ChannelOutput {
            response,
            mut tasks,
            mut observations,
            mut metadata_updates,
            response_metadata,
        } = output;
        let replies = match response {
            Response::Replies(replies) => replies,
            Response::None | Response::Stream(_) => Vec::new(),
        };
        for reply in replies {
            let live = lives.pop_front();
            if let Err(invalid) = reply.content.validate() {
                let invalid = Error::from(invalid.within("content"));
                tracing::error!(room_id = %room, channel_id = %binding.channel_id, code = invalid.code(), error = %inner.shown(&invalid), "answer is not acceptable");
                if let Some(live) = &live {
                    live.retract(invalid.code(), invalid.code());
                }
                lost(invalid.code(), invalid.to_string());
                continue;
            }
            let mut event = answer_event(inner, &trigger, &binding, reply, &response_metadata);
            if let Some(live) = &live {
                event.id = live.start.event_id.clone();
            }
            let origin = Origin::Reply {
                trigger: Arc::clone(&trigger),
            };
            let mut pass = Pass::new(origin, EventDraft::new(event));
            pass.tasks = std::mem::take(&mut tasks);
            pass.observations = std::mem::take(&mut observations);
            pass.metadata_updates = std::mem::take(&mut metadata_updates);
            inner.hooks.let_observers_start().await;
            let span = inner.spans.start(SpanName::ProcessReply, |span| {
                span.set("room_id", room);
                span.set("event_id", &pass.draft.id);
                span.set("channel_id", &binding.channel_id);
                span.set_some("provider", pass.draft.source.provider.as_deref());
                span.set("trigger_id", &trigger.id);
                span.set("chain_depth", pass.draft.chain_depth);
            });
            let run = pin!(pass::run(inner, scope, room, pass, Budget::new(inner)));
            let run = AssertUnwindSafe(span.run(run)).catch_unwind().await;
            let mut outcome = run.unwrap_or_else(|_panic| Err(Error::panicked()));
            end_reply(span, &outcome);
            if let Some(live) = &live {
                live::settle(live, &mut outcome);
            }
            match outcome {
                Ok(Outcome::Committed(reply, added)) => {
                    if reply.block.is_none() && std::mem::take(&mut is_again) {
                        let new = Arc::clone(&reply.event);
                        replay::supersede(inner, scope, &trigger, &new).await;
                    }
                    committed.push(reply);
                    committed.extend(added);
                }
                Ok(Outcome::Refused(refusal @ Refusal::ProcessTimeout)) => {
                    lost(
                        refusal.code(),
                        format!("{refusal}: the answer was not stored"),
                    );
                }
                Ok(Outcome::Refused(_) | Outcome::Repeated(_)) => {}
                Err(failed) => {
                    tracing::error!(room_id = %room, channel_id = %binding.channel_id, code = failed.code(), error = %inner.shown(&failed), "answer was not stored");
                    lost(failed.code(), failed.to_string());
                }
            }
        }
        let kept = pass::store_effects(inner, room, tasks, observations, metadata_updates);
        let kept = AssertUnwindSafe(kept).catch_unwind().await;
        if let Err(failed) = kept.unwrap_or_else(|_panic| Err(Error::panicked())) {
            tracing::error!(room_id = %room, channel_id = %binding.channel_id, code = failed.code(), error = %inner.shown(&failed), "side effects were not stored");
            lost(failed.code(), failed.to_string());
        }
    }
    Step::Answered { committed, error }
}
