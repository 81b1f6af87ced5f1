//! Why a model could not answer: the vendor's status, request id and wish to be left alone, kept.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use roomkit_core::ErrorKind;

/// A `Result` whose error is [`AiError`].
pub type Result<T, E = AiError> = std::result::Result<T, E>;

/// The most bytes of a vendor's answer that an error keeps.
const MOST_BODY: usize = 4_096;

/// What kind of failure an [`AiError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AiErrorKind {
    /// `ai_invalid_request`: the call or the configuration is not acceptable; also the vendor may say so.
    InvalidRequest,
    /// `ai_unauthorized`: the credential is missing, wrong, or may not do this.
    Unauthorized,
    /// `ai_not_found`: the vendor has no such model.
    NotFound,
    /// `ai_rate_limited`: too many calls or tokens for now.
    RateLimited,
    /// `ai_context_overflow`: the conversation is larger than the model's window.
    ContextOverflow,
    /// `ai_overloaded`: the vendor cannot serve this now.
    Overloaded,
    /// `ai_unreachable`: no connection, or it broke.
    Unreachable,
    /// `ai_timeout`: no answer in time.
    Timeout,
    /// `ai_invalid_response`: the vendor answered what cannot be read, or broke off.
    InvalidResponse,
}

/// A failed call of a model.
///
/// It prints what was being done and the vendor's status; the vendor's body, which may repeat what
/// people said, is there for programs only.
pub struct AiError(Box<Inner>);

struct Inner {
    kind: AiErrorKind,
    provider: String,
    message: String,
    retryable: bool,
    status: Option<u16>,
    body: Option<String>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
    context_overflow: Option<bool>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl AiError {
    /// A failure of `provider`; `message` says what was being done, without secrets and without text of
    /// the conversation.
    pub fn new(kind: AiErrorKind, provider: impl Into<String>, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            provider: provider.into(),
            message: message.into(),
            retryable: kind.usually_passes(),
            status: None,
            body: None,
            request_id: None,
            retry_after: None,
            context_overflow: (kind == AiErrorKind::ContextOverflow).then_some(true),
            source: None,
        }))
    }

    /// Says that it is of another kind, which a status alone does not tell.
    #[must_use]
    pub fn with_kind(mut self, kind: AiErrorKind) -> Self {
        self.0.kind = kind;
        self.0.retryable = kind.usually_passes();
        if kind == AiErrorKind::ContextOverflow {
            self.0.context_overflow = Some(true);
        }
        self
    }

    /// Names the error that caused this one. Errors of HTTP clients name the address: leave that out
    /// where it may hold a secret.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Keeps the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    /// Keeps the first 4 KiB of the vendor's answer.
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        let mut body = body.into();
        if body.len() > MOST_BODY {
            let end = (0..=MOST_BODY).rev().find(|at| body.is_char_boundary(*at));
            body.truncate(end.unwrap_or_default());
        }
        self.0.body = Some(body);
        self
    }

    /// Keeps the vendor's id of the request.
    #[must_use]
    pub fn with_request_id(mut self, id: impl Into<String>) -> Self {
        self.0.request_id = Some(id.into());
        self
    }

    /// Keeps how long the vendor asks to be left alone.
    #[must_use]
    pub fn with_retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// Says whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// Says for certain whether the conversation was larger than the model's window.
    #[must_use]
    pub fn with_context_overflow(mut self, overflow: bool) -> Self {
        self.0.context_overflow = Some(overflow);
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> AiErrorKind {
        self.0.kind
    }

    /// The stable code, such as `ai_rate_limited`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// The provider's name.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// What was being done.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The HTTP status, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The beginning of the vendor's answer. It may repeat what people said: not for logs.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.0.body.as_deref()
    }

    /// The vendor's id of the request.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long the vendor asks to be left alone.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// Whether the conversation was larger than the model's window: what the provider said for certain,
    /// else what the vendor's own words suggest.
    #[must_use]
    pub fn is_context_overflow(&self) -> bool {
        self.0.context_overflow.unwrap_or_else(|| {
            let said = |text: &str| {
                let text = text.to_ascii_lowercase();
                OVERFLOW_WORDS.iter().any(|words| text.contains(words))
            };
            said(&self.0.message) || self.0.body.as_deref().is_some_and(said)
        })
    }
}

/// How vendors word a conversation that is too large. `request too large` is not among them: it is
/// one vendor's word for too many tokens a minute.
const OVERFLOW_WORDS: &[&str] = &[
    "context length",
    "context_length",
    "maximum context",
    "context window",
    "token limit",
    "too many tokens",
    "prompt is too long",
    "exceeds the model",
    "range of input length",
];

impl AiErrorKind {
    /// The stable code, such as `ai_rate_limited`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidRequest => "ai_invalid_request",
            Self::Unauthorized => "ai_unauthorized",
            Self::NotFound => "ai_not_found",
            Self::RateLimited => "ai_rate_limited",
            Self::ContextOverflow => "ai_context_overflow",
            Self::Overloaded => "ai_overloaded",
            Self::Unreachable => "ai_unreachable",
            Self::Timeout => "ai_timeout",
            Self::InvalidResponse => "ai_invalid_response",
        }
    }

    /// What an HTTP status means where the vendor says no more.
    #[must_use]
    pub const fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::Unauthorized,
            404 => Self::NotFound,
            408 | 504 => Self::Timeout,
            429 => Self::RateLimited,
            500.. => Self::Overloaded,
            _ => Self::InvalidRequest,
        }
    }

    /// Whether a failure of this kind usually passes when the call is made again.
    const fn usually_passes(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Unreachable | Self::Timeout
        )
    }
}

impl fmt::Display for AiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: {}: {}",
            self.code(),
            self.0.provider,
            self.0.message
        )?;
        if let Some(status) = self.0.status {
            write!(f, " (status {status})")?;
        }
        if let Some(id) = &self.0.request_id {
            write!(f, " (request {id})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for AiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiError")
            .field("kind", &self.0.kind)
            .field("provider", &self.0.provider)
            .field("message", &self.0.message)
            .field("status", &self.0.status)
            .field("request_id", &self.0.request_id)
            .field("retry_after", &self.0.retry_after)
            .field("retryable", &self.0.retryable)
            .finish_non_exhaustive()
    }
}

impl StdError for AiError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        let source = self.0.source.as_ref()?;
        Some(source.as_ref())
    }
}

impl From<AiError> for roomkit_core::Error {
    fn from(error: AiError) -> Self {
        let message = format!("{}: {}", error.provider(), error.message());
        let retryable = error.is_retryable();
        Self::new(ErrorKind::Custom(error.code()), message)
            .retryable(retryable)
            .with_source(error)
    }
}
