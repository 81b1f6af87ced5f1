//! What Ollama says when it fails, in a refusal or amid an answer ("Errors" of its documentation).

use roomkit_ai::{AiError, AiErrorKind};
use serde_json::Value;

/// Reads a refusal's body further than its status goes.
pub(crate) fn refusal(error: AiError, body: &Value) -> AiError {
    if is_too_long(body) {
        return error.with_kind(AiErrorKind::ContextOverflow);
    }
    error
}

/// The error that the server put into an answer, if it did. Its body is kept.
pub(crate) fn failure(provider: &str, body: &Value) -> Option<AiError> {
    body.get("error").filter(|error| !error.is_null())?;
    let status = body.get("status").and_then(Value::as_u64);
    let status = status.and_then(|status| u16::try_from(status).ok());
    // Without a status it is most often what the model wrote that could not be read; the next may be.
    let kind = match status.filter(|status| (400..600).contains(status)) {
        Some(status) => AiErrorKind::of_status(status),
        None => AiErrorKind::Overloaded,
    };
    let error = AiError::new(kind, provider, "the server says that it failed");
    Some(refusal(error, body).with_body(body.to_string()))
}

/// How it words a conversation that is larger than the model's window; there is no code for it.
fn is_too_long(body: &Value) -> bool {
    let error = body.get("error").unwrap_or(&Value::Null);
    let said = error.as_str().or_else(|| error.get("message")?.as_str());
    let said = said.unwrap_or_default().to_ascii_lowercase();
    [
        "exceeds the context length",
        "exceeds maximum context length",
        "exceeds the available context",
        "longer than the context length",
    ]
    .iter()
    .any(|words| said.contains(words))
}
