//! Why a call of a tool failed, in words for the model.

use std::error::Error as StdError;
use std::fmt;

use roomkit_core::ErrorKind;

/// What kind of failure a [`ToolError`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ToolErrorKind {
    /// `tool_invalid_arguments`: the arguments are no JSON object or do not fit the schema; nothing was
    /// executed.
    InvalidArguments,
    /// `tool_unknown`: there is no tool of that name; nothing was executed.
    Unknown,
    /// `tool_denied`: a policy, a hook or a person said no; nothing was executed.
    Denied,
    /// `tool_failed`: the tool says that it failed.
    Failed,
    /// `tool_timeout`: it took too long and was stopped; what it did by then is done.
    Timeout,
    /// `tool_cancelled`: the turn was cancelled.
    Cancelled,
    /// `tool_panicked`: the tool has a bug.
    Panicked,
}

impl ToolErrorKind {
    /// The stable code, such as `tool_timeout`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::InvalidArguments => "tool_invalid_arguments",
            Self::Unknown => "tool_unknown",
            Self::Denied => "tool_denied",
            Self::Failed => "tool_failed",
            Self::Timeout => "tool_timeout",
            Self::Cancelled => "tool_cancelled",
            Self::Panicked => "tool_panicked",
        }
    }
}

/// A failed call of a tool.
///
/// Its [`message`](Self::message) is what the model is told. It may repeat what people said, so that
/// printing the error shows the code alone. `?` makes one of any error, whose own words the model then
/// reads: use [`hidden`](Self::hidden) for one that may name a secret, such as an address with a key.
///
/// For that reason it is no [`std::error::Error`] itself; it converts into [`roomkit_core::Error`].
pub struct ToolError {
    kind: ToolErrorKind,
    message: String,
    retryable: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl ToolError {
    /// A failure in words for the model.
    pub fn new(message: impl Into<String>) -> Self {
        Self::of(ToolErrorKind::Failed, message)
    }

    /// A failure of some kind, in words for the model.
    pub fn of(kind: ToolErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            retryable: matches!(kind, ToolErrorKind::Timeout),
            source: None,
        }
    }

    /// A failure of which the model learns only that it was one; programs find the cause in
    /// [`source`](Self::source).
    pub fn hidden(source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self {
            source: Some(source.into()),
            ..Self::new("the tool failed")
        }
    }

    /// Says whether the same call may succeed later. Default: only after a timeout.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.retryable = retryable;
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ToolErrorKind {
        self.kind
    }

    /// The stable code, such as `tool_timeout`.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.kind.code()
    }

    /// What the model is told. It may repeat what people said: not for logs.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.retryable
    }

    /// What caused it, where another error did.
    #[must_use]
    pub fn source(&self) -> Option<&(dyn StdError + Send + Sync + 'static)> {
        self.source.as_deref()
    }
}

impl<E: StdError + Send + Sync + 'static> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self {
            message: error.to_string(),
            ..Self::hidden(error)
        }
    }
}

impl From<ToolError> for roomkit_core::Error {
    fn from(error: ToolError) -> Self {
        Self::new(ErrorKind::Custom(error.code()), "calling a tool").retryable(error.retryable)
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolError")
            .field("kind", &self.kind)
            .field("message", &format_args!("{} bytes", self.message.len()))
            .field("retryable", &self.retryable)
            .finish_non_exhaustive()
    }
}
