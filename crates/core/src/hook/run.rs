//! One run of the deciding hooks of a point: what they make of a payload, and what goes wrong.

use std::ops::ControlFlow;
use std::slice::Iter;
use std::task::Context;

use super::engine::{HookEngine, Started};
use super::handler::{Handler, Hook, Later};
use super::result::{HookAction, HookEffects};
use super::{FailurePolicy, HookPoint, HookResult, HookReturn, HookTrigger};
use crate::context::RoomContext;

/// Why a hook yielded no usable result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookFailure {
    pub(crate) hook: String,
    pub(crate) trigger: HookTrigger,
    pub(crate) timed_out: bool,
    pub(crate) error: String,
}

/// What the synchronous hooks of a point made of a payload.
#[derive(Debug)]
pub(crate) struct SyncOutcome<P> {
    pub(crate) verdict: HookVerdict<P>,
    pub(crate) effects: Option<Box<HookEffects>>,
    pub(crate) failures: Vec<HookFailure>,
    /// The hook after which no further one was needed.
    pub(crate) settled_by: Option<String>,
}

/// Whether a payload may go on after the hooks of its point.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict<P> {
    /// It may, perhaps changed.
    Allowed(P),
    /// It may not.
    Blocked {
        /// The hook's reason, or `hook_failed` where a failing hook blocks.
        reason: String,
        /// The hook's name.
        blocked_by: String,
    },
}

/// A run of deciding hooks, as far as it has come.
pub(super) struct Run<'a, P: HookPoint, A> {
    pub(super) engine: &'a HookEngine,
    pub(super) context: &'a RoomContext,
    pub(super) accept: A,
    pub(super) payload: P::Payload,
    pub(super) effects: Option<Box<HookEffects>>,
    pub(super) failures: Vec<HookFailure>,
    pub(super) settled_by: Option<String>,
}

/// How far a run came without waiting.
pub(super) enum Step<'h, P: HookPoint> {
    /// To its end, which is a verdict where a hook blocked.
    Ended(Option<HookVerdict<P::Payload>>),
    /// To a hook that has not answered yet.
    Waits(&'h Hook, Later<P::Returns>),
}

impl<P: HookPoint, A: Fn(&P::Payload) -> Result<(), String>> Run<'_, P, A> {
    /// Calls hooks up to the first that does not answer at once.
    pub(super) fn at_once<'h>(
        &mut self,
        hooks: &mut Iter<'h, Hook>,
        cx: &mut Context<'_>,
    ) -> Step<'h, P> {
        for hook in hooks {
            let Some(Handler::Decides(call)) = hook.handler.downcast_ref::<Handler<P>>() else {
                continue;
            };
            if hook.filters && !hook.options.matches(P::source(&self.payload)) {
                continue;
            }
            let call = || call(self.payload.clone(), self.context.clone(), cx);
            let answer = match self.engine.start(hook, call) {
                Started::Answered(answer) => answer,
                Started::Waits(answer) => return Step::Waits(hook, answer),
            };
            if let ControlFlow::Break(blocked) = self.take(hook, answer) {
                return Step::Ended(blocked);
            }
        }
        Step::Ended(None)
    }

    /// Takes a hook's answer. A break ends the run, with a verdict where it is not the payload.
    pub(super) fn take(
        &mut self,
        hook: &Hook,
        answer: Result<P::Returns, HookFailure>,
    ) -> ControlFlow<Option<HookVerdict<P::Payload>>> {
        let HookResult { action, effects } = match answer {
            Ok(returned) => returned.into_result(&self.payload),
            Err(failure) => return self.fail(hook, failure),
        };
        if let HookAction::Modify(changed) = &action
            && let Err(problem) = (self.accept)(changed)
        {
            let problem = format!("unusable payload: {problem}");
            return self.fail(hook, self.engine.failure(hook, false, problem));
        }
        if let Some(more) = effects {
            match &mut self.effects {
                Some(effects) => effects.add(*more),
                None => self.effects = Some(more),
            }
        }
        match action {
            HookAction::Allow => ControlFlow::Continue(()),
            HookAction::Modify(changed) => {
                self.payload = changed;
                if P::is_settled(&self.payload) {
                    self.settled_by = Some(hook.options.name.clone());
                    return ControlFlow::Break(None);
                }
                ControlFlow::Continue(())
            }
            HookAction::Block { reason } => ControlFlow::Break(Some(HookVerdict::Blocked {
                reason,
                blocked_by: hook.options.name.clone(),
            })),
        }
    }

    #[cold]
    fn fail(
        &mut self,
        hook: &Hook,
        failure: HookFailure,
    ) -> ControlFlow<Option<HookVerdict<P::Payload>>> {
        self.failures.push(failure);
        if P::FAILURE == FailurePolicy::Block || self.engine.fail_closed.contains(&P::TRIGGER) {
            return ControlFlow::Break(Some(HookVerdict::Blocked {
                reason: "hook_failed".to_owned(),
                blocked_by: hook.options.name.clone(),
            }));
        }
        ControlFlow::Continue(())
    }
}

impl HookEffects {
    fn add(&mut self, more: Self) {
        self.injected.extend(more.injected);
        self.tasks.extend(more.tasks);
        self.observations.extend(more.observations);
        self.metadata.merge(&more.metadata);
    }
}
