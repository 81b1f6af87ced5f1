//! What a model answered: text, thinking, tool calls, why it stopped, what it used.

use std::fmt;
use std::ops::AddAssign;
use std::sync::Arc;

use roomkit_core::model::{Metadata, Observation, Task};
use serde::{Deserialize, Serialize};

use crate::ToolCall;

/// A whole answer of a model (RFC §6.7, `AIResponse`).
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct AiResponse {
    /// What it says; empty where it only calls tools.
    pub text: String,
    /// How it reasoned, where the vendor tells.
    pub thinking: Option<String>,
    /// The vendor's opaque token of that reasoning.
    pub thinking_signature: Option<String>,
    /// The tools that it wants called, in order.
    pub tool_calls: Vec<ToolCall>,
    /// Why it stopped, where the vendor says so.
    pub finish_reason: Option<FinishReason>,
    /// The tokens that it took.
    pub usage: Usage,
    /// Facts of the vendor's, such as `request_id` and `model`.
    pub metadata: Metadata,
    /// Tasks to create.
    pub tasks: Vec<Task>,
    /// Observations to record.
    pub observations: Vec<Observation>,
}

/// Why a model stopped, in one spelling for all vendors.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// It had finished.
    Stop,
    /// It waits for tools.
    ToolCalls,
    /// It reached the limit of tokens: what there is, is cut.
    Length,
    /// The vendor held the rest back, or the model refused.
    ContentFilter,
    /// Another reason, as the vendor writes it.
    Other(Arc<str>),
}

/// Tokens used. The counters have no token in common, but for `reasoning_tokens`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read that no cache had.
    pub input_tokens: u64,
    /// Tokens written, thinking included.
    pub output_tokens: u64,
    /// Tokens read from the vendor's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read_input_tokens: u64,
    /// Tokens written into the vendor's cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_creation_input_tokens: u64,
    /// Those of the output tokens that were thinking.
    #[serde(skip_serializing_if = "is_zero")]
    pub reasoning_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(value: &u64) -> bool {
    *value == 0
}

impl AiResponse {
    /// An answer in words, with nothing else.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            finish_reason: Some(FinishReason::Stop),
            ..Self::default()
        }
    }

    /// An answer that calls tools.
    pub fn calling(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self {
            tool_calls: calls.into_iter().collect(),
            finish_reason: Some(FinishReason::ToolCalls),
            ..Self::default()
        }
    }
}

impl FinishReason {
    /// Reads any vendor's spelling, in upper or lower case.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.to_ascii_lowercase().as_str() {
            "stop" | "end_turn" | "stop_sequence" | "completed" => Self::Stop,
            "tool_calls" | "tool_use" | "function_call" => Self::ToolCalls,
            "length" | "max_tokens" | "max_output_tokens" | "model_context_window_exceeded" => {
                Self::Length
            }
            "content_filter" | "safety" | "refusal" => Self::ContentFilter,
            _ => Self::Other(text.into()),
        }
    }

    /// The stable code: `stop`, `tool_calls`, `length`, `content_filter`, or the vendor's own word.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::ContentFilter => "content_filter",
            Self::Other(text) => text,
        }
    }
}

impl Usage {
    /// Tokens read and written.
    #[must_use]
    pub const fn new(input_tokens: u64, output_tokens: u64) -> Self {
        Self {
            input_tokens,
            output_tokens,
            cache_read_input_tokens: 0,
            cache_creation_input_tokens: 0,
            reasoning_tokens: 0,
        }
    }

    /// Sets the tokens read from and written into the vendor's cache.
    #[must_use]
    pub const fn cached(mut self, read: u64, written: u64) -> Self {
        self.cache_read_input_tokens = read;
        self.cache_creation_input_tokens = written;
        self
    }

    /// Sets how many of the output tokens were thinking.
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = tokens;
        self
    }

    /// All tokens read, from a cache or not.
    #[must_use]
    pub fn total_input_tokens(&self) -> u64 {
        self.input_tokens
            .saturating_add(self.cache_read_input_tokens)
            .saturating_add(self.cache_creation_input_tokens)
    }

    /// Whether nothing was counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let add = |a: &mut u64, b: u64| *a = a.saturating_add(b);
        add(&mut self.input_tokens, other.input_tokens);
        add(&mut self.output_tokens, other.output_tokens);
        add(
            &mut self.cache_read_input_tokens,
            other.cache_read_input_tokens,
        );
        add(
            &mut self.cache_creation_input_tokens,
            other.cache_creation_input_tokens,
        );
        add(&mut self.reasoning_tokens, other.reasoning_tokens);
    }
}

impl fmt::Debug for AiResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiResponse")
            .field("text", &self.text.len())
            .field("tool_calls", &self.tool_calls)
            .field("finish_reason", &self.finish_reason)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}
