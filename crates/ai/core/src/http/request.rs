//! One request: what it sends, its attempts, and its answer whole or as it comes.

use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Method, Url};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::answer::{self, AnswerDecoder, Head};
use super::client::{HttpClient, header};
use super::failure;
use super::frames::Framing;
use super::retry;
use crate::{AiErrorKind, AiStream, ApiKey, Result};

/// A request of an [`HttpClient`], to be sent once or, where that fails, some times.
pub struct HttpRequest {
    client: HttpClient,
    method: Method,
    url: Url,
    headers: HeaderMap,
    secrets: Vec<ApiKey>,
    body: Option<Bytes>,
}

/// A whole answer.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HttpAnswer<T> {
    /// What the vendor answered.
    pub value: T,
    /// What it said before.
    pub head: Head,
}

impl HttpRequest {
    pub(super) fn new(
        client: HttpClient,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Self> {
        let mut headers = client.headers().clone();
        if body.is_some() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        Ok(Self {
            secrets: client.secrets().to_vec(),
            client,
            method,
            url,
            headers,
            body: body.map(Bytes::from),
        })
    }

    /// Sends a header, in the place of one of that name. Its value is never shown.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: it is no header.
    pub fn header(mut self, name: &str, value: &ApiKey) -> Result<Self> {
        let (name, header) = header(self.client.provider(), name, value)?;
        self.headers.insert(name, header);
        self.secrets.push(value.clone());
        Ok(self)
    }

    /// Sends a key as `Authorization: Bearer`.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: the key fits no header.
    pub fn bearer(mut self, key: &ApiKey) -> Result<Self> {
        let value = ApiKey::new(format!("Bearer {}", key.expose()));
        let Ok((_, header)) = header(self.client.provider(), AUTHORIZATION.as_str(), &value) else {
            return Err(self.client.invalid("api_key: it fits no header"));
        };
        self.headers.insert(AUTHORIZATION, header);
        self.secrets.push(key.clone());
        Ok(self)
    }

    /// Appends a parameter to the address.
    #[must_use]
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.query_pairs_mut().append_pair(name, value);
        self
    }

    /// Sends the request and reads a whole answer of JSON.
    ///
    /// # Errors
    /// When the service could not be reached in any attempt, refused, or answered what cannot be read.
    pub async fn json<T: DeserializeOwned>(&self) -> Result<HttpAnswer<T>> {
        let deadline = self.deadline();
        self.attempts(deadline, || async move {
            let (head, mut body) = self.send(deadline).await?;
            let bytes = body.all().await.map_err(|error| head.tell(error))?;
            let value = serde_json::from_slice(&bytes).map_err(|error| {
                let problem = format!(
                    "the answer cannot be read: line {}, column {}",
                    error.line(),
                    error.column()
                );
                let text = String::from_utf8_lossy(&bytes);
                let error = self.client.error(AiErrorKind::InvalidResponse, problem);
                head.tell(error).with_body(head.without_secrets(&text))
            })?;
            Ok(HttpAnswer { value, head })
        })
        .await
    }

    /// Sends the request and reads an answer as it comes. Each attempt has a decoder of its own, which
    /// `decoder` makes; there is no attempt after the first [`StreamEvent`](crate::StreamEvent).
    ///
    /// # Errors
    /// When the service could not be reached in any attempt, refused, or answered what cannot be read;
    /// what goes wrong after the first event is an item of the stream.
    pub async fn answer<D: AnswerDecoder>(
        &self,
        framing: Framing,
        decoder: impl Fn(&Head) -> D + Send + Sync,
    ) -> Result<AiStream> {
        let deadline = self.deadline();
        let decoder = &decoder;
        self.attempts(deadline, || async move {
            let (head, body) = self.send(deadline).await?;
            let decoder = decoder(&head);
            let config = self.client.config();
            answer::begin(head, body, framing, config.max_frame_bytes, decoder).await
        })
        .await
    }

    /// Sends the request and checks the status; the body is still to be read.
    async fn send(&self, deadline: Instant) -> Result<(Head, answer::Body)> {
        let config = self.client.config();
        let begins = later(config.first_byte_timeout_ms).min(deadline);
        let mut request = reqwest::Request::new(self.method.clone(), self.url.clone());
        *request.headers_mut() = self.headers.clone();
        *request.body_mut() = self.body.clone().map(Into::into);
        let response = tokio::time::timeout_at(begins, self.client.client().execute(request)).await;
        let response = match response {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(failure::lost(&self.client, error, "asking")),
            Err(_) => return Err(failure::late(&self.client, "no answer came in time")),
        };
        let head = Head::of(&response, self.secrets.clone());
        let status = response.status();
        let retry_after = retry::retry_after(response.headers(), self.client.clock());
        let mut body = answer::Body::new(self.client.clone(), response, begins, deadline);
        if status.is_success() {
            return Ok((head, body));
        }
        // Before it is cut, which could leave half of a credential.
        let text = head.without_secrets(&body.beginning().await);
        let error = failure::refused(&self.client, status, text, retry_after);
        Err(head.tell(error))
    }

    /// Makes attempts until one gives something, or there is no point in another.
    async fn attempts<T, F, Fut>(&self, deadline: Instant, mut attempt: F) -> Result<T>
    where
        F: FnMut() -> Fut,
        Fut: Future<Output = Result<T>>,
    {
        let mut made = 0;
        loop {
            let error = match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            made += 1;
            let Some(wait) = retry::wait(self.client.config(), made, &error, deadline) else {
                return Err(error);
            };
            tracing::debug!(
                provider = self.client.provider(),
                code = error.code(),
                status = error.status(),
                made,
                "a call of a model failed and is made again"
            );
            tokio::time::sleep(wait).await;
        }
    }

    fn deadline(&self) -> Instant {
        later(self.client.config().total_timeout_ms)
    }
}

/// The moment so many milliseconds from now; a far one where there is no such moment.
pub(super) fn later(ms: u64) -> Instant {
    let now = Instant::now();
    let far = Duration::from_secs(365 * 24 * 60 * 60);
    let wait = Duration::from_millis(ms).min(far);
    now.checked_add(wait).unwrap_or(now)
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.host_str().unwrap_or_default();
        write!(f, "HttpRequest({} {host}{})", self.method, self.url.path())
    }
}
