//! Why the pipeline does not let an event through: its own stable codes.

use std::fmt;

/// A refusal by the pipeline itself; a hook's block carries the hook's own reason instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// `room_closed`: the room's status refuses new events (RFC §5.1). Nothing is stored.
    RoomClosed,
    /// `target_event_not_found`: an edit or delete of an event that is not there, or is deleted.
    /// Nothing is stored.
    TargetEventNotFound,
    /// `not_original_author`: only its author may edit or delete an event. Nothing is stored.
    NotOriginalAuthor,
    /// `not_authorized`: the authority that an edit or delete claims is not had. Nothing is stored.
    NotAuthorized,
    /// `identity_required_for_edit`: nobody in particular wants to edit. Nothing is stored.
    IdentityRequiredForEdit,
    /// `identity_required_for_delete`: nobody in particular wants to delete. Nothing is stored.
    IdentityRequiredForDelete,
    /// `participant_not_admitted`: the sender is banned from the room (RFC §5.5). Nothing is stored.
    ParticipantNotAdmitted,
    /// `event_chain_depth_limit`: agents have answered agents often enough (RFC §8.3). Stored.
    EventChainDepthLimit,
    /// `source_muted`: the channel is muted, or its output is (RFC §7.2). Stored.
    SourceMuted,
    /// `source_read_only`: the channel may not write here (RFC §7.1). Stored.
    SourceReadOnly,
    /// `source_unbound`: the channel is not attached to the room. Stored.
    SourceUnbound,
    /// `process_timeout`: the event was not ready to commit in time (RFC §13.6). Nothing is stored.
    ProcessTimeout,
    /// `rate_limited`: too many messages came in (RFC §13.3). Nothing is stored.
    RateLimited,
    /// `identity_rejected`: the sender was turned down (RFC §11.2). Nothing is stored.
    IdentityRejected,
    /// `trigger_moved`: the message that an agent was to answer again is no longer the one that would be
    /// answered: it was deleted, or a newer one came. Nothing is stored and nobody asked.
    TriggerMoved,
    /// `identity_challenge_sent`: the sender was asked who they are (RFC §11.2). The message is not
    /// stored; that they were asked is.
    IdentityChallengeSent,
}

impl Refusal {
    /// The stable code, such as `room_closed`.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::RoomClosed => "room_closed",
            Self::TargetEventNotFound => "target_event_not_found",
            Self::NotOriginalAuthor => "not_original_author",
            Self::NotAuthorized => "not_authorized",
            Self::IdentityRequiredForEdit => "identity_required_for_edit",
            Self::IdentityRequiredForDelete => "identity_required_for_delete",
            Self::ParticipantNotAdmitted => "participant_not_admitted",
            Self::EventChainDepthLimit => "event_chain_depth_limit",
            Self::SourceMuted => "source_muted",
            Self::SourceReadOnly => "source_read_only",
            Self::SourceUnbound => "source_unbound",
            Self::ProcessTimeout => "process_timeout",
            Self::RateLimited => "rate_limited",
            Self::IdentityRejected => "identity_rejected",
            Self::TriggerMoved => "trigger_moved",
            Self::IdentityChallengeSent => "identity_challenge_sent",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
