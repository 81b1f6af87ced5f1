//! What most applications use, for `use roomkit::prelude::*;`.
//!
//! Everything else stands under the modules of the crate, such as [`store`](crate::store).

pub use roomkit_core::hook::*;
pub use roomkit_core::model::{
    Access, AgentResponsePolicy, AudioContent, ChannelBinding, ChannelCapabilities,
    ChannelCategory, ChannelDirection, ChannelId, ChannelMediaType, ChannelType, CompositeContent,
    DeleteContent, DeleteType, DeliveryError, DeliveryOutcome, DeliveryResult, EditContent,
    EphemeralEvent, EphemeralEventType, EventContent, EventFilter, EventId, EventSource,
    EventStatus, EventType, FrameworkEvent, FrameworkEventType, Identity, IdentityId,
    IdentityResult, InboundMessage, InboundResult, LocationContent, MediaContent, Metadata,
    Observation, OrganizationId, Participant, ParticipantId, ParticipantRole, ParticipantStatus,
    RateLimit, RetryPolicy, RichContent, RichFormat, Room, RoomEvent, RoomId, RoomStatus,
    RoomTimers, SystemContent, Task, TaskStatus, TemplateContent, TextContent, ToolCallContent,
    VideoContent, Visibility,
};
pub use roomkit_core::{
    Channel, ChannelOutput, DeliveryHandle, Error, ErrorKind, EventDraft, History, Reply, Result,
    RoomContext, RoomKit, RoomKitBuilder, RoomOptions, Rooms, WeakKit, async_trait,
};

#[cfg(feature = "ai")]
pub use roomkit_ai::{
    Agent, AiChannel, AiProvider, BeforeAiContextBuild, BeforeAiGeneration, BeforeToolUse,
    OnAiResponse, OnAiThinking, OnPlanUpdated, OnToolCall, OnUserInputRequired, Steering, Tool,
    ToolContext, ToolError, ToolSet, tool,
};
#[cfg(feature = "websocket")]
pub use roomkit_websocket::WebSocketChannel;
