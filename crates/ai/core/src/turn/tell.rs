//! What a turn tells those who look on: ephemeral events of thinking and tool calls, and errors. None of
//! it can hold the turn up or end it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use roomkit_core::hook::OnError;
use roomkit_core::model::{
    EphemeralEvent, EphemeralEventType, EventSource, EventType, Metadata, RoomEvent, SystemContent,
    Visibility,
};
use serde_json::{Value, json};

use super::Turn;
use crate::{ToolCall, ToolResult};

/// How long telling may take before the turn goes on without.
const LONGEST_TELLING: Duration = Duration::from_secs(1);

/// How much of a piece of thinking, and of a whole thought, one event shows, in characters.
const MOST_THINKING: usize = 1_000;

/// How much of a result an event shows, in characters.
const MOST_RESULT: usize = 500;

/// Up to which size the arguments of a call are shown, in bytes of JSON; an event carries 64 KiB at
/// most, of 32 calls.
const MOST_ARGUMENTS: usize = 1_536;

impl Turn {
    /// Publishes an ephemeral event of this agent.
    pub(crate) async fn tell(&self, event_type: EphemeralEventType, data: Metadata) {
        let Some(kit) = self.kit.as_ref().and_then(|kit| kit.upgrade()) else {
            return;
        };
        let agent = self.source.channel_id.clone();
        let user = agent.as_str();
        let mut event =
            EphemeralEvent::new(self.room_id().clone(), event_type, user, self.context.now());
        event.data = data.with("channel_id", user);
        event.channel_id = Some(agent);
        // Boxed, so that a turn which tells nothing is small.
        let told = Box::pin(kit.publish(event));
        let late = LateTelling(self).wait();
        match select(told, std::pin::pin!(late)).await {
            Either::Left((Ok(()), _)) => {}
            Either::Left((Err(error), _)) => {
                tracing::debug!(room_id = %self.room_id(), %error, "ephemeral event was not published");
            }
            Either::Right(_) => {
                tracing::warn!(room_id = %self.room_id(), "ephemeral event was given up: the backend is slow");
            }
        }
    }

    pub(crate) async fn tell_thinking(
        &self,
        event_type: EphemeralEventType,
        thinking: &str,
        round: u32,
    ) {
        let shown: String = thinking.chars().take(MOST_THINKING).collect();
        let data = Metadata::new()
            .with("thinking", shown)
            .with("thinking_length", thinking.chars().count())
            .with("round", round);
        self.tell(event_type, data).await;
    }

    pub(crate) async fn tell_calls(&self, calls: &[ToolCall], round: u32) {
        let calls: Vec<Value> = calls.iter().map(show_call).collect();
        let data = Metadata::new()
            .with("tool_calls", calls)
            .with("round", round);
        self.tell(EphemeralEventType::ToolCallStart, data).await;
    }

    pub(crate) async fn tell_results(&self, results: &[ToolResult], round: u32, took: Duration) {
        let results: Vec<Value> = results
            .iter()
            .map(|result| {
                let text: String = result.as_text().chars().take(MOST_RESULT).collect();
                json!({ "id": result.tool_call_id, "name": result.name, "result": text,
                        "is_error": result.is_error })
            })
            .collect();
        let data = Metadata::new()
            .with("tool_calls", results)
            .with("round", round)
            .with("duration_ms", millis(took));
        self.tell(EphemeralEventType::ToolCallEnd, data).await;
    }

    /// Tells the hooks at `ON_ERROR`.
    pub(crate) async fn tell_error(&self, code: &str, message: &str, category: &str) {
        let agent = &self.source.channel_id;
        let content = SystemContent::new("error", format!("{agent} failed"));
        let mut event = RoomEvent::new(
            self.room_id().clone(),
            EventSource::system(),
            content,
            self.context.now(),
        );
        event.event_type = EventType::System;
        event.visibility = Visibility::Internal;
        event.metadata = Metadata::new()
            .with("error", message)
            .with("error_type", code)
            .with("error_category", category)
            .with("event_id", self.event.id.as_str())
            .with("channel_id", agent.as_str());
        self.hooks(OnError, Arc::new(event)).await;
    }
}

/// Starts its timer only when it is polled: what is told at once needs none.
struct LateTelling<'a>(&'a Turn);

impl LateTelling<'_> {
    async fn wait(self) {
        self.0.clock().sleep(LONGEST_TELLING).await;
    }
}

fn show_call(call: &ToolCall) -> Value {
    let arguments = call.arguments.to_object();
    let is_small = serde_json::to_string(&*arguments).is_ok_and(|it| it.len() <= MOST_ARGUMENTS);
    if is_small {
        json!({ "id": call.id, "name": call.name, "arguments": &*arguments })
    } else {
        json!({ "id": call.id, "name": call.name, "arguments": {}, "arguments_truncated": true })
    }
}

pub(crate) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Thinking on its way to the listeners: pieces go out together, once a window of time or of length
/// is over, however small the model makes them.
pub(crate) struct Thinking {
    all: String,
    pending: String,
    last: Duration,
    is_open: bool,
}

impl Thinking {
    pub(crate) fn new() -> Self {
        Self {
            all: String::new(),
            pending: String::new(),
            last: Duration::ZERO,
            is_open: false,
        }
    }

    /// Takes a piece; tells the hooks and listeners where it is the first.
    pub(crate) async fn add(&mut self, turn: &Turn, piece: &str, round: u32) {
        let config = &turn.parts.config;
        if !self.is_open {
            self.is_open = true;
            self.last = turn.clock().elapsed();
            turn.thinks(round).await;
            let start = EphemeralEventType::ThinkingStart;
            turn.tell_thinking(start, "", round).await;
        }
        self.all.push_str(piece);
        self.pending.push_str(piece);
        let window = Duration::from_millis(config.thinking_coalesce_ms);
        let is_over = turn.clock().elapsed().saturating_sub(self.last) >= window;
        if is_over || self.pending.len() >= config.thinking_coalesce_chars {
            self.flush(turn, round).await;
        }
    }

    /// Takes a thought that came whole.
    pub(crate) async fn whole(&mut self, turn: &Turn, thought: &str, round: u32) {
        if !self.is_open {
            self.is_open = true;
            turn.thinks(round).await;
            let start = EphemeralEventType::ThinkingStart;
            turn.tell_thinking(start, "", round).await;
        }
        self.all.push_str(thought);
    }

    async fn flush(&mut self, turn: &Turn, round: u32) {
        self.last = turn.clock().elapsed();
        let pending = std::mem::take(&mut self.pending);
        let mut rest = pending.as_str();
        while !rest.is_empty() {
            let cut = rest
                .char_indices()
                .nth(MOST_THINKING)
                .map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(cut);
            let delta = EphemeralEventType::ThinkingDelta;
            turn.tell_thinking(delta, piece, round).await;
            rest = after;
        }
    }

    /// Ends the thought, where one is open. Called before anything else is said, and at the end.
    pub(crate) async fn end(&mut self, turn: &Turn, round: u32, in_pieces: bool) {
        if !std::mem::replace(&mut self.is_open, false) {
            return;
        }
        if in_pieces {
            self.flush(turn, round).await;
        }
        self.pending.clear();
        let all = std::mem::take(&mut self.all);
        let end = EphemeralEventType::ThinkingEnd;
        turn.tell_thinking(end, &all, round).await;
    }
}

/// The calls that a model is writing, as far as the listeners know them.
pub(crate) struct Writing {
    calls: Vec<(String, String, usize)>,
    last: Option<Duration>,
}

impl Writing {
    pub(crate) fn new() -> Self {
        Self {
            calls: Vec::new(),
            last: None,
        }
    }

    /// Takes how much of a call's arguments there is.
    pub(crate) async fn add(
        &mut self,
        turn: &Turn,
        id: String,
        name: String,
        size: usize,
        round: u32,
    ) {
        if let Some(call) = self.calls.iter_mut().find(|(other, ..)| *other == id) {
            *call = (id, name, size);
        } else if self.calls.len() < super::rules::MOST_CALLS {
            self.calls.push((id, name, size));
            self.last = None;
        } else {
            return;
        }
        let now = turn.clock().elapsed();
        let window = Duration::from_millis(turn.parts.config.thinking_coalesce_ms);
        let is_due = |last: Duration| now.saturating_sub(last) >= window;
        if self.last.is_none_or(is_due) {
            self.last = Some(now);
            let calls = self
                .calls
                .iter()
                .map(|(id, name, size)| json!({ "id": id, "name": name, "arguments_chars": size }));
            self.tell(turn, calls.collect(), round).await;
        }
    }

    /// Tells that no call is being written any more, however that came.
    pub(crate) async fn end(&mut self, turn: &Turn, round: u32) {
        if !self.calls.is_empty() {
            self.calls.clear();
            self.last = None;
            self.tell(turn, Vec::new(), round).await;
        }
    }

    async fn tell(&self, turn: &Turn, calls: Vec<Value>, round: u32) {
        let data = Metadata::new()
            .with("tool_calls", calls)
            .with("round", round);
        turn.tell(EphemeralEventType::ToolCallDelta, data).await;
    }
}
