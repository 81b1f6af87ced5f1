//! The rules of the tool loop, the same for answers that are whole and for those that come: what is
//! bounded, what is said to a model that gets stuck, and why a loop ends.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use crate::{FinishReason, ToolArguments, ToolCall};

/// The most calls of one round; what a model asks for beyond is dropped before its message is put
/// together, so that no call is without a result.
pub(crate) const MOST_CALLS: usize = 32;

/// From which repeat on a call with the same arguments is not executed.
const REPEAT_LIMIT: u32 = 3;

/// The same for tools that only look into what cannot change within the turn.
const PURE_REPEAT_LIMIT: u32 = 2;

/// After how many further repeats tools are taken away.
const FORCE_STOP_AFTER: u32 = 3;

/// Said to a model that fell silent after its tools had answered.
pub(crate) const EMPTY_NUDGE: &str = "The tools you called have answered, their results are above. \
     Write your final answer to the user now, in plain text, and call no more tools.";

/// Said to a model that repeats a call which is not executed any more.
pub(crate) const FORCE_STOP_NUDGE: &str = "You have made the same tool call with the same arguments \
     several times. It cannot give anything new, and tools are switched off now. Reply to the user in \
     plain text: sum up what you found with the results above, and what is left.";

/// The result of calls whose answer was cut off: what is there may be incomplete.
pub(crate) const CUT_OFF: &str = "Not executed: the answer was cut off before this call was \
     certainly complete. Make it again, with less text.";

/// Why a turn of an agent ended. Each has one; only `completed` is an answer as the model meant it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LoopEndReason {
    /// The model had finished.
    Completed,
    /// It wanted more rounds of tools than `max_tool_rounds`.
    MaxRounds,
    /// `tool_loop_timeout_seconds` were over.
    Timeout,
    /// The limit of tokens cut it off before it said anything.
    Truncated,
    /// It said nothing after its tools had answered, though it was asked again.
    EmptyResponse,
    /// It repeated a call that is not executed any more, and had to answer without tools.
    ForceStopped,
    /// Somebody cancelled it.
    Cancelled,
    /// The provider failed.
    Error,
}

impl LoopEndReason {
    /// The stable code, such as `max_rounds`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::MaxRounds => "max_rounds",
            Self::Timeout => "timeout",
            Self::Truncated => "truncated",
            Self::EmptyResponse => "empty_response",
            Self::ForceStopped => "force_stopped",
            Self::Cancelled => "cancelled",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for LoopEndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// What a round that calls no tools says about the end of the loop.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FinalRound<'a> {
    pub(crate) text: &'a str,
    pub(crate) finish: Option<&'a FinishReason>,
    pub(crate) had_tools: bool,
    pub(crate) force_stopped: bool,
}

impl FinalRound<'_> {
    fn is_empty(self) -> bool {
        self.text.trim().is_empty()
    }

    fn is_cut(self) -> bool {
        self.finish == Some(&FinishReason::Length)
    }

    /// Whether asking again may help: the model fell silent after tools. One that ran into the limit
    /// of tokens would run into it again.
    pub(crate) fn may_retry(self) -> bool {
        self.had_tools && self.is_empty() && !self.is_cut() && !self.force_stopped
    }

    pub(crate) fn reason(self) -> LoopEndReason {
        if self.force_stopped {
            // It ended with text because it had to: that is no answer.
            LoopEndReason::ForceStopped
        } else if !self.is_empty() {
            LoopEndReason::Completed
        } else if self.is_cut() {
            LoopEndReason::Truncated
        } else if self.had_tools {
            LoopEndReason::EmptyResponse
        } else {
            LoopEndReason::Completed
        }
    }
}

/// Counts calls with the same arguments within a turn.
#[derive(Debug, Default)]
pub(crate) struct RepeatGuard {
    counts: HashMap<u64, u32>,
    force_stop: bool,
}

impl RepeatGuard {
    /// What the model is told instead of a result, where the call was made too often.
    pub(crate) fn check(&mut self, call: &ToolCall, is_pure: bool) -> Option<String> {
        let mut hasher = DefaultHasher::new();
        call.name.hash(&mut hasher);
        match &call.arguments {
            ToolArguments::Object(object) => object.hash(&mut hasher),
            ToolArguments::Malformed { text, .. } => text.hash(&mut hasher),
        }
        let count = self.counts.entry(hasher.finish()).or_default();
        *count += 1;
        let limit = if is_pure {
            PURE_REPEAT_LIMIT
        } else {
            REPEAT_LIMIT
        };
        if *count < limit {
            return None;
        }
        self.force_stop |= *count >= limit + FORCE_STOP_AFTER;
        Some(format!(
            "Not executed: you have made this call with these exact arguments {} times in this turn, \
             and repeating it gives nothing new. Use the results you have, call with other arguments, \
             or answer now.",
            *count - 1
        ))
    }

    /// Whether the model goes on repeating itself in spite of what it is told.
    pub(crate) fn force_stop(&self) -> bool {
        self.force_stop
    }
}
