//! What is particular about one vendor's or server's Chat Completions.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::AiContext;

type Adapt = Arc<dyn Fn(&AiContext, &mut Map<String, Value>) + Send + Sync>;

/// How one vendor's Chat Completions differ, and what is sent where a turn says nothing.
#[derive(Clone)]
#[non_exhaustive]
pub struct Dialect {
    /// The name that errors give.
    pub provider: Arc<str>,
    /// The model that is asked.
    pub model: Arc<str>,
    /// How the limit of tokens is called. Default: `max_tokens`.
    pub token_limit: TokenLimit,
    /// The most tokens of an answer where the turn sets none. Default: the model's own limit.
    pub max_tokens: Option<u32>,
    /// Whether a temperature may be set. Default: yes.
    pub sends_temperature: bool,
    /// The temperature where the turn sets none. Default: the model's own.
    pub temperature: Option<f32>,
    /// How much to think where the turn does not say. Default: the model's own.
    pub reasoning_effort: Option<String>,
    /// What is sent of it where tools are offered. Default: the effort.
    pub tool_effort: ToolEffort,
    /// Whether a streamed answer is asked to count its tokens. Default: no.
    pub stream_usage: bool,
    /// Whether pictures are sent. Default: no.
    pub vision: bool,
    /// Whether reasoning may stand in `<think>` at the beginning of the text. Default: no.
    pub think_tags: bool,
    /// How the model's earlier reasoning is given back to it. Default: not at all.
    pub gives_back: GivesBack,
    /// What is sent besides; it replaces nothing that is sent already. Default: nothing.
    pub extra_body: Map<String, Value>,
    pub(super) adapt: Option<Adapt>,
}

/// How the limit of tokens of an answer is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum TokenLimit {
    /// `max_tokens`, which every server knows.
    #[default]
    MaxTokens,
    /// `max_completion_tokens`, which newer models of OpenAI's insist on.
    MaxCompletionTokens,
}

/// What is sent of the effort of reasoning where tools are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ToolEffort {
    /// The effort, as without tools.
    #[default]
    Same,
    /// None.
    Omitted,
    /// This one, always.
    Fixed(&'static str),
}

/// How a model's earlier reasoning is given back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum GivesBack {
    /// Not at all.
    #[default]
    Nothing,
    /// In `<think>` before the text.
    ThinkTags,
    /// In a field beside the text, such as `reasoning_content`.
    Field(&'static str),
}

impl Dialect {
    /// The plainest dialect, which every server understands.
    pub fn new(provider: impl Into<Arc<str>>, model: impl Into<Arc<str>>) -> Self {
        Self {
            provider: provider.into(),
            model: model.into(),
            token_limit: TokenLimit::default(),
            max_tokens: None,
            sends_temperature: true,
            temperature: None,
            reasoning_effort: None,
            tool_effort: ToolEffort::default(),
            stream_usage: false,
            vision: false,
            think_tags: false,
            gives_back: GivesBack::default(),
            extra_body: Map::new(),
            adapt: None,
        }
    }

    /// Sets how the limit of tokens is called, and the limit where the turn sets none.
    #[must_use]
    pub fn max_tokens(mut self, called: TokenLimit, limit: Option<u32>) -> Self {
        self.token_limit = called;
        self.max_tokens = limit;
        self
    }

    /// Sets whether a temperature may be set, and the one where the turn sets none.
    #[must_use]
    pub fn temperature(mut self, sends: bool, temperature: Option<f32>) -> Self {
        self.sends_temperature = sends;
        self.temperature = temperature;
        self
    }

    /// Sets how much to think where the turn does not say, and what is sent of it with tools.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: Option<String>, with_tools: ToolEffort) -> Self {
        self.reasoning_effort = effort;
        self.tool_effort = with_tools;
        self
    }

    /// Sets whether a streamed answer is asked to count its tokens.
    #[must_use]
    pub fn stream_usage(mut self, asks: bool) -> Self {
        self.stream_usage = asks;
        self
    }

    /// Sets whether pictures are sent.
    #[must_use]
    pub fn vision(mut self, sees: bool) -> Self {
        self.vision = sees;
        self
    }

    /// Sets whether reasoning may stand in `<think>`, and how earlier reasoning is given back.
    #[must_use]
    pub fn thinking(mut self, tags: bool, gives_back: GivesBack) -> Self {
        self.think_tags = tags;
        self.gives_back = gives_back;
        self
    }

    /// Adds what is sent besides.
    #[must_use]
    pub fn extra_body(mut self, extra: Map<String, Value>) -> Self {
        self.extra_body.extend(extra);
        self
    }

    /// Changes each request before it is sent, for what a vendor has and others have not.
    #[must_use]
    pub fn adapt(
        mut self,
        adapt: impl Fn(&AiContext, &mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Self {
        self.adapt = Some(Arc::new(adapt));
        self
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dialect")
            .field("provider", &self.provider)
            .field("model", &self.model)
            .field("token_limit", &self.token_limit)
            .field("max_tokens", &self.max_tokens)
            .field("vision", &self.vision)
            .finish_non_exhaustive()
    }
}
