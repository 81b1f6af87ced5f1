//! The one error type of the core: what went wrong, where, and whether trying again can help.

use std::error::Error as StdError;
use std::fmt;

use crate::model::{UnknownValue, ValidationError};
use crate::pipeline::Refusal;
use crate::turns::TurnError;

/// A `Result` whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is; each has a stable snake_case [code](ErrorKind::code).
///
/// This list and that of [`Refusal`] are the only places where RoomKit's own codes are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// `room_not_found`: no such room, or it belongs to another organisation.
    RoomNotFound,
    /// `room_already_exists`: a room with this id is there already.
    RoomAlreadyExists,
    /// `room_closed`: the room's status refuses new events (RFC §5.1).
    RoomClosed,
    /// `room_not_attached`: a channel acted on a room that it is no longer attached to.
    RoomNotAttached,
    /// `channel_not_found`: the channel is not attached to the room.
    ChannelNotFound,
    /// `channel_not_registered`: the kit knows no channel with this id.
    ChannelNotRegistered,
    /// `channel_already_registered`: another channel has this id.
    ChannelAlreadyRegistered,
    /// `participant_not_found`: the room has no such participant.
    ParticipantNotFound,
    /// `participant_not_admitted`: the participant is barred from what was asked for them.
    ParticipantNotAdmitted,
    /// `identity_not_found`: no such identity in this organisation.
    IdentityNotFound,
    /// `event_not_found`: the room has no such event.
    EventNotFound,
    /// `source_already_attached`: the channel has an event source already.
    SourceAlreadyAttached,
    /// `source_not_found`: the channel has no event source.
    SourceNotFound,
    /// `source_failed`: a source of messages lost its connection, or could not make it.
    SourceFailed,
    /// `stale_webhook`: the time that a provider signed is too far from the clock.
    StaleWebhook,
    /// `invalid_input`: a value is not acceptable; the message names the field.
    InvalidInput,
    /// `version_conflict`: the room changed between reading and committing.
    VersionConflict,
    /// `stale_fencing_token`: the lock under which a commit was prepared is no longer held.
    StaleFencingToken,
    /// `lock_timeout`: the room's lock was not had in time.
    LockTimeout,
    /// `inside_room_lock`: the call would wait for what its caller holds: the lock of the room, or
    /// the turn of a sender whose messages name no room.
    InsideRoomLock,
    /// `store_failed`: the store could not do what was asked; nothing of it was stored.
    StoreFailed,
    /// `outcome_unknown`: the store did not say what became of a write, which may be done or may still
    /// come to be. A repeat with the same idempotency key is stored once either way.
    OutcomeUnknown,
    /// `channel_failed`: a channel failed while handling a message or an event.
    ChannelFailed,
    /// `provider_failed`: the service behind a channel, or the realtime backend, failed.
    ProviderFailed,
    /// `kit_closed`: the kit is closing or closed and takes nothing new.
    KitClosed,
    /// The event was refused and nothing was stored; the code is the refusal's own.
    Refused(Refusal),
    /// A kind of another crate; the text is its code.
    Custom(&'static str),
}

impl ErrorKind {
    /// The stable code, such as `room_not_found`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::RoomNotFound => "room_not_found",
            Self::RoomAlreadyExists => "room_already_exists",
            Self::RoomClosed => "room_closed",
            Self::RoomNotAttached => "room_not_attached",
            Self::ChannelNotFound => "channel_not_found",
            Self::ChannelNotRegistered => "channel_not_registered",
            Self::ChannelAlreadyRegistered => "channel_already_registered",
            Self::ParticipantNotFound => "participant_not_found",
            Self::ParticipantNotAdmitted => "participant_not_admitted",
            Self::IdentityNotFound => "identity_not_found",
            Self::EventNotFound => "event_not_found",
            Self::SourceAlreadyAttached => "source_already_attached",
            Self::SourceNotFound => "source_not_found",
            Self::SourceFailed => "source_failed",
            Self::StaleWebhook => "stale_webhook",
            Self::InvalidInput => "invalid_input",
            Self::VersionConflict => "version_conflict",
            Self::StaleFencingToken => "stale_fencing_token",
            Self::LockTimeout => "lock_timeout",
            Self::InsideRoomLock => "inside_room_lock",
            Self::StoreFailed => "store_failed",
            Self::OutcomeUnknown => "outcome_unknown",
            Self::ChannelFailed => "channel_failed",
            Self::ProviderFailed => "provider_failed",
            Self::KitClosed => "kit_closed",
            Self::Refused(refusal) => refusal.code(),
            Self::Custom(code) => code,
        }
    }

    /// Whether a failure of this kind usually passes when the call is made again.
    fn usually_passes(self) -> bool {
        matches!(self, Self::VersionConflict | Self::LockTimeout)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A failure of the core or of a part plugged into it.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    retryable: bool,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

impl Error {
    /// An error of `kind`; `message` says what was being done and to what, never message text.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            retryable: kind.usually_passes(),
            source: None,
        }))
    }

    /// Names the error that caused this one.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Says whether the same call may succeed later.
    #[must_use]
    pub fn retryable(mut self, retryable: bool) -> Self {
        self.0.retryable = retryable;
        self
    }

    /// What kind of failure this is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The stable snake_case code of the kind.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.0.kind.code()
    }

    /// What was being done, without the code and without the cause.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the same call may succeed later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.0.retryable
    }

    /// A failure of a channel itself; `message` says what it was doing, without message text.
    pub fn channel(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ChannelFailed, message)
    }

    /// A failure of a source of messages; `message` says what it was doing, without message text and
    /// without secrets.
    pub fn source(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::SourceFailed, message)
    }

    /// A part that was plugged in panicked where the call could not go on without it.
    pub(crate) fn panicked() -> Self {
        Self::new(ErrorKind::StoreFailed, "a part of the kit panicked")
    }

    /// There is no room with this id.
    pub fn room_not_found(room: &impl fmt::Display) -> Self {
        Self::new(ErrorKind::RoomNotFound, format!("no room {room}"))
    }

    /// The id of a room that was to be made is in use.
    pub fn room_already_exists(room: &impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::RoomAlreadyExists,
            format!("room {room} is there already"),
        )
    }

    pub(crate) fn room_closed(room: &impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::RoomClosed,
            format!("room {room} takes no new events"),
        )
    }

    pub(crate) fn not_admitted(room: &impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::ParticipantNotAdmitted,
            format!("the participant is banned from room {room}"),
        )
    }

    pub(crate) fn not_attached(channel: &impl fmt::Display, room: &impl fmt::Display) -> Self {
        Self::new(
            ErrorKind::ChannelNotFound,
            format!("channel {channel} is not attached to room {room}"),
        )
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("code", &self.code())
            .field("message", &self.0.message)
            .field("retryable", &self.0.retryable)
            .field("source", &self.0.source)
            .finish()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.kind, self.0.message)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0
            .source
            .as_deref()
            .map(|source| source as &(dyn StdError + 'static))
    }
}

impl From<UnknownValue> for Error {
    fn from(unknown: UnknownValue) -> Self {
        Self::new(ErrorKind::InvalidInput, unknown.to_string())
    }
}

impl From<TurnError> for Error {
    fn from(invalid: TurnError) -> Self {
        Self::new(ErrorKind::InvalidInput, invalid.to_string())
    }
}

impl From<ValidationError> for Error {
    fn from(invalid: ValidationError) -> Self {
        Self::new(ErrorKind::InvalidInput, invalid.to_string())
    }
}
