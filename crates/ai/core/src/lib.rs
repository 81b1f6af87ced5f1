#![doc = include_str!("../README.md")]

#[cfg(feature = "chat-completions")]
pub mod chat_completions;
mod context;
mod error;
#[cfg(feature = "http")]
pub mod http;
mod message;
mod mock;
mod model;
mod provider;
mod response;
mod secret;

pub use context::{AiContext, ToolDefinition};
pub use error::{AiError, AiErrorKind, Result};
pub use message::{AiMessage, Part, ResultPart, Role, ToolArguments, ToolCall, ToolResult};
pub use mock::MockAiProvider;
pub use model::{ModelInfo, ModelPricing};
pub use provider::{AiCapabilities, AiProvider, AiStream, StreamEvent};
pub use response::{AiResponse, FinishReason, Usage};
pub use secret::ApiKey;
