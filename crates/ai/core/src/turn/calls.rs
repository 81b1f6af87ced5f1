//! A round of tool calls: each call that was announced gets one result, whatever happens (field
//! reports F39 and F42).

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::{self, StreamExt};
use roomkit_core::hook::HookVerdict;

use super::race::Stop;
use super::rules::RepeatGuard;
use super::{LoopEndReason, Toolbox, Turn};
use crate::hooks::{BeforeToolUse, InputRequired, OnToolCall, OnUserInputRequired, ToolUse};
use crate::human::{HumanInput, InputOutcome, PendingInput};
use crate::{Arguments, ToolCall, ToolError, ToolErrorKind, ToolOutput, ToolResult};

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
    let mut runs = Vec::new();
    for ((at, call), slot) in calls.iter().enumerate().zip(&mut results) {
        match guard.check(call, tools.is_pure(&call.name)) {
            Some(repeated) => *slot = Some(ToolResult::error(call, repeated)),
            None => runs.push(async move { (at, answer(turn, tools, call, round).await) }),
        }
    }
    let at_once = tools.runner.limits().max_parallel.max(1);
    let mut running = Box::pin(stream::iter(runs).buffer_unordered(at_once));
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
    let context = turn.tool_context().await;
    let runner = &tools.runner;
    let refuse = |error: ToolError| runner.refuse(call, context, &error);
    let Some(set) = tools.set_of(&call.name) else {
        let problem = "Not executed: there is no such tool in this turn.";
        return refuse(ToolError::of(ToolErrorKind::Unknown, problem));
    };
    if let Err(error) = runner.check(set, call, context) {
        return refuse(error);
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
            let problem = format!("Not executed: the call was denied: {reason}");
            return refuse(ToolError::of(ToolErrorKind::Denied, problem));
        }
    }
    let arguments = asked.call.arguments.to_object().into_owned();
    asked.result = if let Some(human) = turn.parts.human.as_ref().filter(|it| it.asks(&call.name)) {
        Some(match ask(turn, human, call, arguments).await {
            Ok(output) => output.into_result(call),
            Err(error) => refuse(error),
        })
    } else if tools.is_hooked(&call.name) {
        None
    } else {
        Some(runner.execute(set, call, arguments, context).await)
    };
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
            turn.parts.stored.keep(Some(turn.room_id()), result)
        }
        None => ToolResult::error(call, "Not executed: nothing here executes this tool."),
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
