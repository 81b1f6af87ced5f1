//! Asking a vendor over Chat Completions: whole, streamed, and for its models.

use serde_json::Value;

use super::decode::ChatDecoder;
use super::dialect::Dialect;
use crate::http::{Framing, Head, HttpClient, HttpRequest};
use crate::{AiContext, AiError, AiErrorKind, AiResponse, AiStream, ApiKey, ModelInfo, Result};

/// A vendor's or server's Chat Completions.
#[derive(Debug, Clone)]
pub struct ChatCompletions {
    client: HttpClient,
    dialect: Dialect,
    key: Option<ApiKey>,
    key_header: Option<&'static str>,
    path: String,
}

impl ChatCompletions {
    /// What is asked by this client in this dialect, at `/chat/completions` below its address.
    #[must_use]
    pub fn new(client: HttpClient, dialect: Dialect) -> Self {
        Self {
            client,
            dialect,
            key: None,
            key_header: None,
            path: "/chat/completions".to_owned(),
        }
    }

    /// The key where a turn has none of its own. Default: none is sent.
    #[must_use]
    pub fn key(mut self, key: Option<ApiKey>) -> Self {
        self.key = key;
        self
    }

    /// The header in which the key stands. Default: `Authorization`, as a bearer's.
    #[must_use]
    pub fn key_header(mut self, name: &'static str) -> Self {
        self.key_header = Some(name);
        self
    }

    /// Where answers are asked for. Default: `/chat/completions`.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Its dialect.
    #[must_use]
    pub fn dialect(&self) -> &Dialect {
        &self.dialect
    }

    /// Asks for a whole answer.
    ///
    /// # Errors
    /// As [`AiProvider::generate`](crate::AiProvider::generate).
    pub async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        let body = self.dialect.request(context, false);
        let request = self.client.post(&self.path, &body)?;
        let answer = self.with_key(request, context.api_key.as_ref())?;
        let answer = answer.json::<Value>().await?;
        let mut events = Vec::new();
        let mut decoder = ChatDecoder::new(&self.dialect, &answer.head);
        decoder
            .chunk(&answer.value, &mut events)
            .and_then(|()| decoder.finish(&mut events))
            .map_err(|error| answer.head.tell(error))?;
        Ok(AiResponse::of(events))
    }

    /// Asks for an answer as it comes.
    ///
    /// # Errors
    /// As [`AiProvider::generate_stream`](crate::AiProvider::generate_stream).
    pub async fn stream(&self, context: &AiContext) -> Result<AiStream> {
        let body = self.dialect.request(context, true);
        let request = self.client.post(&self.path, &body)?;
        let request = self.with_key(request, context.api_key.as_ref())?;
        let decoder = |head: &Head| ChatDecoder::new(&self.dialect, head);
        request.answer(Framing::Events, decoder).await
    }

    /// Asks for the ids of the models, at `/models`.
    ///
    /// # Errors
    /// As [`AiProvider::list_models`](crate::AiProvider::list_models).
    pub async fn models(&self) -> Result<Vec<ModelInfo>> {
        let request = self.with_key(self.client.get("/models")?, None)?;
        let answer = request.json::<Value>().await?;
        let list = answer.value.get("data").unwrap_or(&answer.value);
        let Some(list) = list.as_array() else {
            let error = AiError::new(
                AiErrorKind::InvalidResponse,
                self.client.provider(),
                "there is no list of models in the answer",
            );
            return Err(answer.head.tell(error));
        };
        let id = |model: &Value| model.get("id").and_then(Value::as_str).map(ModelInfo::new);
        Ok(list.iter().filter_map(id).collect())
    }

    fn with_key(&self, request: HttpRequest, own: Option<&ApiKey>) -> Result<HttpRequest> {
        match (own.or(self.key.as_ref()), self.key_header) {
            (None, _) => Ok(request),
            (Some(key), None) => request.bearer(key),
            (Some(key), Some(header)) => request.header(header, key),
        }
    }
}
