//! The provider: OpenAI's models over Chat Completions or Responses.

use async_trait::async_trait;
use roomkit_ai::chat_completions::{
    ChatCompletions, Dialect, GivesBack, TokenLimit, ToolEffort, refusal,
};
use roomkit_ai::http::HttpClient;
use roomkit_ai::{
    AiCapabilities, AiContext, AiError, AiErrorKind, AiProvider, AiResponse, AiStream, ModelInfo,
    Result,
};

use crate::config::{OFFICIAL, OpenAiApi, OpenAiConfig};
use crate::models::models;
use crate::responses::Responses;

const NAME: &str = "openai";

/// OpenAI's models, or those of a server that speaks their wire.
#[derive(Debug)]
pub struct OpenAiProvider {
    config: OpenAiConfig,
    chat: ChatCompletions,
    responses: Responses,
    sees: bool,
}

impl OpenAiProvider {
    /// Makes a provider.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: a setting is not acceptable; it names which.
    /// [`AiErrorKind::Unreachable`]: TLS could not be set up.
    pub fn new(config: OpenAiConfig) -> Result<Self> {
        check(&config)?;
        let mut client = HttpClient::builder(NAME, config.base_url.as_deref().unwrap_or(OFFICIAL))
            .config(config.http.clone())
            .refusal(refusal);
        for (name, value) in [
            ("openai-organization", &config.organization),
            ("openai-project", &config.project),
        ] {
            if let Some(value) = value {
                client = client.header(name, value.as_str());
            }
        }
        for (name, value) in &config.headers {
            client = client.header(name, value.clone());
        }
        let client = client.build()?;
        let entry = models().iter().find(|model| model.id == config.model);
        let known = entry.and_then(|model| model.supports_vision);
        let sees = config
            .supports_vision
            .or(known)
            .unwrap_or_else(|| config.seems_to_see());
        Ok(Self {
            chat: ChatCompletions::new(client.clone(), dialect(&config, sees))
                .key(config.api_key.clone()),
            responses: Responses::new(client, &config, sees),
            sees,
            config,
        })
    }

    fn asks_responses(&self) -> bool {
        self.config.api == OpenAiApi::Responses
    }

    /// A turn that comes without any key is not sent to OpenAI's, which would refuse it.
    fn check_key(&self, context: &AiContext) -> Result<()> {
        let key = context.api_key.as_ref().or(self.config.api_key.as_ref());
        if self.config.is_official() && key.is_none_or(roomkit_ai::ApiKey::is_empty) {
            return Err(AiError::new(
                AiErrorKind::Unauthorized,
                NAME,
                "api_key: there is none",
            ));
        }
        Ok(())
    }
}

fn check(config: &OpenAiConfig) -> Result<()> {
    let invalid = |message: &str| Err(AiError::new(AiErrorKind::InvalidRequest, NAME, message));
    if config.model.trim().is_empty() {
        return invalid("model: it is empty");
    }
    if config.max_tokens == Some(0) {
        return invalid("max_tokens: must be at least 1");
    }
    if config
        .temperature
        .is_some_and(|temperature| !(0.0..=2.0).contains(&temperature))
    {
        return invalid("temperature: must be from 0 to 2");
    }
    Ok(())
}

fn dialect(config: &OpenAiConfig, sees: bool) -> Dialect {
    let token_limit = if config.completion_tokens() {
        TokenLimit::MaxCompletionTokens
    } else {
        TokenLimit::MaxTokens
    };
    let with_tools = if config.tools_without_reasoning() {
        ToolEffort::Fixed("none")
    } else {
        ToolEffort::Omitted
    };
    let dialect = Dialect::new(NAME, config.model.as_str())
        .max_tokens(token_limit, config.max_tokens)
        .temperature(config.sends_temperature(), config.temperature)
        .reasoning_effort(config.reasoning_effort.clone(), with_tools)
        .stream_usage(config.stream_usage())
        .vision(sees)
        .extra_body(config.extra_body.clone());
    if config.is_official() {
        dialect
    } else {
        // Models that others serve write their reasoning into the text, and expect it there.
        dialect.thinking(true, GivesBack::ThinkTags)
    }
}

#[async_trait]
impl AiProvider for OpenAiProvider {
    fn name(&self) -> &str {
        NAME
    }

    fn model_name(&self) -> &str {
        &self.config.model
    }

    fn capabilities(&self) -> AiCapabilities {
        // OpenAI tells no reasoning over Chat Completions; other servers do.
        let thinking = if self.asks_responses() {
            self.config.summary().is_some()
        } else {
            !self.config.is_official()
        };
        AiCapabilities::none()
            .streaming(true)
            .tools(true)
            .vision(self.sees)
            .tool_result_images(self.sees)
            .thinking(thinking)
            .model_listing(true)
    }

    fn available_models(&self) -> &[ModelInfo] {
        models()
    }

    async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        self.check_key(context)?;
        if self.asks_responses() {
            self.responses.generate(context).await
        } else {
            self.chat.generate(context).await
        }
    }

    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        self.check_key(context)?;
        if self.asks_responses() {
            self.responses.stream(context).await
        } else {
            self.chat.stream(context).await
        }
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>> {
        Ok(ModelInfo::merge(self.chat.models().await?, models()))
    }
}
