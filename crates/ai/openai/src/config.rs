//! What an operator sets, and what follows from the model where they set nothing.

use std::collections::BTreeMap;
use std::fmt;

use roomkit_ai::ApiKey;
use roomkit_ai::http::HttpConfig;
use serde::Deserialize;
use serde_json::{Map, Value};

/// OpenAI's own address.
pub(crate) const OFFICIAL: &str = "https://api.openai.com/v1";

/// Models that insist on `max_completion_tokens`.
const COMPLETION_TOKENS: [&str; 6] = ["gpt-4.1", "gpt-5", "gpt-6", "o1", "o3", "o4"];
/// Models that think, and take no temperature.
const REASONING: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];
/// Models that see, for ids that are not in the catalogue.
const SEEING: [&str; 9] = [
    "gpt-6",
    "gpt-5",
    "gpt-4o",
    "gpt-4.1",
    "gpt-4-turbo",
    "gpt-4-vision",
    "o1",
    "o3",
    "o4",
];

/// Over which of OpenAI's two APIs a model is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OpenAiApi {
    /// Chat Completions, which other servers speak too.
    #[default]
    ChatCompletions,
    /// Responses, which tell what a model reasoned, and take it back.
    Responses,
}

/// Which model is asked, where, and how.
///
/// ```
/// use roomkit_ai_openai::OpenAiConfig;
///
/// let config = OpenAiConfig::new("gpt-5.6-luna").api_key("sk-...").max_tokens(2_000);
/// assert!(!format!("{config:?}").contains("sk-..."));
/// ```
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OpenAiConfig {
    /// The id of the model. There is no default, so that a new version changes neither cost nor
    /// behaviour.
    pub model: String,
    /// The key, where a turn has none of its own. Default: none is sent, as servers of one's own want it.
    #[serde(default)]
    pub api_key: Option<ApiKey>,
    /// Where the API is, without the path of a call. Default: OpenAI's, `https://api.openai.com/v1`.
    #[serde(default)]
    pub base_url: Option<String>,
    /// The organisation that is billed (`OpenAI-Organization`). Default: the key's own.
    #[serde(default)]
    pub organization: Option<String>,
    /// The project that is billed (`OpenAI-Project`). Default: the key's own.
    #[serde(default)]
    pub project: Option<String>,
    /// Over which API the model is asked. Default: Chat Completions.
    #[serde(default)]
    pub api: OpenAiApi,
    /// The most tokens of an answer, thinking included, where the turn sets none. Default: the model's own
    /// limit.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The temperature where the turn sets none, from 0 to 2. Default: the model's own.
    #[serde(default)]
    pub temperature: Option<f32>,
    /// How much to think where the turn does not say, such as `low`. Default: the model's own.
    #[serde(default)]
    pub reasoning_effort: Option<String>,
    /// How the reasoning is summed up (Responses): `auto`, `concise`, `detailed` or `none`. Default: `auto` for
    /// OpenAI's models that think, else nothing is asked for.
    #[serde(default)]
    pub reasoning_summary: Option<String>,
    /// Whether the limit of tokens is called `max_completion_tokens` (Chat Completions). Default: as the
    /// model wants it at OpenAI's address, else no.
    #[serde(default)]
    pub use_max_completion_tokens: Option<bool>,
    /// Whether a temperature may be set. Default: not for models that think at OpenAI's address.
    #[serde(default)]
    pub supports_custom_temperature: Option<bool>,
    /// Whether a streamed answer is asked to count its tokens (Chat Completions). Default: at OpenAI's address.
    #[serde(default)]
    pub include_stream_usage: Option<bool>,
    /// Whether the model sees pictures. Default: what the catalogue says, else the model's id.
    #[serde(default)]
    pub supports_vision: Option<bool>,
    /// Headers that are sent with every request, for proxies. Their values are never shown.
    #[serde(default)]
    pub headers: BTreeMap<String, ApiKey>,
    /// What is sent besides in every body, where it replaces nothing. Default: nothing.
    #[serde(default)]
    pub extra_body: Map<String, Value>,
    /// How long a call may take, how often it is tried, how much of an answer is read.
    #[serde(default)]
    pub http: HttpConfig,
}

impl OpenAiConfig {
    /// The model of this id, at OpenAI's, over Chat Completions.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            api_key: None,
            base_url: None,
            organization: None,
            project: None,
            api: OpenAiApi::default(),
            max_tokens: None,
            temperature: None,
            reasoning_effort: None,
            reasoning_summary: None,
            use_max_completion_tokens: None,
            supports_custom_temperature: None,
            include_stream_usage: None,
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

    /// Sets the organisation that is billed.
    #[must_use]
    pub fn organization(mut self, organization: impl Into<String>) -> Self {
        self.organization = Some(organization.into());
        self
    }

    /// Sets the project that is billed.
    #[must_use]
    pub fn project(mut self, project: impl Into<String>) -> Self {
        self.project = Some(project.into());
        self
    }

    /// Sets over which API the model is asked.
    #[must_use]
    pub fn api(mut self, api: OpenAiApi) -> Self {
        self.api = api;
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

    /// Sets how much to think.
    #[must_use]
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.reasoning_effort = Some(effort.into());
        self
    }

    /// Sets how the reasoning is summed up.
    #[must_use]
    pub fn reasoning_summary(mut self, summary: impl Into<String>) -> Self {
        self.reasoning_summary = Some(summary.into());
        self
    }

    /// Says how the limit of tokens is called.
    #[must_use]
    pub fn use_max_completion_tokens(mut self, uses: bool) -> Self {
        self.use_max_completion_tokens = Some(uses);
        self
    }

    /// Says whether a temperature may be set.
    #[must_use]
    pub fn supports_custom_temperature(mut self, supports: bool) -> Self {
        self.supports_custom_temperature = Some(supports);
        self
    }

    /// Says whether a streamed answer is asked to count its tokens.
    #[must_use]
    pub fn include_stream_usage(mut self, includes: bool) -> Self {
        self.include_stream_usage = Some(includes);
        self
    }

    /// Says whether the model sees pictures.
    #[must_use]
    pub fn supports_vision(mut self, sees: bool) -> Self {
        self.supports_vision = Some(sees);
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

    /// Whether it is OpenAI's own API that is asked.
    pub(crate) fn is_official(&self) -> bool {
        let address = self.base_url.as_deref().unwrap_or(OFFICIAL);
        address.trim_end_matches('/') == OFFICIAL
    }

    pub(crate) fn completion_tokens(&self) -> bool {
        self.use_max_completion_tokens
            .unwrap_or_else(|| self.is_official() && self.is_one_of(&COMPLETION_TOKENS))
    }

    pub(crate) fn sends_temperature(&self) -> bool {
        self.supports_custom_temperature
            .unwrap_or_else(|| !self.thinks())
    }

    pub(crate) fn stream_usage(&self) -> bool {
        self.include_stream_usage
            .unwrap_or_else(|| self.is_official())
    }

    /// Whether it is one of OpenAI's models that think.
    pub(crate) fn thinks(&self) -> bool {
        self.is_official() && self.is_one_of(&REASONING)
    }

    /// What the model's id says of whether it sees.
    pub(crate) fn seems_to_see(&self) -> bool {
        self.is_one_of(&SEEING)
    }

    /// Chat Completions take tools for these models only without reasoning.
    pub(crate) fn tools_without_reasoning(&self) -> bool {
        self.is_official() && self.is_one_of(&["gpt-5.6"])
    }

    /// How reasoning is to be summed up; `None` where nothing is asked for.
    pub(crate) fn summary(&self) -> Option<&str> {
        let default = self.thinks().then_some("auto");
        let summary = self.reasoning_summary.as_deref().or(default);
        summary.filter(|summary| *summary != "none")
    }

    fn is_one_of(&self, prefixes: &[&str]) -> bool {
        // A tuned model is called `ft:` and what it was made of.
        let model = self.model.strip_prefix("ft:").unwrap_or(&self.model);
        prefixes.iter().any(|prefix| model.starts_with(prefix))
    }
}

impl fmt::Debug for OpenAiConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiConfig")
            .field("model", &self.model)
            .field("api", &self.api)
            .field("official", &self.is_official())
            .field("max_tokens", &self.max_tokens)
            .field("headers", &self.headers)
            .field("http", &self.http)
            .finish_non_exhaustive()
    }
}
