#![doc = include_str!("../README.md")]

mod channel;
mod context;
mod error;
mod hooks;
mod human;
mod memory;
mod message;
mod mock;
mod model;
pub mod pipeline;
mod provider;
mod response;
mod secret;
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
    BeforeToolUse, InputRequired, OnAiResponse, OnAiThinking, OnToolCall, OnUserInputRequired,
    ToolUse,
};
pub use human::{HumanInput, HumanInputError, InputOutcome, PendingInput};
pub use memory::{MemoryProvider, MemoryResult, SlidingWindowMemory};
pub use message::{AiMessage, Part, ResultPart, Role, ToolArguments, ToolCall, ToolResult};
pub use mock::MockAiProvider;
pub use model::{ModelInfo, ModelPricing};
pub use provider::{AiCapabilities, AiProvider, AiStream, StreamEvent};
pub use response::{AiResponse, FinishReason, Usage};
pub use roomkit_core::async_trait;
pub use secret::ApiKey;
pub use tool::{
    Arguments, Cancellation, IntoToolResult, Json, Tool, ToolContext, ToolError, ToolErrorKind,
    ToolOutput, ToolSet, ToolSetError,
};
pub use transcript::{repair_tool_calls, trim_messages};
pub use turn::{LoopEndReason, Steering};
