//! The hook points whose payloads are the core's own. Families of channels add theirs.

use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::{FailurePolicy, HookPoint, HookResult, HookTrigger};
use crate::draft::EventDraft;
use crate::model::{
    ChannelId, ChannelType, DeliveryStatus, EventSource, Observation, ParticipantId, ProtocolTrace,
    RoomEvent, RoomId,
};

/// Before an event is stored and delivered: hooks may block it, change it or add events.
///
/// They see every inbound, injected and answered event, in the order of the pass. A hook that
/// fails lets the event through (RFC §9.3) unless the kit's builder says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeBroadcast;

impl HookPoint for BeforeBroadcast {
    type Payload = EventDraft;
    type Returns = HookResult<EventDraft>;
    const TRIGGER: HookTrigger = HookTrigger::BeforeBroadcast;

    fn source(draft: &EventDraft) -> Option<&EventSource> {
        Some(&draft.source)
    }
}

/// Before a text is spoken. A hook that fails blocks the text (RFC §9.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BeforeTts;

impl HookPoint for BeforeTts {
    type Payload = String;
    type Returns = HookResult<String>;
    const TRIGGER: HookTrigger = HookTrigger::BeforeTts;
    const FAILURE: FailurePolicy = FailurePolicy::Block;
}

macro_rules! observer_points {
    ($($(#[$doc:meta])* $point:ident($payload:ty $(, $source:expr)?);)+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $point;

        impl HookPoint for $point {
            type Payload = $payload;
            type Returns = ();
            const TRIGGER: HookTrigger = HookTrigger::$point;

            $(fn source(payload: &Self::Payload) -> Option<&EventSource> {
                let source: fn(&Self::Payload) -> Option<&EventSource> = $source;
                source(payload)
            })?
        }
    )+};
}

fn source_of(event: &Arc<RoomEvent>) -> Option<&EventSource> {
    Some(&event.source)
}

/// A session began on a channel (RFC §9.2).
#[derive(Debug, Clone, PartialEq)]
pub struct SessionStarted {
    /// The room it belongs to.
    pub room_id: RoomId,
    /// The channel it began on.
    pub channel_id: ChannelId,
    /// That channel's type.
    pub channel_type: ChannelType,
    /// Whose session it is.
    pub participant_id: ParticipantId,
    /// When it began.
    pub timestamp: DateTime<Utc>,
    /// Its id, on channels with sessions of their own, such as calls; a room of text has none.
    pub session_id: Option<String>,
}

observer_points! {
    /// After every lane of an event is done with it.
    AfterBroadcast(Arc<RoomEvent>, source_of);
    /// A stored event has a new version.
    OnEventUpdated(Arc<RoomEvent>, source_of);
    /// A stored event was deleted.
    OnEventDeleted(Arc<RoomEvent>, source_of);
    /// A channel was attached to a room.
    OnChannelAttached(Arc<RoomEvent>, source_of);
    /// A channel was detached from a room.
    OnChannelDetached(Arc<RoomEvent>, source_of);
    /// A channel was muted.
    OnChannelMuted(Arc<RoomEvent>, source_of);
    /// A channel was unmuted.
    OnChannelUnmuted(Arc<RoomEvent>, source_of);
    /// A room was created.
    OnRoomCreated(Arc<RoomEvent>, source_of);
    /// A room was paused.
    OnRoomPaused(Arc<RoomEvent>, source_of);
    /// A room was closed.
    OnRoomClosed(Arc<RoomEvent>, source_of);
    /// It became known who a participant is: the application has said so, which is an event of the
    /// timeline; or resolution found it out with a message, which is none (RFC §9.2). The data of the latter
    /// says under `replaces` which record made way, where the person spoke before under their address
    /// alone. That a sender was resolved is told of each message, by the framework event
    /// `identity_resolved`.
    OnParticipantIdentified(Arc<RoomEvent>, source_of);
    /// A member was added.
    OnParticipantJoined(Arc<RoomEvent>, source_of);
    /// A member was removed or banned.
    OnParticipantLeft(Arc<RoomEvent>, source_of);
    /// A member was renamed, has another role, or is no longer banned; the code says which.
    OnParticipantUpdated(Arc<RoomEvent>, source_of);
    /// A proactive delivery is about to start.
    BeforeDeliver(Arc<RoomEvent>, source_of);
    /// A proactive delivery has ended.
    AfterDeliver(Arc<RoomEvent>, source_of);
    /// A task was stored.
    OnTaskCreated(Arc<RoomEvent>, source_of);
    /// Something failed while an event was processed: an agent did not answer it, or its answer could
    /// not be stored.
    OnError(Arc<RoomEvent>, source_of);
    /// Text was given to a realtime session.
    OnRealtimeTextInjected(Arc<RoomEvent>, source_of);
    /// One agent handed over to another.
    OnHandoff(Arc<RoomEvent>, source_of);
    /// A handover was refused.
    OnHandoffRejected(Arc<RoomEvent>, source_of);
    /// A conversation entered another phase.
    OnPhaseTransition(Arc<RoomEvent>, source_of);
    /// A task was given to a background agent.
    OnTaskDelegated(Arc<RoomEvent>, source_of);
    /// A delegated task has ended.
    OnTaskCompleted(Arc<RoomEvent>, source_of);
    /// A screen is being shared.
    OnScreenShareStarted(Arc<RoomEvent>, source_of);
    /// A screen is no longer shared.
    OnScreenShareStopped(Arc<RoomEvent>, source_of);
    /// Somebody joined a conference.
    OnConferenceParticipantJoined(Arc<RoomEvent>, source_of);
    /// Somebody left a conference.
    OnConferenceParticipantLeft(Arc<RoomEvent>, source_of);
    /// A track was published.
    OnConferenceTrackPublished(Arc<RoomEvent>, source_of);
    /// A track was withdrawn.
    OnConferenceTrackUnpublished(Arc<RoomEvent>, source_of);
    /// A track was muted by its publisher.
    OnConferenceTrackMuted(Arc<RoomEvent>, source_of);
    /// A track was unmuted by its publisher.
    OnConferenceTrackUnmuted(Arc<RoomEvent>, source_of);
    /// Another participant is the loudest.
    OnActiveSpeakerChanged(Arc<RoomEvent>, source_of);
    /// A participant's connection changed.
    OnConnectionQualityChanged(Arc<RoomEvent>, source_of);
    /// A provider reported what became of a message.
    OnDeliveryStatus(DeliveryStatus);
    /// A channel reported an exchange of its protocol.
    OnProtocolTrace(ProtocolTrace);
    /// Somebody rated an answer.
    OnFeedback(Observation);
    /// A session began on a channel.
    OnSessionStarted(SessionStarted);
    /// Text was spoken.
    AfterTts(String);
}
