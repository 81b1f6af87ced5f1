//! What went wrong in PostgreSQL, what is then certain, and how a caller is told.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

use roomkit_core::{Error, ErrorKind};
use sqlx::postgres::{PgDatabaseError, PgSeverity};

/// What a call was about, for its errors and its log lines.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Doing<'a> {
    what: &'static str,
    id: &'a str,
}

impl<'a> Doing<'a> {
    pub(crate) fn new(what: &'static str, id: &'a str) -> Self {
        Self { what, id }
    }
}

impl fmt::Display for Doing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.id.is_empty() {
            f.write_str(self.what)
        } else {
            write!(f, "{} {}", self.what, self.id)
        }
    }
}

/// What is known of a statement that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Certainty {
    /// It changed nothing.
    NotDone,
    /// It may have been done: the connection was lost before the answer came.
    Unknown,
}

/// A statement, or a connection, that failed.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Cause,
    pub(crate) certainty: Certainty,
    /// Whether the same may succeed at once or a moment later.
    pub(crate) transient: bool,
    /// Whether the connection is of no more use.
    pub(crate) lost: bool,
}

/// What PostgreSQL or the connection said, without values of any kind.
#[derive(Debug, Clone)]
struct Cause {
    /// The SQLSTATE; empty where the server said nothing.
    state: String,
    /// The constraint that was violated.
    constraint: String,
    text: String,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.state.is_empty() {
            f.write_str(&self.text)
        } else {
            write!(f, "{} (SQLSTATE {})", self.text, self.state)
        }
    }
}

impl StdError for Cause {}

impl Failure {
    /// One that happened before anything was sent.
    pub(crate) fn connecting(error: &sqlx::Error) -> Self {
        let transient = match error {
            sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => true,
            // Starting up or shutting down, too many connections, or lost in the handshake.
            sqlx::Error::Database(error) => state_of(error.as_ref()).is_some_and(|state| {
                ["57", "53", "08"]
                    .iter()
                    .any(|class| state.starts_with(class))
            }),
            _ => false,
        };
        Self {
            cause: cause(error),
            certainty: Certainty::NotDone,
            transient,
            lost: true,
        }
    }

    /// One of a statement that was sent, or may have been.
    pub(crate) fn executing(error: &sqlx::Error) -> Self {
        let state = match error {
            sqlx::Error::Database(error) => state_of(error.as_ref()).unwrap_or_default(),
            _ => "",
        };
        // The server ended the connection: what it was at may be done.
        let lost = match error {
            sqlx::Error::Database(error) => {
                matches!(state, "57P01" | "57P02" | "57P03" | "57P04" | "57P05")
                    || state.starts_with("08")
                    || is_fatal(error.as_ref())
            }
            sqlx::Error::Encode(_) | sqlx::Error::Decode(_) | sqlx::Error::ColumnDecode { .. } => {
                false
            }
            _ => true,
        };
        let rolled_back =
            matches!(state, "40001" | "40P01" | "55P03" | "57014") || state.starts_with("53");
        Self {
            cause: cause(error),
            certainty: if lost {
                Certainty::Unknown
            } else {
                Certainty::NotDone
            },
            transient: lost || rolled_back,
            lost,
        }
    }

    /// One where the server did not answer in time.
    pub(crate) fn silent(waited: Duration) -> Self {
        Self::local(
            format!("the server did not answer within {} ms", waited.as_millis()),
            Certainty::Unknown,
        )
    }

    /// One where no connection was to be had.
    pub(crate) fn busy(text: String) -> Self {
        let mut failure = Self::local(text, Certainty::NotDone);
        failure.transient = true;
        failure
    }

    /// One that the server had no part in.
    pub(crate) fn local(text: impl Into<String>, certainty: Certainty) -> Self {
        Self {
            cause: Cause {
                state: String::new(),
                constraint: String::new(),
                text: text.into(),
            },
            certainty,
            transient: certainty == Certainty::Unknown,
            lost: true,
        }
    }

    pub(crate) fn state(&self) -> &str {
        &self.cause.state
    }

    /// The unique constraint that was violated, if that is what happened.
    pub(crate) fn violated(&self) -> Option<&str> {
        (self.cause.state == "23505").then_some(self.cause.constraint.as_str())
    }

    /// Whether the server undid it for the sake of another, so that it is at once worth another try.
    pub(crate) fn gave_way(&self) -> bool {
        matches!(self.state(), "40001" | "40P01")
    }

    /// The error that a caller gets.
    pub(crate) fn into_error(self, doing: Doing<'_>) -> Error {
        let (kind, hint) = match (self.state(), self.certainty) {
            ("54000", _) => (
                ErrorKind::InvalidInput,
                ": an id or a key is too long for an index",
            ),
            (_, Certainty::Unknown) => (ErrorKind::OutcomeUnknown, ""),
            _ => (ErrorKind::StoreFailed, ""),
        };
        Error::new(kind, format!("{doing} failed{hint}: {}", self.cause))
            .retryable(self.transient)
            .with_source(self.cause)
    }

    /// The error of a call that changes nothing: there is no outcome to be uncertain of.
    pub(crate) fn into_read_error(mut self, doing: Doing<'_>) -> Error {
        self.certainty = Certainty::NotDone;
        self.into_error(doing)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

fn state_of(error: &dyn sqlx::error::DatabaseError) -> Option<&str> {
    let error = error.try_downcast_ref::<PgDatabaseError>()?;
    Some(error.code())
}

/// Whether the server ends the connection with this error, as where a transaction was idle for too long.
fn is_fatal(error: &dyn sqlx::error::DatabaseError) -> bool {
    let error = error.try_downcast_ref::<PgDatabaseError>();
    error.is_some_and(|error| matches!(error.severity(), PgSeverity::Fatal | PgSeverity::Panic))
}

fn cause(error: &sqlx::Error) -> Cause {
    let mut cause = Cause {
        state: String::new(),
        constraint: String::new(),
        text: String::new(),
    };
    match error {
        sqlx::Error::Database(error) => {
            if let Some(error) = error.try_downcast_ref::<PgDatabaseError>() {
                cause.state = error.code().to_owned();
                cause.constraint = error.constraint().unwrap_or_default().to_owned();
                // What is wrong with a value quotes it; the rest names parts of the schema.
                cause.text = if cause.state.starts_with("22") {
                    "a value is not acceptable".to_owned()
                } else {
                    error.message().to_owned()
                };
            } else {
                cause.text = "the database refused".to_owned();
            }
        }
        sqlx::Error::Io(error) => cause.text = format!("the connection was lost: {error}"),
        sqlx::Error::Tls(error) => cause.text = format!("no TLS with the server: {error}"),
        sqlx::Error::Protocol(_) => {
            cause.text = "the connection was lost: the server broke the protocol".to_owned();
        }
        sqlx::Error::Encode(_) => cause.text = "a value cannot be sent".to_owned(),
        sqlx::Error::Decode(_)
        | sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => {
            cause.text = "a row is not of the form that was asked for".to_owned();
        }
        _ => cause.text = "the connection failed".to_owned(),
    }
    cause
}
