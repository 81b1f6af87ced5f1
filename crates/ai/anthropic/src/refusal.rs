//! What Anthropic says when it fails, in a refusal or amid an answer ("Claude API errors", read on 2026-11-30).

use roomkit_ai::{AiError, AiErrorKind};
use serde_json::Value;

/// Reads a refusal's body further than its status goes.
pub(crate) fn refusal(error: AiError, body: &Value) -> AiError {
    match said(body) {
        Some(Said::NoCredit) => error.with_kind(AiErrorKind::RateLimited).retryable(false),
        Some(Said::Kind(kind)) => error.with_kind(kind),
        None => error,
    }
}

/// The error that the vendor put into an answer. Its body is kept.
pub(crate) fn failure(provider: &str, body: &Value) -> AiError {
    let error = AiError::new(
        AiErrorKind::Overloaded,
        provider,
        "the server says that it failed",
    );
    refusal(error, body).with_body(body.to_string())
}

enum Said {
    Kind(AiErrorKind),
    /// A limit that does not pass by waiting.
    NoCredit,
}

fn said(body: &Value) -> Option<Said> {
    let error = body.get("error")?;
    let message = error.get("message").and_then(Value::as_str);
    let message = message.unwrap_or_default().to_ascii_lowercase();
    Some(Said::Kind(match error.get("type")?.as_str()? {
        "invalid_request_error" if is_too_long(&message) => AiErrorKind::ContextOverflow,
        "invalid_request_error" | "request_too_large" | "conflict_error" => {
            AiErrorKind::InvalidRequest
        }
        "authentication_error" | "permission_error" => AiErrorKind::Unauthorized,
        "billing_error" => return Some(Said::NoCredit),
        "not_found_error" => AiErrorKind::NotFound,
        "rate_limit_error" => AiErrorKind::RateLimited,
        "timeout_error" => AiErrorKind::Timeout,
        "api_error" | "overloaded_error" => AiErrorKind::Overloaded,
        _ => return None,
    }))
}

/// How it words a conversation that is larger than the model's window; there is no code for it.
fn is_too_long(message: &str) -> bool {
    message.contains("prompt is too long") || message.contains("exceed context limit")
}
