//! The client of one vendor: where it is, what is sent with each request, and how its refusals are read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, USER_AGENT};
use reqwest::{Client, Method, Url, redirect};
use roomkit_core::{Clock, SystemClock};
use serde::Serialize;
use serde_json::Value;

use super::{HttpConfig, HttpRequest, tls};
use crate::{AiError, AiErrorKind, ApiKey, Result};

/// What a vendor's refusal means: the error as it follows from the status, and the vendor's body where
/// it is JSON.
pub(super) type Refusal = fn(AiError, &Value) -> AiError;

/// A client of one vendor. It is cheap to clone, and shares its connections.
///
/// It follows no redirect, since what a request holds is meant for one server.
#[derive(Clone)]
pub struct HttpClient {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    base: String,
    provider: Arc<str>,
    config: HttpConfig,
    headers: HeaderMap,
    secrets: Vec<ApiKey>,
    refusal: Refusal,
    clock: Arc<dyn Clock>,
}

/// Says what an [`HttpClient`] is made of.
#[must_use = "nothing is built until `build` is called"]
pub struct HttpClientBuilder {
    provider: Arc<str>,
    base_url: String,
    config: HttpConfig,
    headers: Vec<(String, ApiKey)>,
    refusal: Refusal,
    clock: Arc<dyn Clock>,
}

impl HttpClient {
    /// A client of the service at `base_url`, to which the paths of requests are appended. Errors
    /// name `provider`.
    pub fn builder(
        provider: impl Into<Arc<str>>,
        base_url: impl Into<String>,
    ) -> HttpClientBuilder {
        HttpClientBuilder {
            provider: provider.into(),
            base_url: base_url.into(),
            config: HttpConfig::default(),
            headers: Vec::new(),
            refusal: |error, _body| error,
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// A request of what is at `path`, which begins with `/`.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: base and path are no address.
    pub fn get(&self, path: &str) -> Result<HttpRequest> {
        HttpRequest::new(self.clone(), Method::GET, self.url(path)?, None)
    }

    /// A request that sends `body` as JSON to `path`, which begins with `/`.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: base and path are no address, or the body fits no JSON.
    pub fn post(&self, path: &str, body: &impl Serialize) -> Result<HttpRequest> {
        let body = serde_json::to_vec(body)
            .map_err(|_error| self.invalid("the request cannot be written as JSON"))?;
        HttpRequest::new(self.clone(), Method::POST, self.url(path)?, Some(body))
    }

    /// The name that errors give.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.inner.provider
    }

    /// Its limits.
    #[must_use]
    pub fn config(&self) -> &HttpConfig {
        &self.inner.config
    }

    /// An error of this vendor's.
    pub(super) fn error(&self, kind: AiErrorKind, message: impl Into<String>) -> AiError {
        AiError::new(kind, self.provider(), message)
    }

    pub(super) fn invalid(&self, message: impl Into<String>) -> AiError {
        self.error(AiErrorKind::InvalidRequest, message)
    }

    pub(super) fn client(&self) -> &Client {
        &self.inner.client
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.inner.headers
    }

    pub(super) fn secrets(&self) -> &[ApiKey] {
        &self.inner.secrets
    }

    pub(super) fn refusal(&self) -> Refusal {
        self.inner.refusal
    }

    pub(super) fn clock(&self) -> &dyn Clock {
        &*self.inner.clock
    }

    fn url(&self, path: &str) -> Result<Url> {
        Url::parse(&format!("{}{path}", self.inner.base))
            .map_err(|_error| self.invalid("base_url: with the path it is no address"))
    }
}

impl HttpClientBuilder {
    /// Sets the limits.
    pub fn config(mut self, config: HttpConfig) -> Self {
        self.config = config;
        self
    }

    /// Sends a header with every request. Its value is never shown.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<ApiKey>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Reads the vendor's refusals: it gets the error that follows from the status, and the body where
    /// that is JSON. Default: the status says it all.
    pub fn refusal(mut self, refusal: fn(AiError, &Value) -> AiError) -> Self {
        self.refusal = refusal;
        self
    }

    /// The clock against which a `Retry-After` with a date is taken where the vendor's answer has no
    /// `Date`. Default: the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Builds the client.
    ///
    /// # Errors
    /// [`AiErrorKind::InvalidRequest`]: the address, a header or a limit is not acceptable; it names
    /// which. [`AiErrorKind::Unreachable`]: TLS could not be set up.
    pub fn build(self) -> Result<HttpClient> {
        let provider = &*self.provider;
        let invalid = |message: &str| AiError::new(AiErrorKind::InvalidRequest, provider, message);
        self.config.check(provider)?;
        let url = Url::parse(&self.base_url)
            .map_err(|_error| invalid("base_url: it is not an address"))?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(invalid(
                "base_url: it must begin with http:// or https:// and name a host",
            ));
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(invalid(
                "base_url: it must end before a query or a fragment",
            ));
        }
        let mut headers = HeaderMap::new();
        headers.insert(USER_AGENT, HeaderValue::from_static(AGENT));
        let mut secrets = Vec::new();
        for (name, value) in self.headers {
            let (name, header) = header(provider, &name, &value)?;
            headers.insert(name, header);
            secrets.push(value);
        }
        let no_tls = |error: rustls::Error| {
            AiError::new(
                AiErrorKind::Unreachable,
                provider,
                "TLS could not be set up",
            )
            .retryable(false)
            .with_source(error)
        };
        let client = Client::builder()
            .connect_timeout(Duration::from_millis(self.config.connect_timeout_ms))
            .tcp_keepalive(Duration::from_secs(30))
            .redirect(redirect::Policy::none())
            .tls_backend_preconfigured(tls::config(url.scheme() == "https").map_err(no_tls)?)
            .build()
            .map_err(|error| invalid("no HTTP client could be made").with_source(error))?;
        Ok(HttpClient {
            inner: Arc::new(Inner {
                client,
                base: url.as_str().trim_end_matches('/').to_owned(),
                provider: self.provider,
                config: self.config,
                headers,
                secrets,
                refusal: self.refusal,
                clock: self.clock,
            }),
        })
    }
}

const AGENT: &str = concat!("roomkit-ai/", env!("CARGO_PKG_VERSION"));

/// A header whose value is never shown.
pub(super) fn header(
    provider: &str,
    name: &str,
    value: &ApiKey,
) -> Result<(HeaderName, HeaderValue)> {
    let invalid = |message: String| AiError::new(AiErrorKind::InvalidRequest, provider, message);
    let Ok(name) = HeaderName::from_bytes(name.as_bytes()) else {
        return Err(invalid(format!(
            "headers: {name:?} is not the name of a header"
        )));
    };
    let Ok(mut header) = HeaderValue::from_str(value.expose()) else {
        return Err(invalid(format!(
            "headers: the value of {name} fits no header"
        )));
    };
    header.set_sensitive(true);
    Ok((name, header))
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("provider", &self.inner.provider)
            .field("config", &self.inner.config)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpClientBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("HttpClientBuilder")
            .field("provider", &self.provider)
            .field("headers", &names)
            .field("config", &self.config)
            .finish_non_exhaustive()
    }
}
