//! Where a call comes from: the room, who asked, and how to tell that it is no longer wanted.

use std::sync::Arc;

use roomkit_core::model::{
    ChannelId, IdentificationStatus, IdentityId, Participant, ParticipantId, ParticipantRole,
    RoomId,
};
use roomkit_core::{RoomKit, WeakKit};

use super::Cancellation;

/// What a tool is told of the call besides its arguments. Cloning it is cheap.
///
/// One agent serves many rooms and many people: read here who asks, rather than keep it in the tool.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ToolContext {
    /// The id of the call, as its result will name it.
    pub call_id: Arc<str>,
    /// The room that is answered in; `None` outside of rooms.
    pub room_id: Option<RoomId>,
    /// The agent's channel.
    pub channel_id: Option<ChannelId>,
    /// Whose message is answered; `None` where nobody in the room wrote it. It may be another agent.
    /// This names them as the channel did, and proves nothing.
    pub participant_id: Option<ParticipantId>,
    /// Their role in the room, where they have a record there.
    pub role: Option<ParticipantRole>,
    /// Who they are, once that is known for certain: the one to decide on whose data may be read.
    pub identity_id: Option<IdentityId>,
    /// Set when the call is no longer wanted: its turn was cancelled, it took too long, or it is done.
    pub cancellation: Cancellation,
    kit: Option<WeakKit>,
}

impl ToolContext {
    /// A call outside of any room.
    pub fn new(call_id: impl Into<Arc<str>>) -> Self {
        Self {
            call_id: call_id.into(),
            room_id: None,
            channel_id: None,
            participant_id: None,
            role: None,
            identity_id: None,
            cancellation: Cancellation::new(),
            kit: None,
        }
    }

    /// Sets the room and the agent's channel in it.
    #[must_use]
    pub fn with_room(mut self, room: impl Into<RoomId>, channel: impl Into<ChannelId>) -> Self {
        self.room_id = Some(room.into());
        self.channel_id = Some(channel.into());
        self
    }

    /// Sets who asks, from their record in the room.
    #[must_use]
    pub fn with_participant(mut self, participant: &Participant) -> Self {
        self.participant_id = Some(participant.id.clone());
        self.role = Some(participant.role);
        self.identity_id = (participant.identification == IdentificationStatus::Identified)
            .then(|| participant.identity_id.clone())
            .flatten();
        self
    }

    /// Sets who asks, where the room has no record of them.
    #[must_use]
    pub fn with_participant_id(mut self, participant: impl Into<ParticipantId>) -> Self {
        self.participant_id = Some(participant.into());
        self
    }

    /// Sets what says that the call is no longer wanted.
    #[must_use]
    pub fn with_cancellation(mut self, cancellation: Cancellation) -> Self {
        self.cancellation = cancellation;
        self
    }

    /// Lets the tool act in rooms.
    #[must_use]
    pub fn with_kit(mut self, kit: WeakKit) -> Self {
        self.kit = Some(kit);
        self
    }

    /// The same for another call of the same turn: its flag is set with this one's, not the other way.
    #[must_use]
    pub fn for_call(&self, call_id: impl Into<Arc<str>>) -> Self {
        Self {
            call_id: call_id.into(),
            cancellation: self.cancellation.child(),
            ..self.clone()
        }
    }

    /// The kit, while it is there. What keeps it keeps its rooms.
    #[must_use]
    pub fn kit(&self) -> Option<RoomKit> {
        self.kit.as_ref()?.upgrade()
    }
}
