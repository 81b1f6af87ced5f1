//! What vendors say when they fail, in a refusal or amid an answer.

use std::sync::Arc;

use serde_json::Value;

use crate::{AiError, AiErrorKind};

/// Reads a refusal's body further than its status goes; for
/// [`HttpClientBuilder::refusal`](crate::http::HttpClientBuilder::refusal).
#[must_use]
pub fn refusal(error: AiError, body: &Value) -> AiError {
    match said(body) {
        Some(Said::NoCredit) => error.with_kind(AiErrorKind::RateLimited).retryable(false),
        // The status says how the vendor takes it; only what it cannot say is read from the words.
        Some(Said::Kind(kind @ (AiErrorKind::ContextOverflow | AiErrorKind::NotFound))) => {
            error.with_kind(kind)
        }
        _ => error,
    }
}

/// The error that a vendor put into an answer, if it did: `{"error": ...}` in a body whose status was
/// fine, or amid a stream. Its body is kept.
#[must_use]
pub fn failure(provider: &Arc<str>, body: &Value) -> Option<AiError> {
    body.get("error").filter(|error| !error.is_null())?;
    let new = |kind| {
        AiError::new(kind, &**provider, "the server says that it failed")
            .with_body(body.to_string())
    };
    Some(match said(body) {
        Some(Said::NoCredit) => new(AiErrorKind::RateLimited).retryable(false),
        Some(Said::Kind(kind)) => new(kind),
        None => new(AiErrorKind::Overloaded),
    })
}

enum Said {
    Kind(AiErrorKind),
    /// A limit that does not pass by waiting.
    NoCredit,
}

fn said(body: &Value) -> Option<Said> {
    // Some servers leave the object around it out.
    let error = body.get("error").filter(|error| error.is_object());
    let error = error.unwrap_or(body);
    let word = |name: &str| error.get(name).and_then(Value::as_str);
    [word("code"), word("type")]
        .into_iter()
        .flatten()
        .find_map(word_of)
        .or_else(|| {
            let status = error.get("code").or_else(|| error.get("status"));
            let status = u16::try_from(status?.as_u64()?).ok();
            let status = status.filter(|status| (400..600).contains(status))?;
            Some(Said::Kind(AiErrorKind::of_status(status)))
        })
}

fn word_of(word: &str) -> Option<Said> {
    Some(Said::Kind(match word {
        "context_length_exceeded" => AiErrorKind::ContextOverflow,
        "insufficient_quota" => return Some(Said::NoCredit),
        "rate_limit_exceeded" | "rate_limit_error" | "rate_limit" => AiErrorKind::RateLimited,
        "invalid_api_key" | "authentication_error" | "permission_error" => {
            AiErrorKind::Unauthorized
        }
        "model_not_found" | "not_found_error" => AiErrorKind::NotFound,
        "invalid_request_error" | "invalid_prompt" => AiErrorKind::InvalidRequest,
        "server_error" | "internal_server_error" | "overloaded_error" | "service_unavailable" => {
            AiErrorKind::Overloaded
        }
        "timeout" => AiErrorKind::Timeout,
        _ => return None,
    }))
}
