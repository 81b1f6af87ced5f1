#![doc = include_str!("../README.md")]

mod channel;
#[cfg(feature = "chat-completions")]
pub mod chat_completions;
mod context;
mod error;
mod hooks;
#[cfg(feature = "http")]
pub mod http;
mod human;
mod memory;
mod message;
mod mock;
mod model;
mod parts;
pub mod pipeline;
mod provider;
mod response;
mod secret;
mod text;
mod tool;
mod transcript;
mod turn;

pub use channel::{
    Agent, AgentBuilder, AiChannel, AiChannelBuilder, AiChannelConfig, ConfigProvider, TurnConfig,
};
pub use context::{AiContext, ToolDefinition};
pub use error::{AiError, AiErrorKind, Result};
pub use hooks::{
    AiGeneration, AiResponded, AiThinking, AiTrigger, BeforeAiContextBuild, BeforeAiGeneration,
    BeforeToolUse, InputRequired, OnAiResponse, OnAiThinking, OnPlanUpdated, OnToolCall,
    OnUserInputRequired, ToolUse,
};
pub use human::{HumanInput, HumanInputError, InputOutcome, PendingInput};
pub use memory::{MemoryProvider, MemoryResult, SlidingWindowMemory};
pub use message::{AiMessage, Part, ResultPart, Role, ToolArguments, ToolCall, ToolResult};
pub use mock::MockAiProvider;
pub use model::{ModelInfo, ModelPricing};
pub use parts::Parts;
pub use provider::{AiCapabilities, AiProvider, AiStream, StreamEvent};
pub use response::{AiResponse, FinishReason, Usage};
pub use roomkit_core::async_trait;
#[cfg(feature = "schemars")]
pub use schemars;
pub use secret::ApiKey;
pub use text::SharedText;
pub use tool::{
    Arguments, Cancellation, ConsoleToolAuditor, ExternalCall, ExternalError, ExternalTools,
    FnTool, IntoToolResult, Json, JsonlToolAuditor, OverrideMode, PlanStatus, PlanUpdated,
    PlannedTask, READ_STORED_RESULT, RevealedTools, RoleOverride, StoredResults,
    TOOL_SEARCH_PROMPT, TaskPlans, Tool, ToolAuditEntry, ToolAuditor, ToolContext, ToolError,
    ToolErrorKind, ToolLimits, ToolOutput, ToolPolicy, ToolRunner, ToolSearch, ToolSet,
    ToolSetError, ToolStatus, estimate_tokens, estimate_tool_tokens, glob_matches,
};
pub use transcript::{repair_tool_calls, trim_messages};
pub use turn::{LoopEndReason, Steering};

/// What the expansion of macros names.
#[cfg(feature = "schemars")]
#[doc(hidden)]
pub mod __private {
    pub use {schemars, serde};
}
