//! One round: a model is asked once, and what it answers is read to its end, told and given on.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use roomkit_core::channel::Delta;
use roomkit_core::model::{Observation, Task};

use super::attempt::{Attempts, Next};
use super::race::caught;
use super::rules::MOST_CALLS;
use super::run::Loop;
use super::tell::{Thinking, Writing};
use super::{LoopEndReason, Turn};
use crate::hooks::{AiThinking, OnAiThinking};
use crate::transcript::repair_tool_calls;
use crate::{
    AiError, AiErrorKind, AiProvider, AiStream, FinishReason, StreamEvent, ToolCall, Usage,
};

/// What a model said in a round, as far as it came.
#[derive(Default)]
pub(crate) struct Round {
    pub(crate) text: String,
    pub(crate) thinking: String,
    pub(crate) signature: Option<String>,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) usage: Usage,
    pub(crate) tasks: Vec<Task>,
    pub(crate) observations: Vec<Observation>,
    /// How many calls were too many.
    dropped: usize,
    /// Whether anything of it was shown to anybody.
    shown: bool,
}

/// How a round ended.
pub(crate) enum Ended {
    /// The model had finished.
    Complete(Round),
    /// The turn has to stop.
    Stopped(LoopEndReason, Round),
    /// The provider failed.
    Failed(AiError, Round),
}

impl Turn {
    /// Tells the hooks that the model reasons.
    pub(crate) async fn thinks(&self, round: u32) {
        let thinking = AiThinking {
            source: Arc::clone(&self.source),
            room_id: self.room_id().clone(),
            round,
        };
        self.hooks(OnAiThinking, thinking).await;
    }
}

impl Loop {
    /// Asks until there is an answer, or nobody is left to ask.
    pub(crate) async fn round(&mut self) -> Ended {
        let parts = Arc::clone(&self.turn.parts);
        let Some(provider) = &parts.provider else {
            let error = AiError::new(
                AiErrorKind::InvalidRequest,
                "none",
                "the agent has no provider",
            );
            return Ended::Failed(error, Round::default());
        };
        let policy = parts.config.retry_policy.as_ref();
        let mut attempts = Attempts::new(provider, parts.fallback.as_ref(), policy);
        loop {
            // Whatever stages, hooks and memories made of it, vendors accept it.
            repair_tool_calls(&mut self.context.messages);
            let asked = Arc::clone(attempts.provider());
            let (error, round) = match self.ask(&asked).await {
                Ended::Failed(error, round) => (error, round),
                Ended::Complete(round) => {
                    self.spend(&asked, round.usage);
                    return Ended::Complete(round);
                }
                ended @ Ended::Stopped(..) => return ended,
            };
            if round.shown {
                return Ended::Failed(error, round);
            }
            let delay = match attempts.after(error, &mut self.context) {
                Next::GiveUp(error) => return Ended::Failed(error, round),
                Next::Again(delay) => delay,
            };
            if !delay.is_zero() {
                let pause = self.turn.clock().sleep(delay);
                if let Err(reason) = self.stop.or(pause).await {
                    return Ended::Stopped(reason, Round::default());
                }
            }
        }
    }

    /// Asks a provider once.
    async fn ask(&mut self, provider: &Arc<dyn AiProvider>) -> Ended {
        let mut round = Round::default();
        let context = &self.context;
        let opened = if self.outlet.is_open() {
            self.stop
                .or(caught(|| provider.generate_stream(context)))
                .await
        } else {
            let whole = caught(|| provider.generate(context));
            let whole = self.stop.or(whole).await;
            whole.map(|whole| {
                whole.map(|answer| {
                    answer.map(|mut answer| {
                        round.tasks = std::mem::take(&mut answer.tasks);
                        round.observations = std::mem::take(&mut answer.observations);
                        stream::iter(StreamEvent::of(answer).into_iter().map(Ok)).boxed()
                    })
                })
            })
        };
        let events: AiStream = match opened {
            Ok(Ok(Ok(events))) => events,
            Ok(Ok(Err(error))) => return Ended::Failed(error, round),
            Ok(Err(_panic)) => return Ended::Failed(panicked(provider), round),
            Err(reason) => return Ended::Stopped(reason, round),
        };
        let (mut thinking, mut writing) = (Thinking::new(), Writing::new());
        let read = self
            .read(provider, events, &mut round, &mut thinking, &mut writing)
            .await;
        let in_pieces = self.outlet.is_open();
        thinking.end(&self.turn, self.rounds, in_pieces).await;
        writing.end(&self.turn, self.rounds).await;
        if round.dropped > 0 {
            tracing::warn!(
                room_id = %self.turn.room_id(), channel_id = %self.turn.source.channel_id,
                dropped = round.dropped, most = MOST_CALLS, "more tool calls in a round than there may be"
            );
        }
        match read {
            Ok(None) => Ended::Complete(round),
            Ok(Some(reason)) => Ended::Stopped(reason, round),
            Err(error) => Ended::Failed(error, round),
        }
    }

    /// Reads an answer to its end. What comes back is why the turn has to stop before.
    async fn read(
        &mut self,
        provider: &Arc<dyn AiProvider>,
        events: AiStream,
        round: &mut Round,
        thinking: &mut Thinking,
        writing: &mut Writing,
    ) -> Result<Option<LoopEndReason>, AiError> {
        let mut events: BoxStream<'static, _> = AssertUnwindSafe(events).catch_unwind().boxed();
        let in_pieces = self.outlet.is_open();
        loop {
            let next = poll_fn(|cx| self.stop.poll_or(cx, |cx| events.poll_next_unpin(cx)));
            let event = match next.await {
                Ok(Some(Ok(event))) => event?,
                Ok(Some(Err(_panic))) => return Err(panicked(provider)),
                Ok(None) => {
                    let kind = AiErrorKind::InvalidResponse;
                    return Err(AiError::new(kind, provider.name(), "the answer broke off"));
                }
                Err(reason) => return Ok(Some(reason)),
            };
            match event {
                StreamEvent::Text(text) => {
                    if text.is_empty() {
                        continue;
                    }
                    thinking.end(&self.turn, self.rounds, in_pieces).await;
                    round.text.push_str(&text);
                    if in_pieces {
                        round.shown = true;
                        self.said_any = true;
                        self.outlet.send(Ok(Delta::Text(text))).await;
                    }
                }
                StreamEvent::Thinking {
                    thinking: piece,
                    signature,
                } => {
                    if signature.is_some() {
                        round.signature = signature;
                    }
                    if piece.is_empty() {
                        continue;
                    }
                    round.thinking.push_str(&piece);
                    if in_pieces {
                        round.shown = true;
                        Box::pin(thinking.add(&self.turn, &piece, self.rounds)).await;
                        self.outlet.send(Ok(Delta::Thinking(piece))).await;
                    } else {
                        Box::pin(thinking.whole(&self.turn, &piece, self.rounds)).await;
                    }
                }
                StreamEvent::ToolCallDelta {
                    id,
                    name,
                    arguments_bytes,
                } => {
                    thinking.end(&self.turn, self.rounds, in_pieces).await;
                    let rounds = self.rounds;
                    let told = writing.add(&self.turn, id, name, arguments_bytes, rounds);
                    Box::pin(told).await;
                }
                StreamEvent::ToolCall(call) => {
                    if round.calls.len() < MOST_CALLS {
                        round.calls.push(call);
                    } else {
                        round.dropped += 1;
                    }
                }
                StreamEvent::Done {
                    finish_reason,
                    usage,
                    ..
                } => {
                    round.finish = finish_reason;
                    round.usage = usage;
                    return Ok(None);
                }
            }
        }
    }
}

fn panicked(provider: &Arc<dyn AiProvider>) -> AiError {
    // A provider that panics may do so when it is asked for its name, too.
    let name = std::panic::catch_unwind(AssertUnwindSafe(|| provider.name().to_owned()));
    let name = name.unwrap_or_else(|_panic| "unknown".to_owned());
    AiError::new(AiErrorKind::InvalidResponse, name, "the provider panicked")
}
