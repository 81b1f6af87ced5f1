//! The tool loop: rounds of a model and its tools, until there is an answer or a rule ends it. One
//! definition, for answers that are whole and for those that come.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use roomkit_core::channel::Delta;
use roomkit_core::model::{Metadata, Observation, Task};
use serde_json::json;

use super::calls;
use super::outlet::Outlet;
use super::race::Stop;
use super::round::{Ended, Round};
use super::rules::{
    CUT_OFF, EMPTY_NUDGE, FORCE_STOP_NUDGE, FinalRound, LoopEndReason, RepeatGuard,
};
use super::steer::{Steering, lock};
use super::tell::millis;
use super::{Toolbox, Turn};
use crate::hooks::AiResponded;
use crate::{
    AiContext, AiError, AiMessage, AiProvider, FinishReason, Part, Role, ToolCall, ToolResult,
    Usage,
};

/// The tool loop of a turn.
pub(crate) struct Loop {
    pub(super) turn: Arc<Turn>,
    pub(super) context: AiContext,
    pub(super) outlet: Outlet,
    pub(super) stop: Stop,
    /// How many rounds of tools there were.
    pub(super) rounds: u32,
    /// Whether anything was said to the room as it came.
    pub(super) said_any: bool,
    tools: Toolbox,
    repeats: RepeatGuard,
    retries: u32,
    calls: u32,
    ids: HashSet<String>,
    said: Vec<String>,
    thinking: String,
    usage: Usage,
    cost: Option<(f64, String)>,
    tasks: Vec<Task>,
    observations: Vec<Observation>,
}

/// What a loop came to.
pub(crate) struct LoopOutcome {
    /// What the model was asked with last.
    pub(crate) context: AiContext,
    /// What the provider failed with, where it did.
    pub(crate) error: Option<AiError>,
    /// What was said, a part for each round that said something.
    pub(crate) said: Vec<String>,
    pub(crate) thinking: String,
    pub(crate) usage: Usage,
    /// What is known of the turn, for the metadata of its answers.
    pub(crate) facts: Metadata,
    pub(crate) tasks: Vec<Task>,
    pub(crate) observations: Vec<Observation>,
}

impl Loop {
    pub(crate) fn new(
        turn: Arc<Turn>,
        mut tools: Toolbox,
        context: AiContext,
        outlet: Outlet,
    ) -> Self {
        let limit = turn.parts.config.tool_loop_timeout_seconds;
        let limit = limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        tools.adopt(&context.tools);
        Self {
            stop: Stop::new(&turn.control().cancel, turn.clock(), limit),
            turn,
            context,
            outlet,
            tools,
            rounds: 0,
            said_any: false,
            repeats: RepeatGuard::default(),
            retries: 0,
            calls: 0,
            ids: HashSet::new(),
            said: Vec::new(),
            thinking: String::new(),
            usage: Usage::default(),
            cost: None,
            tasks: Vec::new(),
            observations: Vec::new(),
        }
    }

    /// Runs it to its end, whatever end that is.
    pub(crate) async fn run(mut self) -> LoopOutcome {
        let (reason, error) = match self.rounds().await {
            Ok(reason) => (reason, None),
            Err(error) => (LoopEndReason::Error, Some(error)),
        };
        let facts = self.facts(reason);
        if reason != LoopEndReason::Completed {
            tracing::warn!(
                room_id = %self.turn.room_id(), channel_id = %self.turn.source.channel_id,
                reason = reason.code(), rounds = self.rounds, "a turn did not end as its model meant it"
            );
        }
        let has_said = !self.said.is_empty();
        match &error {
            // Where nothing was said, whoever gets the error tells of it.
            Some(error) if has_said => {
                let message = error.to_string();
                let told = self.turn.tell_error(error.code(), &message, "provider");
                Box::pin(told).await;
            }
            Some(_) => {}
            None => *lock(&self.turn.summary) = Some(self.summary(reason)),
        }
        self.outlet.send(Ok(Delta::Metadata(facts.clone()))).await;
        LoopOutcome {
            context: self.context,
            error,
            facts,
            said: self.said,
            thinking: self.thinking,
            usage: self.usage,
            tasks: self.tasks,
            observations: self.observations,
        }
    }

    async fn rounds(&mut self) -> Result<LoopEndReason, AiError> {
        loop {
            if let Some(reason) = self.stop.now() {
                return Ok(reason);
            }
            self.take_steering();
            let forced = self.repeats.force_stop();
            if forced {
                self.context
                    .messages
                    .push(AiMessage::user(FORCE_STOP_NUDGE));
                self.context.tools.clear();
            } else {
                self.context.tools = self.tools.shown();
            }
            let round = match self.round().await {
                Ended::Complete(round) => round,
                Ended::Stopped(reason, round) => {
                    self.keep(round);
                    return Ok(reason);
                }
                Ended::Failed(error, round) => {
                    self.keep(round);
                    return Err(error);
                }
            };
            let is_last = FinalRound {
                text: &round.text,
                finish: round.finish.as_ref(),
                had_tools: self.rounds > 0,
                force_stopped: forced,
            };
            let most_retries = self.turn.parts.config.max_empty_retries;
            if round.calls.is_empty() || forced {
                if is_last.may_retry() && self.retries < most_retries {
                    self.retries += 1;
                    self.context.messages.push(AiMessage::user(EMPTY_NUDGE));
                    self.keep(round);
                    continue;
                }
                let reason = is_last.reason();
                self.keep(round);
                return Ok(reason);
            }
            if self.rounds >= self.turn.parts.config.max_tool_rounds {
                self.keep(round);
                return Ok(LoopEndReason::MaxRounds);
            }
            let is_cut = matches!(
                round.finish,
                Some(FinishReason::Length | FinishReason::ContentFilter)
            );
            if is_cut && self.retries >= most_retries {
                self.keep(round);
                return Ok(LoopEndReason::Truncated);
            }
            let calls = self.take_calls(round);
            let stopped = if is_cut {
                self.retries += 1;
                let results = calls.iter().map(|call| ToolResult::error(call, CUT_OFF));
                self.context.messages.push(AiMessage::tool(results));
                None
            } else {
                // Boxed, so that a turn without tools is small.
                Box::pin(self.call(&calls)).await
            };
            self.rounds += 1;
            if let Some(reason) = stopped {
                return Ok(reason);
            }
            if self.rounds == self.turn.parts.config.tool_loop_warn_after {
                tracing::warn!(
                    room_id = %self.turn.room_id(), channel_id = %self.turn.source.channel_id,
                    rounds = self.rounds, "a turn has had many rounds of tools and goes on"
                );
            }
        }
    }

    /// Puts the round into the conversation and takes its calls.
    fn take_calls(&mut self, mut round: Round) -> Vec<ToolCall> {
        let mut calls = std::mem::take(&mut round.calls);
        for call in &mut calls {
            // Two calls with one id would be one to the vendor.
            let mut number = self.ids.len();
            while call.id.is_empty() || !self.ids.insert(call.id.clone()) {
                call.id = format!("call_{}_{number}", self.rounds);
                number += 1;
            }
        }
        let mut parts = Vec::new();
        if !round.thinking.is_empty() || round.signature.is_some() {
            parts.push(Part::Thinking {
                thinking: round.thinking.clone(),
                signature: round.signature.clone(),
            });
        }
        if !round.text.is_empty() {
            parts.push(Part::text(round.text.as_str()));
        }
        parts.extend(calls.iter().cloned().map(Part::ToolCall));
        self.context
            .messages
            .push(AiMessage::new(Role::Assistant, parts));
        self.keep(round);
        calls
    }

    /// Executes the calls of a round and puts their results into the conversation.
    async fn call(&mut self, calls: &[ToolCall]) -> Option<LoopEndReason> {
        let round = self.rounds;
        self.calls += u32::try_from(calls.len()).unwrap_or(u32::MAX);
        for call in calls {
            let (id, name) = (call.id.clone(), call.name.clone());
            self.outlet
                .send(Ok(Delta::ToolCallStart { id, name }))
                .await;
        }
        self.turn.tell_calls(calls, round).await;
        let (turn, tools) = (&self.turn, &self.tools);
        let answered = calls::execute(turn, tools, &mut self.repeats, &mut self.stop, calls, round);
        let answered = answered.await;
        self.turn
            .tell_results(&answered.results, round, answered.took)
            .await;
        for call in calls {
            let id = call.id.clone();
            self.outlet.send(Ok(Delta::ToolCallEnd { id })).await;
        }
        self.context
            .messages
            .push(AiMessage::tool(answered.results));
        answered.stopped
    }

    fn take_steering(&mut self) {
        for directive in self.turn.control().take() {
            match directive {
                Steering::Cancel => {}
                Steering::UpdateSystemPrompt { append } => self
                    .context
                    .system_prompt
                    .get_or_insert_default()
                    .push_str(&append),
                Steering::InjectMessage(message) => self.context.messages.push(message),
            }
        }
    }

    /// Keeps what was said in a round.
    fn keep(&mut self, round: Round) {
        if !round.text.is_empty() {
            self.said.push(round.text);
        }
        if !round.thinking.is_empty() {
            self.thinking = round.thinking;
        }
        self.tasks.extend(round.tasks);
        self.observations.extend(round.observations);
    }

    /// Counts what a round took, at the price of whoever answered.
    pub(super) fn spend(&mut self, provider: &Arc<dyn AiProvider>, usage: Usage) {
        self.usage += usage;
        let Some(pricing) = provider.catalog_entry().and_then(|it| it.pricing.as_ref()) else {
            return;
        };
        let cost = pricing.cost_for(&usage);
        match &mut self.cost {
            Some((sum, currency)) if *currency == pricing.currency => *sum += cost,
            Some(_) => {}
            None => self.cost = Some((cost, pricing.currency.clone())),
        }
    }

    fn facts(&self, reason: LoopEndReason) -> Metadata {
        let mut facts = Metadata::new()
            .with(
                "ai_usage",
                serde_json::to_value(self.usage).unwrap_or_default(),
            )
            .with("loop_end_reason", reason.code())
            .with("loop_rounds", self.rounds);
        if let Some((amount, currency)) = &self.cost {
            facts.insert("ai_cost", json!({ "amount": amount, "currency": currency }));
        }
        facts
    }

    fn summary(&self, reason: LoopEndReason) -> AiResponded {
        AiResponded {
            source: Arc::clone(&self.turn.source),
            room_id: self.turn.room_id().clone(),
            text: self.said.join("\n"),
            thinking: self.thinking.clone(),
            tool_calls: self.calls,
            rounds: self.rounds,
            usage: self.usage,
            latency_ms: millis(self.turn.age()),
            streaming: self.outlet.is_open(),
            reason,
        }
    }
}
