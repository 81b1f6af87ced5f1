//! The names of all hook points (RFC §9.2): 77 of the specification and those of other crates.

use std::fmt;

macro_rules! triggers {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)+) => {
        /// Names a hook point in logs, configuration and framework events.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum HookTrigger {
            $($(#[$doc])* $variant,)+
            /// A point of another crate or of the application.
            Custom(&'static str),
        }

        impl HookTrigger {
            /// Every trigger of the specification, in its order.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in snake_case, such as `before_broadcast`.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Custom(name) => name,
                }
            }
        }
    };
}

triggers! {
    /// Before an event is stored and delivered; may block or change it.
    BeforeBroadcast = "before_broadcast",
    /// After every lane of an event is done with it.
    AfterBroadcast = "after_broadcast",
    /// A stored event has a new version.
    OnEventUpdated = "on_event_updated",
    /// A stored event was deleted.
    OnEventDeleted = "on_event_deleted",
    /// A channel was attached to a room.
    OnChannelAttached = "on_channel_attached",
    /// A channel was detached from a room.
    OnChannelDetached = "on_channel_detached",
    /// A channel was muted.
    OnChannelMuted = "on_channel_muted",
    /// A channel was unmuted.
    OnChannelUnmuted = "on_channel_unmuted",
    /// A room was created.
    OnRoomCreated = "on_room_created",
    /// A room was paused.
    OnRoomPaused = "on_room_paused",
    /// A room was closed.
    OnRoomClosed = "on_room_closed",
    /// Several identities match a sender.
    OnIdentityAmbiguous = "on_identity_ambiguous",
    /// No identity matches a sender.
    OnIdentityUnknown = "on_identity_unknown",
    /// The application has said who a participant is.
    OnParticipantIdentified = "on_participant_identified",
    /// A member was added.
    OnParticipantJoined = "on_participant_joined",
    /// A member was removed or banned.
    OnParticipantLeft = "on_participant_left",
    /// A member was renamed, has another role, or is no longer banned; the code says which.
    OnParticipantUpdated = "on_participant_updated",
    /// A task was stored.
    OnTaskCreated = "on_task_created",
    /// A provider reported what became of a message.
    OnDeliveryStatus = "on_delivery_status",
    /// A proactive delivery is about to start.
    BeforeDeliver = "before_deliver",
    /// A proactive delivery has ended.
    AfterDeliver = "after_deliver",
    /// Something failed while an event was processed.
    OnError = "on_error",
    /// Somebody began to speak.
    OnSpeechStart = "on_speech_start",
    /// Somebody stopped speaking.
    OnSpeechEnd = "on_speech_end",
    /// Speech was transcribed; may block or change the text.
    OnTranscription = "on_transcription",
    /// Text is about to be spoken; may block or change it.
    BeforeTts = "before_tts",
    /// Text was spoken.
    AfterTts = "after_tts",
    /// Somebody spoke over the voice.
    OnBargeIn = "on_barge_in",
    /// The voice was cut off.
    OnTtsCancelled = "on_tts_cancelled",
    /// An interim transcription arrived.
    OnPartialTranscription = "on_partial_transcription",
    /// Silence was detected.
    OnVadSilence = "on_vad_silence",
    /// The detector of speech reported a level.
    OnVadAudioLevel = "on_vad_audio_level",
    /// The level of incoming audio.
    OnInputAudioLevel = "on_input_audio_level",
    /// The level of outgoing audio.
    OnOutputAudioLevel = "on_output_audio_level",
    /// Another speaker was detected.
    OnSpeakerChange = "on_speaker_change",
    /// A session began on a channel.
    OnSessionStarted = "on_session_started",
    /// A telephone key was pressed.
    OnDtmf = "on_dtmf",
    /// A speaker has finished their turn.
    OnTurnComplete = "on_turn_complete",
    /// A speaker has paused within their turn.
    OnTurnIncomplete = "on_turn_incomplete",
    /// A listener gave a sign of attention.
    OnBackchannel = "on_backchannel",
    /// A recording began.
    OnRecordingStarted = "on_recording_started",
    /// A recording ended.
    OnRecordingStopped = "on_recording_stopped",
    /// A tool is about to run; may deny it.
    BeforeToolUse = "before_tool_use",
    /// A tool was called; may supply or replace its result.
    OnToolCall = "on_tool_call",
    /// Text was given to a realtime session.
    OnRealtimeTextInjected = "on_realtime_text_injected",
    /// A tool waits for a human; may reject the request.
    OnUserInputRequired = "on_user_input_required",
    /// Audio is about to cross a bridge; may block or change it.
    BeforeBridgeAudio = "before_bridge_audio",
    /// A model's context is about to be built; may block cheaply.
    BeforeAiContextBuild = "before_ai_context_build",
    /// A model is about to be called; may block or change the request.
    BeforeAiGeneration = "before_ai_generation",
    /// A model began to reason.
    OnAiThinking = "on_ai_thinking",
    /// An agent finished a turn.
    OnAiResponse = "on_ai_response",
    /// A channel reported an exchange of its protocol.
    OnProtocolTrace = "on_protocol_trace",
    /// A conversation entered another phase.
    OnPhaseTransition = "on_phase_transition",
    /// One agent handed over to another.
    OnHandoff = "on_handoff",
    /// A handover was refused.
    OnHandoffRejected = "on_handoff_rejected",
    /// A task was given to a background agent.
    OnTaskDelegated = "on_task_delegated",
    /// A delegated task has ended.
    OnTaskCompleted = "on_task_completed",
    /// An agent posted its status.
    OnStatusPosted = "on_status_posted",
    /// Video is about to cross a bridge; may block or change it.
    BeforeBridgeVideo = "before_bridge_video",
    /// A video session began.
    OnVideoSessionStarted = "on_video_session_started",
    /// A video session ended.
    OnVideoSessionEnded = "on_video_session_ended",
    /// Reserved by the specification.
    OnVideoTrackAdded = "on_video_track_added",
    /// Reserved by the specification.
    OnVideoTrackRemoved = "on_video_track_removed",
    /// A picture was described; may block or change the description.
    OnVisionResult = "on_vision_result",
    /// A screen is being shared.
    OnScreenShareStarted = "on_screen_share_started",
    /// A screen is no longer shared.
    OnScreenShareStopped = "on_screen_share_stopped",
    /// Something was detected in video.
    OnVideoDetection = "on_video_detection",
    /// Somebody joined a conference.
    OnConferenceParticipantJoined = "on_conference_participant_joined",
    /// Somebody left a conference.
    OnConferenceParticipantLeft = "on_conference_participant_left",
    /// A track was published.
    OnConferenceTrackPublished = "on_conference_track_published",
    /// A track was withdrawn.
    OnConferenceTrackUnpublished = "on_conference_track_unpublished",
    /// A track was muted by its publisher.
    OnConferenceTrackMuted = "on_conference_track_muted",
    /// A track was unmuted by its publisher.
    OnConferenceTrackUnmuted = "on_conference_track_unmuted",
    /// Another participant is the loudest.
    OnActiveSpeakerChanged = "on_active_speaker_changed",
    /// A participant's connection changed.
    OnConnectionQualityChanged = "on_connection_quality_changed",
    /// An agent's plan changed.
    OnPlanUpdated = "on_plan_updated",
    /// Somebody rated an answer.
    OnFeedback = "on_feedback",
}

impl HookTrigger {
    /// Whether it fires many times a second, so that a span for each would say nothing (RFC §9.2).
    pub(crate) fn is_high_frequency(self) -> bool {
        matches!(
            self,
            Self::OnVadAudioLevel | Self::OnInputAudioLevel | Self::OnOutputAudioLevel
        )
    }

    /// The trigger of the specification with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|trigger| trigger.as_str() == name)
    }
}

impl fmt::Display for HookTrigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
