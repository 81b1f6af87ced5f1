//! Asking over the Messages API, whole and streamed, and for the models ("List Models", read on 2026-11-30).

use roomkit_ai::http::{Framing, Head, HttpClient, HttpRequest};
use roomkit_ai::{
    AiContext, AiError, AiErrorKind, AiResponse, AiStream, ApiKey, ModelInfo, Result,
};
use serde_json::Value;

use crate::config::AnthropicConfig;
use crate::decode::MessageDecoder;
use crate::provider::NAME;
use crate::request::Settings;

/// How many models a page has, the most that the vendor gives.
const PAGE: &str = "1000";
/// The most pages that are read.
const MOST_PAGES: usize = 20;

/// What lets the vendor drop thinking whose beginnings have changed ("Fix a thinking block bound to a different
/// conversation").
const BINDING: &str = "thinking-binding-controls-2026-08-01";
const BETA: &str = "anthropic-beta";

/// Asks a model over the Messages API.
#[derive(Debug)]
pub(crate) struct Messages {
    client: HttpClient,
    settings: Settings,
    key: Option<ApiKey>,
    /// The operator's own betas.
    betas: Option<ApiKey>,
}

impl Messages {
    pub(crate) fn new(client: HttpClient, config: &AnthropicConfig, sees: bool) -> Self {
        let mut headers = config.headers.iter();
        let betas = headers.find(|(name, _)| name.eq_ignore_ascii_case(BETA));
        Self {
            client,
            settings: Settings::new(config, sees),
            key: config.api_key.clone(),
            betas: betas.map(|(_, betas)| betas.clone()),
        }
    }

    pub(crate) async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        let answer = self.request(context, false)?.json::<Value>().await?;
        let mut events = Vec::new();
        MessageDecoder::new(&answer.head)
            .whole(&answer.value, &mut events)
            .map_err(|error| answer.head.tell(error))?;
        Ok(AiResponse::of(events))
    }

    pub(crate) async fn stream(&self, context: &AiContext) -> Result<AiStream> {
        let decoder = |head: &Head| MessageDecoder::new(head);
        let request = self.request(context, true)?;
        request.answer(Framing::Events, decoder).await
    }

    /// Every page of the list of models.
    pub(crate) async fn models(&self) -> Result<Vec<ModelInfo>> {
        let mut models = Vec::new();
        let mut after: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let mut request = self.client.get("/v1/models")?.query("limit", PAGE);
            if let Some(after) = &after {
                request = request.query("after_id", after);
            }
            let page = self.with_key(request, None)?.json::<Value>().await?;
            let Some(data) = page.value.get("data").and_then(Value::as_array) else {
                let problem = "there is no list of models in the answer";
                let error = AiError::new(AiErrorKind::InvalidResponse, NAME, problem);
                return Err(page.head.tell(error));
            };
            models.extend(data.iter().filter_map(model));
            let more = page.value.get("has_more") == Some(&Value::Bool(true));
            let last = page.value.get("last_id").and_then(Value::as_str);
            match last.filter(|last| more && after.as_deref() != Some(last)) {
                Some(last) => after = Some(last.to_owned()),
                None => break,
            }
        }
        Ok(models)
    }

    fn request(&self, context: &AiContext, stream: bool) -> Result<HttpRequest> {
        let body = self.settings.request(context, stream);
        let mut request = self.client.post("/v1/messages", &body)?;
        if Settings::binds(&body) {
            let betas = match &self.betas {
                Some(betas) if betas.expose().contains(BINDING) => betas.clone(),
                Some(betas) => ApiKey::new(format!("{},{BINDING}", betas.expose())),
                None => BINDING.into(),
            };
            request = request.header(BETA, &betas)?;
        }
        self.with_key(request, context.api_key.as_ref())
    }

    fn with_key(&self, request: HttpRequest, own: Option<&ApiKey>) -> Result<HttpRequest> {
        match own.or(self.key.as_ref()) {
            Some(key) => request.header("x-api-key", key),
            None => Ok(request),
        }
    }
}

fn model(model: &Value) -> Option<ModelInfo> {
    let mut info = ModelInfo::new(model.get("id")?.as_str()?);
    let name = model.get("display_name").and_then(Value::as_str);
    info.display_name = name.map(str::to_owned);
    info.context_window = model.get("max_input_tokens").and_then(Value::as_u64);
    let able = |ability: &Value| ability.get("supported").and_then(Value::as_bool);
    if let Some(abilities) = model.get("capabilities").and_then(Value::as_object) {
        info.supports_vision = abilities.get("image_input").and_then(able);
        let named = abilities
            .iter()
            .filter(|(_, about)| able(about) == Some(true));
        info.capabilities = named.map(|(name, _)| name.clone()).collect();
    }
    Some(info)
}
