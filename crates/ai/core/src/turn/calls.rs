//! A round of tool calls: each call that was announced gets one result, whatever happens (field
//! reports F39 and F42).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use futures_util::stream::FuturesUnordered;
use roomkit_core::hook::HookVerdict;
use roomkit_core::model::EventSource;

use super::race::Stop;
use super::rules::RepeatGuard;
use super::{LoopEndReason, Toolbox, Turn, caught};
use crate::hooks::{BeforeToolUse, InputRequired, OnToolCall, OnUserInputRequired, ToolUse};
use crate::human::{HumanInput, InputOutcome, PendingInput};
use crate::{Arguments, ToolCall, ToolContext, ToolError, ToolErrorKind, ToolOutput, ToolResult};

/// What a round of calls came to: a result for each call, in the order of the calls.
pub(crate) struct Answered {
    pub(crate) results: Vec<ToolResult>,
    pub(crate) took: Duration,
    /// Why the turn has to stop, where it has to.
    pub(crate) stopped: Option<LoopEndReason>,
}

/// Executes the calls of a round side by side.
pub(crate) async fn execute(
    turn: &Turn,
    tools: &Toolbox,
    guard: &mut RepeatGuard,
    stop: &mut Stop,
    calls: &[ToolCall],
    round: u32,
) -> Answered {
    let began = turn.clock().elapsed();
    let mut results: Vec<Option<ToolResult>> = vec![None; calls.len()];
    let mut running = FuturesUnordered::new();
    for ((at, call), slot) in calls.iter().enumerate().zip(&mut results) {
        match guard.check(call, tools.is_pure(&call.name)) {
            Some(repeated) => *slot = Some(ToolResult::error(call, repeated)),
            None => running.push(async move { (at, answer(turn, tools, call, round).await) }),
        }
    }
    let mut stopped = None;
    loop {
        match stop.or(running.next()).await {
            Ok(Some((at, result))) => {
                if let Some(slot) = results.get_mut(at) {
                    *slot = Some(result);
                }
            }
            Ok(None) => break,
            Err(reason) => {
                stopped = Some(reason);
                break;
            }
        }
    }
    // Dropping what runs lets go of it; what it has spawned sees the flag of its context.
    drop(running);
    let results = results
        .into_iter()
        .zip(calls)
        .map(|(result, call)| result.unwrap_or_else(|| unanswered(call, stopped)))
        .collect();
    Answered {
        results,
        took: turn.clock().elapsed().saturating_sub(began),
        stopped,
    }
}

fn unanswered(call: &ToolCall, stopped: Option<LoopEndReason>) -> ToolResult {
    match stopped {
        Some(LoopEndReason::Timeout) => ToolResult::error(call, "The call took too long."),
        _ => ToolResult::error(call, "The call was cancelled."),
    }
}

/// One call, through its hooks. It never fails: what goes wrong is told to the model.
async fn answer(turn: &Turn, tools: &Toolbox, call: &ToolCall, round: u32) -> ToolResult {
    if let Some(problem) = call.arguments.problem() {
        let problem = format!("Not executed: {problem}. Make the call again with a JSON object.");
        return ToolResult::error(call, problem);
    }
    if !tools.offers(&call.name) {
        return ToolResult::error(call, "Not executed: there is no such tool in this turn.");
    }
    let mut asked = ToolUse {
        source: Arc::clone(&turn.source),
        room_id: turn.room_id().clone(),
        participant_id: turn.participant_id().cloned(),
        round,
        call: call.clone(),
        result: None,
    };
    match turn.hooks(BeforeToolUse, asked.clone()).await {
        HookVerdict::Allowed(changed) => asked.call.arguments = changed.call.arguments,
        HookVerdict::Blocked { reason, .. } => {
            return ToolResult::error(call, format!("Not executed: the call was denied: {reason}"));
        }
    }
    let result = run(turn, tools, &asked.call).await;
    if let Some(error) = result.as_ref().and_then(|result| result.as_ref().err()) {
        tracing::warn!(
            room_id = %turn.room_id(), channel_id = %turn.source.channel_id,
            code = error.code(), "a tool failed"
        );
    }
    asked.result = result.map(|result| match result {
        Ok(output) => output.into_result(call),
        Err(error) => ToolResult::error(call, error.message()),
    });
    let answered = match turn.hooks(OnToolCall, asked).await {
        HookVerdict::Allowed(answered) => answered.result,
        HookVerdict::Blocked { reason, .. } => {
            return ToolResult::error(call, format!("The result was withheld: {reason}"));
        }
    };
    match answered {
        Some(mut result) => {
            // Whatever a hook made of it, it answers this call.
            result.tool_call_id.clone_from(&call.id);
            result.name.clone_from(&call.name);
            result
        }
        None => ToolResult::error(call, "Not executed: nothing here executes this tool."),
    }
}

/// Executes a call; nothing where only a hook does.
async fn run(
    turn: &Turn,
    tools: &Toolbox,
    call: &ToolCall,
) -> Option<Result<ToolOutput, ToolError>> {
    let arguments = call.arguments.to_object().into_owned();
    if let Some(human) = turn.parts.human.as_ref().filter(|it| it.asks(&call.name)) {
        return Some(ask(turn, human, call, arguments).await);
    }
    let tool = tools.executor(&call.name)?;
    let context = context(turn, call).await;
    // The flag is set when the call is over, however it ends.
    let _over = SetAtEnd(&context);
    let called = caught(|| tool.call(arguments, &context)).await;
    Some(
        called.unwrap_or_else(|_panic| {
            Err(ToolError::of(ToolErrorKind::Panicked, "The tool failed."))
        }),
    )
}

struct SetAtEnd<'a>(&'a ToolContext);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.cancellation.cancel();
    }
}

async fn context(turn: &Turn, call: &ToolCall) -> ToolContext {
    let EventSource { channel_id, .. } = &*turn.source;
    let mut context = ToolContext::new(call.id.as_str())
        .with_room(turn.room_id().clone(), channel_id.clone())
        .with_cancellation(turn.control().cancel.child());
    if let Some(id) = turn.participant_id() {
        context = match turn.participant().await {
            Some(participant) => context.with_participant(participant),
            None => context.with_participant_id(id.clone()),
        };
    }
    match &turn.kit {
        Some(kit) => context.with_kit(kit.clone()),
        None => context,
    }
}

/// Asks a person and waits. The request can be answered from here on, also while hooks still run.
async fn ask(
    turn: &Turn,
    human: &HumanInput,
    call: &ToolCall,
    arguments: Arguments,
) -> Result<ToolOutput, ToolError> {
    let request = PendingInput {
        id: String::new(),
        tool_name: call.name.clone(),
        arguments,
        call_id: call.id.clone(),
        room_id: turn.room_id().clone(),
        channel_id: turn.source.channel_id.clone(),
        participant_id: turn.participant_id().cloned(),
    };
    let mut open = human.open(request, &turn.event);
    let required = InputRequired {
        source: Arc::clone(&turn.source),
        pending: open.pending.clone(),
    };
    let id = open.pending.id.clone();
    let tell = async {
        if let HookVerdict::Blocked { reason, .. } = turn.hooks(OnUserInputRequired, required).await
        {
            // An answer that came before stays.
            let _ = human.reject(&id, reason);
        }
        std::future::pending::<()>().await;
    };
    let late = turn.clock().sleep(human.limit());
    let outcome = match select(&mut open.outcome, pin!(select(pin!(late), pin!(tell)))).await {
        Either::Left((outcome, _)) => outcome.unwrap_or(InputOutcome::Cancelled),
        Either::Right(_) => {
            // Where somebody answered just then, that counts.
            let _ = human.settle(&id, InputOutcome::TimedOut);
            human.outcome(&id).unwrap_or(InputOutcome::TimedOut)
        }
    };
    match outcome {
        InputOutcome::Answered(text) => Ok(ToolOutput::text(text)),
        InputOutcome::Rejected(reason) => Err(ToolError::of(
            ToolErrorKind::Denied,
            format!("The request was refused: {reason}"),
        )),
        InputOutcome::TimedOut => Err(ToolError::of(
            ToolErrorKind::Timeout,
            "Nobody answered in time.",
        )),
        InputOutcome::Cancelled => Err(ToolError::of(
            ToolErrorKind::Cancelled,
            "The call was cancelled.",
        )),
    }
}
