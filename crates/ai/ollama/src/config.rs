//! What an operator sets: the model, where it runs, and how it is run.

use std::collections::BTreeMap;
use std::fmt;

use roomkit_ai::ApiKey;
use roomkit_ai::http::HttpConfig;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Where Ollama listens unless it is told otherwise.
const LOCAL: &str = "http://localhost:11434";

/// Whether a model thinks before it answers, and how much.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Think {
    /// Yes or no.
    Switch(bool),
    /// Yes, at a level: `low`, `medium`, `high` or `max`, as far as the model knows them.
    Level(String),
}

/// How long a model stays in memory after a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum KeepAlive {
    /// So many seconds; 0 unloads it at once, a negative number keeps it for ever.
    Seconds(i64),
    /// A duration with its unit, such as `5m`.
    Duration(String),
}

/// Which model is asked, where, and how.
///
/// ```
/// use roomkit_ai_ollama::{KeepAlive, OllamaConfig, Think};
///
/// let config = OllamaConfig::new("qwen3:8b").think("low").keep_alive("-1").num_ctx(8_192);
/// assert_eq!(config.think, Some(Think::Level("low".into())));
/// assert_eq!(config.keep_alive, Some(KeepAlive::Seconds(-1)));
/// ```
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct OllamaConfig {
    /// The name of the model, with its tag, such as `qwen3:8b`; it has to be on the server.
    pub model: String,
    /// Where the server is, without the path of a call; `host` in a file is the same. Default:
    /// `http://localhost:11434`.
    #[serde(default = "local", alias = "host")]
    pub base_url: String,
    /// The key where a turn has none of its own, for a server behind a proxy or Ollama's cloud. Default: none
    /// is sent.
    #[serde(default)]
    pub api_key: Option<ApiKey>,
    /// The most tokens of an answer, thinking included, where the turn sets none (`num_predict`). Default: the
    /// server's.
    #[serde(default)]
    pub max_tokens: Option<u32>,
    /// The temperature where the turn sets none, from 0. Default: the model's own.
    #[serde(default)]
    pub temperature: Option<f32>,
    /// Whether the model thinks, where the turn does not say. Default: as the model does.
    #[serde(default)]
    pub think: Option<Think>,
    /// How long the model stays in memory after a call. Default: the server's, 5 minutes.
    #[serde(default)]
    pub keep_alive: Option<KeepAlive>,
    /// How many tokens the model can read at once; what is more is cut off its beginning by the server. Default:
    /// the server's, which may be far less than the model could.
    #[serde(default)]
    pub num_ctx: Option<u32>,
    /// Only tokens that together are this probable are chosen from, from 0 to 1. Default: the model's own.
    #[serde(default)]
    pub top_p: Option<f32>,
    /// Only so many of the most probable tokens are chosen from. Default: the model's own.
    #[serde(default)]
    pub top_k: Option<u32>,
    /// Tokens less probable than this share of the most probable are left out, from 0 to 1. Default: the model's
    /// own.
    #[serde(default)]
    pub min_p: Option<f32>,
    /// More options of the server's, such as `seed`; they replace none of those above. Default: none.
    #[serde(default)]
    pub options: Map<String, Value>,
    /// Whether the model sees pictures; the server refuses them for one that does not. Default: yes.
    #[serde(default = "yes")]
    pub supports_vision: bool,
    /// Headers that are sent with every request, for proxies. Their values are never shown.
    #[serde(default)]
    pub headers: BTreeMap<String, ApiKey>,
    /// How long a call may take, how often it is tried, how much of an answer is read. A model that has to be
    /// loaded first takes its time before the first byte.
    #[serde(default)]
    pub http: HttpConfig,
}

fn local() -> String {
    LOCAL.to_owned()
}

const fn yes() -> bool {
    true
}

impl OllamaConfig {
    /// The model of this name, on this machine.
    pub fn new(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            base_url: local(),
            api_key: None,
            max_tokens: None,
            temperature: None,
            think: None,
            keep_alive: None,
            num_ctx: None,
            top_p: None,
            top_k: None,
            min_p: None,
            options: Map::new(),
            supports_vision: yes(),
            headers: BTreeMap::new(),
            http: HttpConfig::default(),
        }
    }

    /// Sets where the server is.
    #[must_use]
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.api_key = Some(key.into());
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

    /// Sets whether the model thinks, or how much.
    #[must_use]
    pub fn think(mut self, think: impl Into<Think>) -> Self {
        self.think = Some(think.into());
        self
    }

    /// Sets how long the model stays in memory.
    #[must_use]
    pub fn keep_alive(mut self, keep: impl Into<KeepAlive>) -> Self {
        self.keep_alive = Some(keep.into());
        self
    }

    /// Sets how many tokens the model can read at once.
    #[must_use]
    pub fn num_ctx(mut self, tokens: u32) -> Self {
        self.num_ctx = Some(tokens);
        self
    }

    /// Sets how probable the tokens that are chosen from are together.
    #[must_use]
    pub fn top_p(mut self, share: f32) -> Self {
        self.top_p = Some(share);
        self
    }

    /// Sets how many tokens are chosen from.
    #[must_use]
    pub fn top_k(mut self, tokens: u32) -> Self {
        self.top_k = Some(tokens);
        self
    }

    /// Sets how probable a token must be next to the most probable.
    #[must_use]
    pub fn min_p(mut self, share: f32) -> Self {
        self.min_p = Some(share);
        self
    }

    /// Sets another option of the server's.
    #[must_use]
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Says whether the model sees pictures.
    #[must_use]
    pub fn supports_vision(mut self, supports: bool) -> Self {
        self.supports_vision = supports;
        self
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<ApiKey>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Sets how long a call may take, how often it is tried, how much of an answer is read.
    #[must_use]
    pub fn http(mut self, http: HttpConfig) -> Self {
        self.http = http;
        self
    }
}

impl From<bool> for Think {
    fn from(thinks: bool) -> Self {
        Self::Switch(thinks)
    }
}

impl From<&str> for Think {
    fn from(level: &str) -> Self {
        Self::Level(level.to_owned())
    }
}

impl From<i64> for KeepAlive {
    fn from(seconds: i64) -> Self {
        Self::Seconds(seconds)
    }
}

impl From<&str> for KeepAlive {
    fn from(text: &str) -> Self {
        // The server takes text for a duration, and ignores one without a unit.
        match text.trim().parse() {
            Ok(seconds) => Self::Seconds(seconds),
            Err(_) => Self::Duration(text.trim().to_owned()),
        }
    }
}

impl<'de> Deserialize<'de> for KeepAlive {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Seconds(i64),
            Text(String),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Seconds(seconds) => seconds.into(),
            Written::Text(text) => text.as_str().into(),
        })
    }
}

impl fmt::Debug for OllamaConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OllamaConfig")
            .field("model", &self.model)
            .field("think", &self.think)
            .field("keep_alive", &self.keep_alive)
            .field("num_ctx", &self.num_ctx)
            .field("max_tokens", &self.max_tokens)
            .field("headers", &self.headers)
            .field("http", &self.http)
            .finish_non_exhaustive()
    }
}
