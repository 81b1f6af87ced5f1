//! What an operator sets, and what follows from the model where they set nothing.

use std::collections::BTreeMap;
use std::fmt;

use roomkit_ai::ApiKey;
use roomkit_ai::http::HttpConfig;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::thinking::Thinking;

/// Anthropic's own address.
pub(crate) const OFFICIAL: &str = "https://api.anthropic.com";

/// Which model is asked, where, and how.
///
/// ```
/// use roomkit_ai_anthropic::AnthropicConfig;
///
/// let config = AnthropicConfig::new("claude-opus-5-5").api_key("sk-ant-...").reasoning_effort("low");
/// assert!(!format!("{config:?}").contains("sk-ant-..."));
/// ```
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AnthropicConfig {
    /// The id of the model. There is no default, so that a new version changes neither cost nor
    /// behaviour.
    pub model: String,
    /// The key, where a turn has none of its own. Default: none is sent, as proxies may want it.
    #[serde(default)]
    pub api_key: Option<ApiKey>,
    /// Where the API is, without the path of a call. Default: Anthropic's, `https://api.anthropic.com`.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The most tokens of an answer, thinking included, where the turn sets none; the vendor wants a limit.
    /// Default: 1,024 for the answer, and for the thinking as many more as the turn's budget, or 15,000 where the
    /// model thinks without one.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The temperature where the turn sets none, from 0 to 1. Default: the model's own.
    #[serde(default)]
    pub temperature: Option<f32>,
    /// How much effort to make where the turn does not say (`output_config.effort`), such as `low`. Default: the
    /// model's own.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// Whether the parts of a request that stay the same are marked for the vendor's cache (`cache_control`), for
    /// five minutes each: the tools, the system prompt and the last two messages. Default: yes.
    #[serde(default = "yes")]
    pub enable_prompt_caching: bool,
    /// Whether thinking is asked for as `adaptive` rather than with a budget. Default: as the model wants it at
    /// Anthropic's address, else no.
    #[serde(default)]
    pub use_adaptive_thinking: Option<bool>,
    /// Whether the vendor may leave out what the model thought where what came before it has changed
    /// (`thinking.block_binding`), rather than to refuse the request: in a room, messages are edited and
    /// forgotten. Default: for the models that bind it, at Anthropic's address.
    #[serde(default)]
    pub drop_changed_thinking: Option<bool>,
    /// Whether a temperature may be set. Default: as the model wants it at Anthropic's address, else yes.
    #[serde(default)]
    pub supports_custom_temperature: Option<bool>,
    /// Whether the model sees pictures. Default: what the catalogue says, else yes for ids of `claude-`.
    #[serde(default)]
    pub supports_vision: Option<bool>,
    /// Headers that are sent with every request, such as `anthropic-beta`, or for proxies. Their values are never
    /// shown.
    #[serde(default)]
    pub headers: BTreeMap<String, ApiKey>,
    /// What is sent besides in every body, where it replaces nothing. Default: nothing.
    #[serde(default)]
    pub extra_body: Map<String, Value>,
    /// How long a call may take, how often it is tried, how much of an answer is read.
    #[serde(default)]
    pub http: HttpConfig,
}

const fn yes() -> bool {
    true
}

impl AnthropicConfig {
    /// The model of this id, at Anthropic's.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            api_key: None,
            base_url: None,
            max_tokens: None,
            temperature: None,
            reasoning_effort: None,
            enable_prompt_caching: yes(),
            use_adaptive_thinking: None,
            drop_changed_thinking: None,
            supports_custom_temperature: None,
            supports_vision: None,
            headers: BTreeMap::new(),
            extra_body: Map::new(),
            http: HttpConfig::default(),
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Sets where the API is.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = Some(url.into());
        self
    }

    /// Sets the most tokens of an answer.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }

    /// Sets the temperature.
    #[must_use]
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets how much effort to make.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.reasoning_effort = Some(effort.into());
        self
    }

    /// Says whether requests are marked for the vendor's cache.
    #[must_use]
    pub fn enable_prompt_caching(mut self, enable: bool) -> Self {
        self.enable_prompt_caching = enable;
        self
    }

    /// Says whether thinking is asked for as `adaptive`.
    #[must_use]
    pub fn use_adaptive_thinking(mut self, uses: bool) -> Self {
        self.use_adaptive_thinking = Some(uses);
        self
    }

    /// Says whether the vendor may leave out thinking whose beginnings have changed.
    #[must_use]
    pub fn drop_changed_thinking(mut self, drops: bool) -> Self {
        self.drop_changed_thinking = Some(drops);
        self
    }

    /// Says whether a temperature may be set.
    #[must_use]
    pub fn supports_custom_temperature(mut self, supports: bool) -> Self {
        self.supports_custom_temperature = Some(supports);
        self
    }

    /// Says whether the model sees pictures.
    #[must_use]
    pub fn supports_vision(mut self, supports: bool) -> Self {
        self.supports_vision = Some(supports);
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<ApiKey>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sends this besides in every body.
    #[must_use]
    pub fn extra_body(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.extra_body.insert(name.into(), value.into());
        self
    }

    /// Sets how long a call may take, how often it is tried, how much of an answer is read.
    #[must_use]
    pub fn http(mut self, http: HttpConfig) -> Self {
        self.http = http;
        self
    }

    /// Whether it is Anthropic's own API that is asked.
    pub(crate) fn is_official(&self) -> bool {
        let address = self.base_url.as_deref().unwrap_or(OFFICIAL);
        address.trim_end_matches('/') == OFFICIAL
    }

    /// How the model is asked to think.
    pub(crate) fn thinking(&self) -> Thinking {
        let mut thinking = if self.is_official() {
            Thinking::of(&self.model)
        } else {
            Thinking::ON_BUDGET
        };
        if let Some(adaptive) = self.use_adaptive_thinking {
            thinking.adaptive = adaptive;
        }
        if let Some(drops) = self.drop_changed_thinking {
            thinking.bound = drops;
        }
        if let Some(temperature) = self.supports_custom_temperature {
            thinking.temperature = temperature;
        }
        thinking
    }
}

impl fmt::Debug for AnthropicConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnthropicConfig")
            .field("model", &self.model)
            .field("official", &self.is_official())
            .field("max_tokens", &self.max_tokens)
            .field("headers", &self.headers)
            .field("http", &self.http)
            .finish_non_exhaustive()
    }
}
