//! Asking a server, whole and streamed, and for the models that it has.

use roomkit_ai::http::{Framing, Head, HttpClient, HttpRequest};
use roomkit_ai::{
    AiContext, AiError, AiErrorKind, AiResponse, AiStream, ApiKey, ModelInfo, Result,
};
use serde_json::Value;

use crate::config::OllamaConfig;
use crate::decode::ChatDecoder;
use crate::models::find;
use crate::provider::NAME;
use crate::request::request;

pub(crate) async fn generate(
    client: &HttpClient,
    config: &OllamaConfig,
    context: &AiContext,
) -> Result<AiResponse> {
    let answer = chat(client, config, context, false)?
        .json::<Value>()
        .await?;
    let mut events = Vec::new();
    ChatDecoder::new(&answer.head)
        .whole(&answer.value, &mut events)
        .map_err(|error| answer.head.tell(error))?;
    Ok(AiResponse::of(events))
}

pub(crate) async fn stream(
    client: &HttpClient,
    config: &OllamaConfig,
    context: &AiContext,
) -> Result<AiStream> {
    let decoder = |head: &Head| ChatDecoder::new(head);
    let request = chat(client, config, context, true)?;
    request.answer(Framing::Lines, decoder).await
}

/// The models that are on the server ("List models" of Ollama's API reference).
pub(crate) async fn models(client: &HttpClient, config: &OllamaConfig) -> Result<Vec<ModelInfo>> {
    let request = with_key(client.get("/api/tags")?, config.api_key.as_ref())?;
    let answer = request.json::<Value>().await?;
    let Some(models) = answer.value.get("models").and_then(Value::as_array) else {
        let problem = "there is no list of models in the answer";
        let error = AiError::new(AiErrorKind::InvalidResponse, NAME, problem);
        return Err(answer.head.tell(error));
    };
    Ok(models.iter().filter_map(model).collect())
}

fn model(model: &Value) -> Option<ModelInfo> {
    let text = |name: &str| model.get(name).and_then(Value::as_str);
    let name = text("model").or_else(|| text("name"))?;
    let mut info = ModelInfo::new(name);
    let abilities = model.get("capabilities").and_then(Value::as_array);
    info.capabilities = (abilities.into_iter().flatten())
        .filter_map(|ability| ability.as_str().map(str::to_owned))
        .collect();
    // Versions that do not tell abilities are not taken to deny them.
    if !info.capabilities.is_empty() {
        info.supports_vision = Some(info.capabilities.iter().any(|ability| ability == "vision"));
    }
    Some(match find(name) {
        Some(entry) => info.or(entry),
        None => info,
    })
}

fn chat(
    client: &HttpClient,
    config: &OllamaConfig,
    context: &AiContext,
    stream: bool,
) -> Result<HttpRequest> {
    let body = request(config, context, stream);
    let key = context.api_key.as_ref().or(config.api_key.as_ref());
    with_key(client.post("/api/chat", &body)?, key)
}

fn with_key(request: HttpRequest, key: Option<&ApiKey>) -> Result<HttpRequest> {
    match key {
        Some(key) => request.bearer(key),
        None => Ok(request),
    }
}
