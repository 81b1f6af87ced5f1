#![doc = include_str!("../README.md")]

mod context;
mod error;
mod message;
mod mock;
mod model;
mod provider;
mod response;
mod secret;
mod tool;

pub use context::{AiContext, ToolDefinition};
pub use error::{AiError, AiErrorKind, Result};
pub use message::{AiMessage, Part, ResultPart, Role, ToolArguments, ToolCall, ToolResult};
pub use mock::MockAiProvider;
pub use model::{ModelInfo, ModelPricing};
pub use provider::{AiCapabilities, AiProvider, AiStream, StreamEvent};
pub use response::{AiResponse, FinishReason, Usage};
pub use roomkit_core::async_trait;
#[cfg(feature = "schemars")]
pub use schemars;
pub use secret::ApiKey;
pub use tool::{
    Arguments, Cancellation, ConsoleToolAuditor, ExternalCall, ExternalError, ExternalTools,
    FnTool, IntoToolResult, Json, JsonlToolAuditor, OverrideMode, PlanStatus, PlanUpdated,
    PlannedTask, READ_STORED_RESULT, RevealedTools, RoleOverride, StoredResults,
    TOOL_SEARCH_PROMPT, TaskPlans, Tool, ToolAuditEntry, ToolAuditor, ToolContext, ToolError,
    ToolErrorKind, ToolLimits, ToolOutput, ToolPolicy, ToolRunner, ToolSearch, ToolSet,
    ToolSetError, ToolStatus, estimate_tokens, estimate_tool_tokens, glob_matches,
};

/// What the expansion of macros names.
#[cfg(feature = "schemars")]
#[doc(hidden)]
pub mod __private {
    pub use {schemars, serde};
}
