//! What a model is asked with: the conversation, the tools, and how to answer.

use std::fmt;

use roomkit_core::RoomContext;
use roomkit_core::model::{ChannelCapabilities, ChannelMediaType, Metadata};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{AiMessage, ApiKey};

/// What one call of a model is made with (RFC §6.7, `AIContext`).
///
/// A setting that is `None` is left to the provider's configuration, and then to the model.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct AiContext {
    /// The conversation so far, oldest first.
    pub messages: Vec<AiMessage>,
    /// What the agent is told before it.
    pub system_prompt: Option<String>,
    /// The tools that the model may call in this round.
    pub tools: Vec<ToolDefinition>,
    /// How freely it may choose its words; models that think take none.
    pub temperature: Option<f32>,
    /// The most tokens of the answer, thinking included.
    pub max_tokens: Option<u32>,
    /// The most tokens of thinking; 0 switches thinking off.
    pub thinking_budget: Option<u32>,
    /// Switches thinking on or off where the vendor has a switch.
    pub enable_thinking: Option<bool>,
    /// How much to think, in the vendor's own words, such as `low`.
    pub reasoning_effort: Option<String>,
    /// The room that is answered in.
    pub room: Option<RoomContext>,
    /// What the channel that asked can show.
    pub target_capabilities: Option<ChannelCapabilities>,
    /// Which media the channels that will hear the answer can show.
    pub target_media_types: Vec<ChannelMediaType>,
    /// The credential of this turn, where it is not the provider's own: in a host of many tenants,
    /// each may answer with their own account.
    pub api_key: Option<ApiKey>,
    /// Data of the application and its hooks; no provider sends it.
    pub metadata: Metadata,
    /// What is merged into the metadata of each event that answers.
    pub response_metadata: Metadata,
}

/// A tool as a model is told of it.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ToolDefinition {
    /// Its name: letters, digits, `_` and `-`, at most 64 of them, as the vendors ask for.
    pub name: String,
    /// What it does, for the model.
    #[serde(default)]
    pub description: String,
    /// The JSON schema of its arguments, an object's.
    #[serde(default = "ToolDefinition::nothing")]
    pub parameters: Value,
    /// Words under which a search for tools finds it besides its name and description.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

impl AiContext {
    /// A conversation with nothing else set.
    pub fn new(messages: impl IntoIterator<Item = AiMessage>) -> Self {
        Self {
            messages: messages.into_iter().collect(),
            ..Self::default()
        }
    }

    /// Sets what the agent is told first.
    #[must_use]
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.system_prompt = Some(prompt.into());
        self
    }

    /// Offers tools.
    #[must_use]
    pub fn tools(mut self, tools: impl IntoIterator<Item = ToolDefinition>) -> Self {
        self.tools.extend(tools);
        self
    }
}

impl ToolDefinition {
    /// A tool with the schema of its arguments.
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
            tags: Vec::new(),
        }
    }

    /// The schema of a tool that takes nothing.
    #[must_use]
    pub fn nothing() -> Value {
        serde_json::json!({ "type": "object", "properties": {} })
    }
}

impl fmt::Debug for AiContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiContext")
            .field("messages", &self.messages.len())
            .field("tools", &self.tools.len())
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .field("thinking_budget", &self.thinking_budget)
            .field("enable_thinking", &self.enable_thinking)
            .field("reasoning_effort", &self.reasoning_effort)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ToolDefinition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ToolDefinition").field(&self.name).finish()
    }
}
