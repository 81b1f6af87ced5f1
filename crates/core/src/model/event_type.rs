//! What kind of event an event is.

use super::string_enum::string_enum;

string_enum! {
    /// The kind of a room event (RFC §5.2).
    #[derive(Default)]
    pub enum EventType: "event type" {
        /// A message of text, media or rich content. The default.
        #[default]
        Message = "message",
        /// A notice made by the framework.
        System = "system",
        /// Someone is typing.
        Typing = "typing",
        /// Someone has read up to an index.
        ReadReceipt = "read_receipt",
        /// A provider confirms a delivery.
        DeliveryReceipt = "delivery_receipt",
        /// Someone went online, offline or away.
        Presence = "presence",
        /// A reaction to another event.
        Reaction = "reaction",
        /// A new version of an earlier message.
        Edit = "edit",
        /// The deletion of an earlier message.
        Delete = "delete",
        /// A participant entered the room.
        ParticipantJoined = "participant_joined",
        /// A participant left the room.
        ParticipantLeft = "participant_left",
        /// It is now known who a participant is.
        ParticipantIdentified = "participant_identified",
        /// A participant has another name or role, or is no longer banned.
        ParticipantUpdated = "participant_updated",
        /// A channel was attached to the room.
        ChannelAttached = "channel_attached",
        /// A channel was detached from the room.
        ChannelDetached = "channel_detached",
        /// A channel was muted.
        ChannelMuted = "channel_muted",
        /// A channel was unmuted.
        ChannelUnmuted = "channel_unmuted",
        /// A channel's access or visibility was changed.
        ChannelUpdated = "channel_updated",
        /// A task was created.
        TaskCreated = "task_created",
        /// A task was handed to another room or agent.
        TaskDelegated = "task_delegated",
        /// A task was finished.
        TaskCompleted = "task_completed",
        /// An observation was recorded.
        Observation = "observation",
        /// An agent began to call a tool.
        ToolCallStart = "tool_call_start",
        /// A tool call is over.
        ToolCallEnd = "tool_call_end",
        /// A key was pressed on a phone.
        Dtmf = "dtmf",
        /// A recording began.
        RecordingStarted = "recording_started",
        /// A recording is over.
        RecordingStopped = "recording_stopped",
    }
}
