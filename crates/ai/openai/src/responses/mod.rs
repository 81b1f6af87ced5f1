//! The Responses API: asked with what a room said, answered in items (OpenAI, "Responses" and "Streaming
//! API responses").

mod decode;
mod request;

use roomkit_ai::http::{Framing, Head, HttpClient, HttpRequest};
use roomkit_ai::{AiContext, AiResponse, AiStream, ApiKey, Result};
use serde_json::{Map, Value};

use self::decode::ResponseDecoder;
use crate::config::OpenAiConfig;

/// Asks a model over Responses.
#[derive(Debug)]
pub(crate) struct Responses {
    client: HttpClient,
    settings: Settings,
    key: Option<ApiKey>,
}

/// What is sent where a turn says nothing.
#[derive(Debug)]
struct Settings {
    model: String,
    max_tokens: Option<u32>,
    sends_temperature: bool,
    temperature: Option<f32>,
    effort: Option<String>,
    summary: Option<String>,
    thinks: bool,
    sees: bool,
    extra_body: Map<String, Value>,
}

impl Responses {
    pub(crate) fn new(client: HttpClient, config: &OpenAiConfig, sees: bool) -> Self {
        let summary = config.summary().map(str::to_owned);
        Self {
            client,
            settings: Settings {
                model: config.model.clone(),
                max_tokens: config.max_tokens,
                sends_temperature: config.sends_temperature(),
                temperature: config.temperature,
                effort: config.reasoning_effort.clone(),
                thinks: config.thinks() || summary.is_some(),
                summary,
                sees,
                extra_body: config.extra_body.clone(),
            },
            key: config.api_key.clone(),
        }
    }

    pub(crate) async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        let answer = self.request(context, false)?.json::<Value>().await?;
        let mut events = Vec::new();
        let mut decoder = ResponseDecoder::new(&answer.head);
        decoder
            .whole(&answer.value, &mut events)
            .map_err(|error| answer.head.tell(error))?;
        Ok(AiResponse::of(events))
    }

    pub(crate) async fn stream(&self, context: &AiContext) -> Result<AiStream> {
        let decoder = |head: &Head| ResponseDecoder::new(head);
        let request = self.request(context, true)?;
        request.answer(Framing::Events, decoder).await
    }

    fn request(&self, context: &AiContext, stream: bool) -> Result<HttpRequest> {
        let body = self.settings.request(context, stream);
        let request = self.client.post("/responses", &body)?;
        match context.api_key.as_ref().or(self.key.as_ref()) {
            Some(key) => request.bearer(key),
            None => Ok(request),
        }
    }
}
