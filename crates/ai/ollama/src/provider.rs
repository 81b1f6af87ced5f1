//! The provider: models that an Ollama server runs.

use async_trait::async_trait;
use roomkit_ai::http::HttpClient;
use roomkit_ai::{
    AiCapabilities, AiContext, AiError, AiErrorKind, AiProvider, AiResponse, AiStream, ModelInfo,
    Result,
};

use crate::chat;
use crate::config::{KeepAlive, OllamaConfig, Think};
use crate::models::{find, models};
use crate::refusal::refusal;

pub(crate) const NAME: &str = "ollama";

/// Models that an Ollama server runs, asked over its native API.
#[derive(Debug)]
pub struct OllamaProvider {
    config: OllamaConfig,
    client: HttpClient,
    entry: Option<ModelInfo>,
}

impl OllamaProvider {
    /// Makes a provider.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: a setting is not acceptable; it names which.
    /// [`AiErrorKind::Unreachable`]: TLS could not be set up.
    pub fn new(config: OllamaConfig) -> Result<Self> {
        check(&config)?;
        let mut client = HttpClient::builder(NAME, config.base_url.as_str())
            .config(config.http.clone())
            .refusal(refusal);
        for (name, value) in &config.headers {
            client = client.header(name, value.clone());
        }
        let mut entry = find(&config.model).cloned();
        // The window is what the model is run with, whatever it could read.
        if let Some(tokens) = config.num_ctx {
            let entry = entry.get_or_insert_with(|| ModelInfo::new(config.model.as_str()));
            entry.context_window = Some(tokens.into());
        }
        Ok(Self {
            client: client.build()?,
            entry,
            config,
        })
    }
}

fn check(config: &OllamaConfig) -> Result<()> {
    let invalid = |message: &str| Err(AiError::new(AiErrorKind::InvalidRequest, NAME, message));
    if config.model.trim().is_empty() {
        return invalid("model: it is empty");
    }
    if config.max_tokens == Some(0) {
        return invalid("max_tokens: must be at least 1");
    }
    if config.num_ctx == Some(0) {
        return invalid("num_ctx: must be at least 1");
    }
    if config
        .temperature
        .is_some_and(|temperature| !(temperature.is_finite() && temperature >= 0.0))
    {
        return invalid("temperature: must be 0 or more");
    }
    let is_share = |share: Option<f32>| share.is_none_or(|share| (0.0..=1.0).contains(&share));
    if !is_share(config.top_p) {
        return invalid("top_p: must be from 0 to 1");
    }
    if !is_share(config.min_p) {
        return invalid("min_p: must be from 0 to 1");
    }
    if matches!(&config.think, Some(Think::Level(level)) if level.trim().is_empty()) {
        return invalid("think: the level is empty");
    }
    if matches!(&config.keep_alive, Some(KeepAlive::Duration(text)) if !is_duration(text)) {
        return invalid("keep_alive: must be seconds, or a duration with its unit such as 5m");
    }
    Ok(())
}

/// Whether the server takes this for a duration; others it ignores in silence.
fn is_duration(text: &str) -> bool {
    let mut text = text.strip_prefix('-').unwrap_or(text);
    if text.is_empty() {
        return false;
    }
    while !text.is_empty() {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let number = &text.get(..text.len() - rest.len()).unwrap_or_default();
        let units = ["ns", "us", "µs", "ms", "s", "m", "h"];
        let unit = units.iter().find(|unit| {
            let after = rest.strip_prefix(**unit);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphabetic()))
        });
        match unit.filter(|_| number.parse::<f64>().is_ok()) {
            Some(unit) => text = rest.get(unit.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    true
}

#[async_trait]
impl AiProvider for OllamaProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn model_name(&self) -> &str {
        &self.config.model
    }

    fn capabilities(&self) -> AiCapabilities {
        let sees = self.config.supports_vision;
        AiCapabilities::none()
            .streaming(true)
            .tools(true)
            .vision(sees)
            .tool_result_images(sees)
            .thinking(true)
            .model_listing(true)
    }

    fn available_models(&self) -> &[ModelInfo] {
        models()
    }

    fn catalog_entry(&self) -> Option<&ModelInfo> {
        self.entry.as_ref()
    }

    async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        chat::generate(&self.client, &self.config, context).await
    }

    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        chat::stream(&self.client, &self.config, context).await
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>> {
        chat::models(&self.client, &self.config).await
    }
}
