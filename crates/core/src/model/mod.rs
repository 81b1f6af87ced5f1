//! The things RoomKit talks about: rooms, events, channels, people, and what became of messages.
//!
//! Every type reads and writes the JSON of the Python package, field for field. Fields that are
//! absent take their documented default; fields that are not known are ignored. What breaks a rule is
//! refused with an error that names the field, both when a value is read and by `validate()` where a
//! value was built. Times are written in UTC with six digits of a second's fraction, or none; what is
//! finer than a microsecond is dropped.

mod binding;
mod capabilities;
mod channel_data;
mod channel_type;
mod content;
mod delivery;
mod enums;
mod ephemeral;
mod event;
mod event_type;
mod fields;
mod filter;
mod framework_event;
mod from_text;
mod identity;
mod ids;
mod inbound;
mod metadata;
mod participant;
mod policy;
mod read;
mod receipt;
mod room;
mod source;
mod source_health;
mod string_enum;
mod thread;
mod time;
mod trace;
mod validate;
mod visibility;
mod work;

pub use self::binding::ChannelBinding;
pub use self::capabilities::ChannelCapabilities;
pub use self::channel_data::{ChannelData, ChannelDataFields};
pub use self::channel_type::ChannelType;
pub use self::content::{
    AudioContent, CompositeContent, DeleteContent, EditContent, EventContent, LocationContent,
    MAX_COMPOSITE_DEPTH, MediaContent, RichContent, SystemContent, TemplateContent, TextContent,
    ToolCallContent, VideoContent,
};
pub use self::delivery::{DeliveryError, DeliveryOutcome, DeliveryResult};
pub use self::enums::{
    Access, AgentResponsePolicy, ChannelCategory, ChannelDirection, ChannelMediaType, DeleteType,
    DeliveryMode, EventStatus, IdentificationStatus, LengthUnit, Overflow, ParticipantRole,
    ParticipantStatus, RichFormat, RoomStatus, TaskStatus, ToolCallStatus, TraceDirection,
};
pub use self::ephemeral::{EphemeralEvent, EphemeralEventType, Presence};
pub use self::event::RoomEvent;
pub(crate) use self::event::SUPERSEDED_BY;
pub use self::event_type::EventType;
pub use self::filter::{EventFilter, PersistencePolicy};
pub use self::framework_event::{FrameworkEvent, FrameworkEventType};
pub use self::identity::{Identity, IdentityResult};
pub use self::ids::{
    ChannelId, EventId, IdentityId, ObservationId, OrganizationId, ParticipantId, RoomId,
    SubscriptionId, TaskId,
};
pub use self::inbound::{InboundMessage, InboundResult};
pub use self::metadata::Metadata;
pub use self::participant::Participant;
pub use self::policy::{RateLimit, RetryPolicy};
pub use self::read::ReadMarker;
pub use self::receipt::{DeliveryState, DeliveryStatus, StatusOutcome, WebhookItem};
pub use self::room::{Room, RoomTimers};
pub use self::source::EventSource;
pub use self::source_health::{SourceHealth, SourceStatus};
pub use self::thread::ThreadSummary;
pub use self::trace::{ProtocolTrace, TracePayload};
pub use self::validate::{UnknownValue, ValidationError};
pub use self::visibility::Visibility;
pub use self::work::{Observation, Task};
