//! The provider: Anthropic's models over the Messages API.

use async_trait::async_trait;
use roomkit_ai::http::HttpClient;
use roomkit_ai::{
    AiCapabilities, AiContext, AiError, AiErrorKind, AiProvider, AiResponse, AiStream, ApiKey,
    ModelInfo, Result,
};

use crate::config::{AnthropicConfig, OFFICIAL};
use crate::messages::Messages;
use crate::models::models;
use crate::refusal::refusal;

pub(crate) const NAME: &str = "anthropic";

/// The version of the API that is spoken ("Versions", read on 2026-11-30).
const VERSION: &str = "2023-06-01";

/// Anthropic's models, or those of a server that speaks their wire.
#[derive(Debug)]
pub struct AnthropicProvider {
    config: AnthropicConfig,
    messages: Messages,
    sees: bool,
}

impl AnthropicProvider {
    /// Makes a provider.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: a setting is not acceptable; it names which.
    /// [`AiErrorKind::Unreachable`]: TLS could not be set up.
    pub fn new(config: AnthropicConfig) -> Result<Self> {
        check(&config)?;
        let mut client = HttpClient::builder(NAME, config.base_url.as_deref().unwrap_or(OFFICIAL))
            .config(config.http.clone())
            .header("anthropic-version", VERSION)
            .refusal(refusal);
        for (name, value) in &config.headers {
            client = client.header(name, value.clone());
        }
        let entry = models().iter().find(|model| model.id == config.model);
        let known = entry.and_then(|model| model.supports_vision);
        let sees = config
            .supports_vision
            .or(known)
            // Each since the third generation does.
            .unwrap_or_else(|| config.model.starts_with("claude-"));
        Ok(Self {
            messages: Messages::new(client.build()?, &config, sees),
            sees,
            config,
        })
    }

    /// A turn that comes without any key is not sent to Anthropic's, which would refuse it.
    fn check_key(&self, context: &AiContext) -> Result<()> {
        let key = context.api_key.as_ref().or(self.config.api_key.as_ref());
        let names = |name: &String| {
            name.eq_ignore_ascii_case("authorization") || name.eq_ignore_ascii_case("x-api-key")
        };
        if self.config.is_official()
            && key.is_none_or(ApiKey::is_empty)
            && !self.config.headers.keys().any(names)
        {
            return Err(AiError::new(
                AiErrorKind::Unauthorized,
                NAME,
                "api_key: there is none",
            ));
        }
        Ok(())
    }
}

fn check(config: &AnthropicConfig) -> Result<()> {
    let invalid = |message: &str| Err(AiError::new(AiErrorKind::InvalidRequest, NAME, message));
    if config.model.trim().is_empty() {
        return invalid("model: it is empty");
    }
    if config.max_tokens == Some(0) {
        return invalid("max_tokens: must be at least 1");
    }
    if config
        .temperature
        .is_some_and(|temperature| !(0.0..=1.0).contains(&temperature))
    {
        return invalid("temperature: must be from 0 to 1");
    }
    Ok(())
}

#[async_trait]
impl AiProvider for AnthropicProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn model_name(&self) -> &str {
        &self.config.model
    }

    fn capabilities(&self) -> AiCapabilities {
        AiCapabilities::none()
            .streaming(true)
            .tools(true)
            .vision(self.sees)
            .tool_result_images(self.sees)
            .thinking(true)
            .model_listing(true)
    }

    fn available_models(&self) -> &[ModelInfo] {
        models()
    }

    async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        self.check_key(context)?;
        self.messages.generate(context).await
    }

    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        self.check_key(context)?;
        self.messages.stream(context).await
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>> {
        Ok(ModelInfo::merge(self.messages.models().await?, models()))
    }
}
