//! What became of a delivery.

use serde::{Deserialize, Serialize};

use super::ids::ChannelId;
use super::validate::ValidationError;

/// What a channel says about one delivery.
///
/// A failure says that nothing was sent, so that trying again cannot send twice. Where that is not
/// certain, as when a connection breaks before the answer, the outcome is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "OutcomeFields", try_from = "OutcomeFields")]
pub enum DeliveryOutcome {
    /// The provider took the message.
    Sent {
        /// The provider's id of the message, where it gives one.
        provider_message_id: Option<String>,
    },
    /// Nothing was sent.
    Failed(DeliveryError),
    /// The message may have been sent.
    Unknown(DeliveryError),
}

impl DeliveryOutcome {
    /// Makes the outcome that the message was sent, without a provider's id.
    pub const fn sent() -> Self {
        Self::Sent {
            provider_message_id: None,
        }
    }

    /// Makes the outcome that nothing was sent and that a retry cannot help.
    pub fn failed(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed(DeliveryError::new(code, message))
    }

    /// Makes the outcome that nothing was sent and that a retry may help.
    pub fn failed_retryable(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Failed(DeliveryError {
            retryable: true,
            ..DeliveryError::new(code, message)
        })
    }

    /// Makes the outcome that the message may have been sent.
    pub fn unknown(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Unknown(DeliveryError::new(code, message))
    }

    /// Whether the provider took the message.
    pub const fn is_sent(&self) -> bool {
        matches!(self, Self::Sent { .. })
    }

    /// What went wrong, unless the message was sent.
    pub const fn error(&self) -> Option<&DeliveryError> {
        match self {
            Self::Sent { .. } => None,
            Self::Failed(error) | Self::Unknown(error) => Some(error),
        }
    }
}

/// Why a delivery did not succeed (RFC §5.13).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {message}")]
pub struct DeliveryError {
    /// What went wrong, for programs: a stable code.
    pub code: String,
    /// What went wrong, in words.
    pub message: String,
    /// Whether trying again may help. Default: no.
    #[serde(default)]
    pub retryable: bool,
    /// How long to wait before trying again, in seconds, where the provider says.
    #[serde(default)]
    pub retry_after_seconds: Option<f64>,
}

impl DeliveryError {
    /// Makes an error that a retry cannot help.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            retryable: false,
            retry_after_seconds: None,
        }
    }
}

/// What became of an event at one channel (RFC §5.13).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeliveryResult {
    /// The channel.
    pub channel_id: ChannelId,
    /// The outcome of the last try; in JSON its fields stand beside the others.
    #[serde(flatten)]
    pub outcome: DeliveryOutcome,
    /// How many tries there were. Default: 1.
    #[serde(default = "one")]
    pub attempts: u32,
}

impl DeliveryResult {
    /// Makes the result of a first try.
    pub fn new(channel_id: impl Into<ChannelId>, outcome: DeliveryOutcome) -> Self {
        Self {
            channel_id: channel_id.into(),
            outcome,
            attempts: one(),
        }
    }
}

const fn one() -> u32 {
    1
}

/// The form of an outcome in JSON.
#[derive(Serialize, Deserialize)]
struct OutcomeFields {
    status: Status,
    #[serde(default)]
    provider_message_id: Option<String>,
    #[serde(default)]
    error: Option<DeliveryError>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Sent,
    Failed,
    Unknown,
}

impl From<DeliveryOutcome> for OutcomeFields {
    fn from(outcome: DeliveryOutcome) -> Self {
        let failure = |status, error| Self {
            status,
            provider_message_id: None,
            error: Some(error),
        };
        match outcome {
            DeliveryOutcome::Sent {
                provider_message_id,
            } => Self {
                status: Status::Sent,
                provider_message_id,
                error: None,
            },
            DeliveryOutcome::Failed(error) => failure(Status::Failed, error),
            DeliveryOutcome::Unknown(error) => failure(Status::Unknown, error),
        }
    }
}

impl TryFrom<OutcomeFields> for DeliveryOutcome {
    type Error = ValidationError;

    fn try_from(fields: OutcomeFields) -> Result<Self, ValidationError> {
        let error = || ValidationError::new("error", "is required unless the status is `sent`");
        Ok(match fields.status {
            Status::Sent => Self::Sent {
                provider_message_id: fields.provider_message_id,
            },
            Status::Failed => Self::Failed(fields.error.ok_or_else(error)?),
            Status::Unknown => Self::Unknown(fields.error.ok_or_else(error)?),
        })
    }
}
