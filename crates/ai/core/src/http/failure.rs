//! What goes wrong between here and a vendor, as errors that hold no address and no credential.

use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::HttpClient;
use crate::{AiError, AiErrorKind};

/// A connection that was not made or broke. The address goes, since it may hold a password.
pub(super) fn lost(client: &HttpClient, error: reqwest::Error, doing: &str) -> AiError {
    let error = error.without_url();
    let (kind, problem) = if error.is_timeout() {
        (AiErrorKind::Timeout, "connecting took too long")
    } else if error.is_connect() {
        (AiErrorKind::Unreachable, "the server was not reached")
    } else if error.is_builder() {
        (AiErrorKind::InvalidRequest, "the request cannot be sent")
    } else {
        (AiErrorKind::Unreachable, "the connection broke")
    };
    client
        .error(kind, format!("{doing}: {problem}"))
        .with_source(error)
}

/// A time limit that has passed.
pub(super) fn late(client: &HttpClient, problem: &str) -> AiError {
    client.error(AiErrorKind::Timeout, problem)
}

/// A refusal by status, read further by the vendor's own words where they are JSON.
pub(super) fn refused(
    client: &HttpClient,
    status: StatusCode,
    body: String,
    retry_after: Option<Duration>,
) -> AiError {
    let kind = if status.is_redirection() {
        AiErrorKind::InvalidRequest
    } else {
        AiErrorKind::of_status(status.as_u16())
    };
    let message = if status.is_redirection() {
        "the server sends on to elsewhere, which base_url may have to name"
    } else {
        "the server refused"
    };
    let mut error = client.error(kind, message).with_status(status.as_u16());
    if let Some(after) = retry_after {
        error = error.with_retry_after(after);
    }
    if let Ok(value) = serde_json::from_str::<Value>(&body) {
        error = client.refusal()(error, &value);
    }
    error.with_body(body)
}
