//! What the framework tells those who watch over it.

use std::convert::Infallible;
use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::from_text::from_text;
use super::ids::{ChannelId, EventId, RoomId};
use super::metadata::Metadata;
use super::string_enum::open_string_enum;
use super::time;

/// A notice about the framework's own working; it is in no room's timeline (RFC §8.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrameworkEvent {
    /// What happened.
    #[serde(rename = "type")]
    pub event_type: FrameworkEventType,
    /// The room it happened in.
    #[serde(default)]
    pub room_id: Option<RoomId>,
    /// The channel it is about.
    #[serde(default)]
    pub channel_id: Option<ChannelId>,
    /// The room event it is about.
    #[serde(default)]
    pub event_id: Option<EventId>,
    /// When it happened.
    #[serde(with = "time")]
    pub timestamp: DateTime<Utc>,
    /// What else there is to say, depending on the type.
    #[serde(default)]
    pub data: Metadata,
}

impl FrameworkEvent {
    /// Makes an event about nothing in particular and without data.
    pub fn new(event_type: FrameworkEventType, timestamp: DateTime<Utc>) -> Self {
        Self {
            event_type,
            room_id: None,
            channel_id: None,
            event_id: None,
            timestamp,
            data: Metadata::new(),
        }
    }
}

open_string_enum! {
    /// What a framework event tells (RFC §8.2).
    pub enum FrameworkEventType {
        /// A room goes round in circles with a system outside; agents are not asked for now.
        LoopDetected = "loop_detected",
        /// A room was made.
        RoomCreated = "room_created",
        /// A room became quiet and was paused, or was paused by hand. Data: `room_id`, and `reason`
        /// (`timer`) where its timers did it.
        RoomPaused = "room_paused",
        /// A room was closed. Data as of `room_paused`.
        RoomClosed = "room_closed",
        /// A room was archived.
        RoomArchived = "room_archived",
        /// A closed or archived room refused an event.
        RoomRefusedEvent = "room_refused_event",
        /// A channel was attached to a room.
        RoomChannelAttached = "room_channel_attached",
        /// A channel was detached from a room.
        RoomChannelDetached = "room_channel_detached",
        /// A channel was registered.
        ChannelRegistered = "channel_registered",
        /// A channel's registration ended.
        ChannelUnregistered = "channel_unregistered",
        /// A channel's connection came up.
        ChannelConnected = "channel_connected",
        /// A channel's connection went away.
        ChannelDisconnected = "channel_disconnected",
        /// A source was attached to a channel. Data, as of all events about sources: `source_id` and
        /// `source_name`, both its name.
        SourceAttached = "source_attached",
        /// A source was detached from its channel; `not_taken`, how many messages the inbound rate limit
        /// held back until then, where there are any.
        SourceDetached = "source_detached",
        /// A source's connection came up.
        SourceConnected = "source_connected",
        /// A source's connection went away.
        SourceDisconnected = "source_disconnected",
        /// A source failed and may be started again. Data: `error`, `attempt` (how often in a row).
        SourceError = "source_error",
        /// A source failed too often and is given up. Data: `attempts`, `last_error`.
        SourceExhausted = "source_exhausted",
        /// An inbound event and all that it caused is done.
        EventProcessed = "event_processed",
        /// An event was stopped by a hook or by a permission, and stored as blocked. Data: `reason`,
        /// `hook_name` (what stopped it).
        EventBlocked = "event_blocked",
        /// An event reached a channel.
        DeliverySucceeded = "delivery_succeeded",
        /// An event did not reach a channel in spite of every retry. Data: `error` (its
        /// code), `message`.
        DeliveryFailed = "delivery_failed",
        /// An event reached some of its channels and not others. Data: `failed`, how
        /// many.
        BroadcastPartialFailure = "broadcast_partial_failure",
        /// A provider reported something new about a message that went out. Data: `provider`,
        /// `message_id`, `status` (the provider's word), `state` where the word stands for one, and
        /// `error` (the provider's code) where it gives one.
        DeliveryStatusChanged = "delivery_status_changed",
        /// A provider reported about a message that this kit does not know. Data as of
        /// `delivery_status_changed`.
        DeliveryStatusUnknown = "delivery_status_unknown",
        /// The resolver or a hook has said who the sender of a message is. Data: `participant_id`, `identity_id`.
        IdentityResolved = "identity_resolved",
        /// Finding out who a sender is took too long; they count as unknown. Data: `address`.
        IdentityTimeout = "identity_timeout",
        /// A reply was stopped because its chain is too deep. Data: `depth`.
        ChainDepthExceeded = "chain_depth_exceeded",
        /// A deciding hook failed. Data: `hook_name`, `trigger`, `error`.
        HookError = "hook_error",
        /// A hook took too long. Data as of `hook_error`, which comes with it.
        HookTimeout = "hook_timeout",
        /// The pass of an inbound message took too long.
        ProcessTimeout = "process_timeout",
        /// A channel failed so often that it is left alone for a while. Data:
        /// `failure_count`.
        CircuitBreakerOpened = "circuit_breaker_opened",
        /// A channel works again.
        CircuitBreakerClosed = "circuit_breaker_closed",
        /// A voice session became active.
        VoiceSessionStarted = "voice_session_started",
        /// A voice session ended.
        VoiceSessionEnded = "voice_session_ended",
        /// A voice session's audio flows.
        VoiceSessionReady = "voice_session_ready",
        /// A recording began.
        RecordingStarted = "recording_started",
        /// A recording is over.
        RecordingStopped = "recording_stopped",
        /// Speech recognition failed.
        SttError = "stt_error",
        /// Speech synthesis failed.
        TtsError = "tts_error",
        /// The framework's own connection to a conference is up.
        ConferenceStarted = "conference_started",
        /// The framework left a conference.
        ConferenceEnded = "conference_ended",
        /// A participant joined a conference.
        ConferenceParticipantJoined = "conference_participant_joined",
        /// A participant left a conference.
        ConferenceParticipantLeft = "conference_participant_left",
        /// An agent posted its status.
        StatusPosted = "status_posted",
        /// A closed room was opened again.
        RoomReopened = "room_reopened",
        /// Somebody rated an answer or a conversation. Data: `dimension`, `rating` (0 to 1).
        Feedback = "feedback",
        /// A session began on a channel. Data: `channel_id`, `channel_type`, and `session_id` where the
        /// session has an id of its own.
        SessionStarted = "session_started",
        ..
        /// Anything else, by the name it is written with.
        Custom,
    }
}

impl FrameworkEventType {
    /// The word that stands for it in JSON.
    pub fn as_str(&self) -> &str {
        match self.word() {
            Ok(word) => word,
            Err(name) => name,
        }
    }
}

impl From<&str> for FrameworkEventType {
    fn from(text: &str) -> Self {
        Self::from_word(text).unwrap_or_else(|| Self::Custom(text.into()))
    }
}

impl fmt::Display for FrameworkEventType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for FrameworkEventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for FrameworkEventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expecting = "a framework event type";
        from_text(deserializer, expecting, |text| {
            Ok::<_, Infallible>(Self::from(text))
        })
    }
}
