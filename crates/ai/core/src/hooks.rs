//! The hook points of agents (RFC §12.9.9): each a type with its payload.

use std::fmt;
use std::sync::Arc;

use roomkit_core::hook::{FailurePolicy, HookPoint, HookResult, HookTrigger};
use roomkit_core::model::{EventSource, ParticipantId, RoomEvent, RoomId};

use crate::human::PendingInput;
use crate::{AiContext, LoopEndReason, PlanUpdated, ToolCall, ToolResult, Usage};

/// Before anything is done for a turn: hooks may block it cheaply (RFC §12.9.2, position 1). What
/// they change is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeAiContextBuild;

/// Before a model is asked for the first time in a turn: hooks may block it or change the context
/// (RFC §12.9.2, position 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeAiGeneration;

/// A model began to reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAiThinking;

/// Before a tool is executed: hooks may deny the call or change its arguments. One that fails denies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeToolUse;

/// A tool was called: hooks may replace its result, must supply it where there is none, or block it,
/// which gives the model an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnToolCall;

/// An agent finished a turn, otherwise than by an error before it said anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnAiResponse;

/// A tool waits for a person: the place to tell them. The request can be answered while these hooks
/// run; one that blocks rejects it (RFC §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnUserInputRequired;

/// An agent made or changed its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnPlanUpdated;

impl HookPoint for OnPlanUpdated {
    type Payload = PlanUpdated;
    type Returns = ();
    const TRIGGER: HookTrigger = HookTrigger::OnPlanUpdated;
}

/// The payload of [`BeforeAiContextBuild`].
#[derive(Clone)]
#[non_exhaustive]
pub struct AiTrigger {
    /// The agent, as the source of what it will say; filters of hooks look at it.
    pub source: Arc<EventSource>,
    /// What it is asked to answer.
    pub event: Arc<RoomEvent>,
}

/// The payload of [`BeforeAiGeneration`].
#[derive(Clone)]
#[non_exhaustive]
pub struct AiGeneration {
    /// The agent.
    pub source: Arc<EventSource>,
    /// What it is asked to answer.
    pub event: Arc<RoomEvent>,
    /// The name of the provider that will be asked.
    pub provider: Arc<str>,
    /// What it will be asked with; hooks may change all of it.
    pub context: AiContext,
}

/// The payload of [`OnAiThinking`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AiThinking {
    /// The agent.
    pub source: Arc<EventSource>,
    /// The room.
    pub room_id: RoomId,
    /// How many rounds of tools came before.
    pub round: u32,
}

/// The payload of [`BeforeToolUse`] and [`OnToolCall`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolUse {
    /// The agent.
    pub source: Arc<EventSource>,
    /// The room.
    pub room_id: RoomId,
    /// Whose message is answered, where somebody wrote it.
    pub participant_id: Option<ParticipantId>,
    /// How many rounds of tools came before.
    pub round: u32,
    /// The call. [`BeforeToolUse`] may change the arguments; all else about it is fixed.
    pub call: ToolCall,
    /// The result, which [`OnToolCall`] may replace; `None` before the call, and after it where
    /// nothing executes this tool but a hook.
    pub result: Option<ToolResult>,
}

/// The payload of [`OnAiResponse`].
#[derive(Clone)]
#[non_exhaustive]
pub struct AiResponded {
    /// The agent.
    pub source: Arc<EventSource>,
    /// The room.
    pub room_id: RoomId,
    /// What it said in all, its parts joined by line breaks.
    pub text: String,
    /// How it reasoned last, where the vendor tells.
    pub thinking: String,
    /// How many tools were called.
    pub tool_calls: u32,
    /// How many rounds of tools there were.
    pub rounds: u32,
    /// The tokens of all rounds.
    pub usage: Usage,
    /// From the event to the end of the turn, in milliseconds.
    pub latency_ms: u64,
    /// Whether the answer was given as it came.
    pub streaming: bool,
    /// Why the turn ended.
    pub reason: LoopEndReason,
}

/// The payload of [`OnUserInputRequired`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct InputRequired {
    /// The agent.
    pub source: Arc<EventSource>,
    /// What is asked, and the id under which it is answered.
    pub pending: PendingInput,
}

macro_rules! points {
    ($($point:ident($payload:ty) -> $returns:ty $(, $failure:ident)?;)+) => {$(
        impl HookPoint for $point {
            type Payload = $payload;
            type Returns = $returns;
            const TRIGGER: HookTrigger = HookTrigger::$point;
            $(const FAILURE: FailurePolicy = FailurePolicy::$failure;)?

            fn source(payload: &Self::Payload) -> Option<&EventSource> {
                Some(&payload.source)
            }
        }
    )+};
}

points! {
    BeforeAiContextBuild(AiTrigger) -> HookResult<AiTrigger>;
    BeforeAiGeneration(AiGeneration) -> HookResult<AiGeneration>;
    OnAiThinking(AiThinking) -> ();
    BeforeToolUse(ToolUse) -> HookResult<ToolUse>, Block;
    OnToolCall(ToolUse) -> HookResult<ToolUse>;
    OnAiResponse(AiResponded) -> ();
    OnUserInputRequired(InputRequired) -> HookResult<InputRequired>;
}

impl fmt::Debug for AiTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiTrigger")
            .field("channel", &self.source.channel_id)
            .field("event", &self.event.id)
            .finish()
    }
}

impl fmt::Debug for AiGeneration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiGeneration")
            .field("channel", &self.source.channel_id)
            .field("event", &self.event.id)
            .field("provider", &self.provider)
            .field("context", &self.context)
            .finish()
    }
}

impl fmt::Debug for AiResponded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiResponded")
            .field("channel", &self.source.channel_id)
            .field("room", &self.room_id)
            .field("text", &format_args!("{} bytes", self.text.len()))
            .field("reason", &self.reason)
            .field("usage", &self.usage)
            .finish_non_exhaustive()
    }
}
