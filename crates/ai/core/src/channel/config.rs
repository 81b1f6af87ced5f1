//! What an operator sets of an agent, and what a room or a turn may set otherwise.

use std::fmt;

use async_trait::async_trait;
use roomkit_core::model::{ChannelBinding, Metadata, RetryPolicy};
use roomkit_core::{Error, ErrorKind, Result, RoomContext};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::{ToolDefinition, ToolLimits, ToolSearch};

/// What an operator sets of an agent. What is `None` is left to the provider's configuration.
#[derive(Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AiChannelConfig {
    /// What the agent is told first. Default: nothing.
    pub system_prompt: Option<String>,
    /// How freely it chooses its words, from 0 to 2. Default: the provider's.
    pub temperature: Option<f32>,
    /// The most tokens of an answer, thinking included; at least 1. Default: the provider's.
    pub max_tokens: Option<u32>,
    /// The most tokens of thinking; 0 switches it off. Default: the provider's.
    pub thinking_budget: Option<u32>,
    /// Switches thinking on or off. Default: the provider's.
    pub enable_thinking: Option<bool>,
    /// How much to think, in the vendor's words. Default: the provider's.
    pub reasoning_effort: Option<String>,
    /// How many events of the past the model is given, where no memory is set. Default: 50.
    pub max_context_events: usize,
    /// How many rounds of tools a turn may have. Default: 200.
    pub max_tool_rounds: u32,
    /// How long a turn may take from its first round on, in seconds, thinking, tools and waiting for
    /// people included; greater than 0. `None` leaves it to the kit's `agent_timeout`. Default: 300.
    pub tool_loop_timeout_seconds: Option<f64>,
    /// After how many rounds a warning is logged. Default: 50.
    pub tool_loop_warn_after: u32,
    /// How often a model is asked again that said nothing after its tools, or whose calls were cut off.
    /// Default: 1.
    pub max_empty_retries: u32,
    /// How long pieces of thinking are gathered before they are told, in milliseconds. Default: 80; 0
    /// tells each at once.
    pub thinking_coalesce_ms: u64,
    /// How many bytes of thinking are gathered at most. Default: 256.
    pub thinking_coalesce_chars: usize,
    /// From how many tokens on a result of a tool is kept aside, and the model shown its beginning and
    /// end; at least 500. Default: 5,000.
    pub evict_threshold_tokens: usize,
    /// Whether the agent has the tool `plan_tasks`, and is shown its plan. Default: no.
    pub enable_planning: bool,
    /// When and how tools are hidden behind a search. Default: by their size.
    pub tool_search: ToolSearch,
    /// What bounds calls of tools.
    pub tool_limits: ToolLimits,
    /// How often a call of the model is made again that failed before anything was shown. Default:
    /// never, since providers try again by themselves.
    pub retry_policy: Option<RetryPolicy>,
}

impl Default for AiChannelConfig {
    fn default() -> Self {
        Self {
            system_prompt: None,
            temperature: None,
            max_tokens: None,
            thinking_budget: None,
            enable_thinking: None,
            reasoning_effort: None,
            max_context_events: 50,
            max_tool_rounds: 200,
            tool_loop_timeout_seconds: Some(300.0),
            tool_loop_warn_after: 50,
            max_empty_retries: 1,
            thinking_coalesce_ms: 80,
            thinking_coalesce_chars: 256,
            evict_threshold_tokens: 5_000,
            enable_planning: false,
            tool_search: ToolSearch::default(),
            tool_limits: ToolLimits::default(),
            retry_policy: None,
        }
    }
}

impl AiChannelConfig {
    /// Checks the limits.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput) for the first field that breaks a rule; it names it.
    pub fn validate(&self) -> Result<()> {
        check_temperature("temperature", self.temperature)?;
        check_max_tokens("max_tokens", self.max_tokens)?;
        if let Some(seconds) = self.tool_loop_timeout_seconds
            && !(seconds.is_finite() && seconds > 0.0)
        {
            return Err(invalid(
                "tool_loop_timeout_seconds",
                "must be greater than 0",
            ));
        }
        if let Some(policy) = &self.retry_policy {
            policy
                .validate()
                .map_err(|error| Error::from(error.within("retry_policy")))?;
        }
        Ok(())
    }
}

/// What one turn sets otherwise. What is `None` is left to the agent's own configuration.
#[derive(Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct TurnConfig {
    /// What the agent is told first.
    pub system_prompt: Option<String>,
    /// Tools besides the agent's own. They are executed by the agent's tool of that name, or by hooks at
    /// [`OnToolCall`](crate::OnToolCall).
    pub tools: Option<Vec<ToolDefinition>>,
    /// How freely it chooses its words.
    pub temperature: Option<f32>,
    /// The most tokens of an answer.
    pub max_tokens: Option<u32>,
    /// The most tokens of thinking.
    pub thinking_budget: Option<u32>,
    /// Switches thinking on or off.
    pub enable_thinking: Option<bool>,
    /// How much to think.
    pub reasoning_effort: Option<String>,
}

macro_rules! setters {
    ($($(#[$doc:meta])* $field:ident: $type:ty;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $field(mut self, value: impl Into<$type>) -> Self {
            self.$field = Some(value.into());
            self
        }
    )+};
}

impl TurnConfig {
    /// Nothing set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Sets what the agent is told first.
        system_prompt: String;
        /// Sets the tools besides the agent's own.
        tools: Vec<ToolDefinition>;
        /// Sets how freely it chooses its words.
        temperature: f32;
        /// Sets the most tokens of an answer.
        max_tokens: u32;
        /// Sets the most tokens of thinking.
        thinking_budget: u32;
        /// Switches thinking on or off.
        enable_thinking: bool;
        /// Sets how much to think.
        reasoning_effort: String;
    }

    /// What a room sets, from the metadata of the agent's binding there.
    ///
    /// # Errors
    /// Where an entry is not what it must be; the error names it.
    pub(crate) fn of_binding(metadata: &Metadata) -> Result<Self> {
        Ok(Self {
            system_prompt: entry(metadata, "system_prompt", "a text")?,
            tools: entry(metadata, "tools", "a list of tools, each with a name")?,
            temperature: entry(metadata, "temperature", "a number")?,
            max_tokens: entry(metadata, "max_tokens", "a whole number")?,
            thinking_budget: entry(metadata, "thinking_budget", "a whole number")?,
            enable_thinking: entry(metadata, "enable_thinking", "true or false")?,
            reasoning_effort: entry(metadata, "reasoning_effort", "a text")?,
        })
    }

    /// Fills what is not set from what is less specific.
    #[must_use]
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            system_prompt: self.system_prompt.or(other.system_prompt),
            tools: self.tools.or(other.tools),
            temperature: self.temperature.or(other.temperature),
            max_tokens: self.max_tokens.or(other.max_tokens),
            thinking_budget: self.thinking_budget.or(other.thinking_budget),
            enable_thinking: self.enable_thinking.or(other.enable_thinking),
            reasoning_effort: self.reasoning_effort.or(other.reasoning_effort),
        }
    }

    /// Checks the limits, as those of the configuration.
    pub(crate) fn validate(&self) -> Result<()> {
        check_temperature("temperature", self.temperature)?;
        check_max_tokens("max_tokens", self.max_tokens)
    }
}

impl From<&AiChannelConfig> for TurnConfig {
    fn from(config: &AiChannelConfig) -> Self {
        Self {
            system_prompt: config.system_prompt.clone(),
            tools: None,
            temperature: config.temperature,
            max_tokens: config.max_tokens,
            thinking_budget: config.thinking_budget,
            enable_thinking: config.enable_thinking,
            reasoning_effort: config.reasoning_effort.clone(),
        }
    }
}

/// Says what holds for a turn, when it begins: what a binding's metadata says was true when the agent
/// was attached.
#[async_trait]
pub trait ConfigProvider: Send + Sync + 'static {
    /// What this turn sets otherwise. What the binding's metadata sets wins over it.
    ///
    /// # Errors
    /// Where it cannot be had; the turn is given up then.
    async fn config(&self, binding: &ChannelBinding, context: &RoomContext) -> Result<TurnConfig>;
}

/// Null is as good as nothing: it leaves the entry to what is less specific.
fn entry<T: DeserializeOwned>(metadata: &Metadata, key: &str, what: &str) -> Result<Option<T>> {
    let Some(value) = metadata.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    T::deserialize(value).map(Some).map_err(|_error| {
        invalid(
            &format!("binding.metadata.{key}"),
            &format!("must be {what}"),
        )
    })
}

fn check_temperature(field: &str, temperature: Option<f32>) -> Result<()> {
    match temperature {
        Some(value) if !(0.0..=2.0).contains(&value) => {
            Err(invalid(field, "must be between 0 and 2"))
        }
        _ => Ok(()),
    }
}

fn check_max_tokens(field: &str, max_tokens: Option<u32>) -> Result<()> {
    if max_tokens == Some(0) {
        return Err(invalid(field, "must be greater than 0"));
    }
    Ok(())
}

pub(crate) fn invalid(field: &str, problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("{field}: {problem}"))
}

impl fmt::Debug for AiChannelConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiChannelConfig")
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .field("max_context_events", &self.max_context_events)
            .field("max_tool_rounds", &self.max_tool_rounds)
            .field("tool_loop_timeout_seconds", &self.tool_loop_timeout_seconds)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for TurnConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnConfig")
            .field("temperature", &self.temperature)
            .field("max_tokens", &self.max_tokens)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
