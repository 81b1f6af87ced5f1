//! A scenario's input as it stands in its file. Every key is known or the file is refused.

use std::collections::BTreeMap;

use roomkit_core::model::{
    Access, AgentResponsePolicy, ChannelCapabilities, ChannelDirection, ChannelId, ChannelType,
    EphemeralEventType, EventType, Identity, IdentityId, Metadata, OrganizationId, ParticipantId,
    ParticipantRole, PersistencePolicy, RateLimit, RetryPolicy, RoomId, RoomTimers, Visibility,
};
use serde::Deserialize;
use serde_json::Value;

use super::answers::{FeedbackSpec, GreetingSpec, RegenerateSpec, SessionSpec};
use super::content::Content;
use super::error::ConformanceError;
use super::identity::{AnswerSpec, IdentitiesByAddress, LinkAddress, SaveIdentity};
use super::pieces::PieceSpec;
use super::shape;
use super::sources::{AttachSourceSpec, OfSource};
use super::strict;
use super::traces::{BindTrace, TraceLimitsSpec, TraceSpec};

/// A scenario: a kit, what happens to it, and the trace that this leaves.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) kit: Kit,
    #[serde(default)]
    pub(super) channels: Vec<ChannelSpec>,
    #[serde(default)]
    pub(super) hooks: Vec<HookSpec>,
    #[serde(default)]
    pub(super) watch: Vec<String>,
    #[serde(default)]
    pub(super) rooms: Vec<RoomSpec>,
    #[serde(default)]
    pub(super) steps: Vec<Step>,
    /// Compared as JSON; its keys are checked when it is read.
    pub(super) expect: Value,
}

impl Scenario {
    /// Reads a scenario, and checks all of it that can be checked without running it.
    pub(super) fn read(value: Value) -> Result<Self, ConformanceError> {
        let scenario: Self = serde_json::from_value(value)
            .map_err(|error| ConformanceError::malformed(error.to_string()))?;
        shape::check_expect(&scenario.expect)?;
        Ok(scenario)
    }
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kit {
    pub(super) max_chain_depth: Option<u32>,
    pub(super) agent_response_policy: Option<AgentResponsePolicy>,
    /// Who is behind an address; with it the kit has a resolver.
    pub(super) identities: Option<BTreeMap<String, IdentityId>>,
    /// What that resolver answers about further senders.
    pub(super) senders: Option<BTreeMap<String, AnswerSpec>>,
    #[serde(default)]
    pub(super) stored_identities: bool,
    pub(super) identity_channel_types: Option<Vec<ChannelType>>,
    /// In seconds.
    pub(super) identity_timeout: Option<f64>,
    pub(super) timer_sweeper: Option<bool>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) inbound_rate_limit: Option<RateLimit>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) organization_rate_limit: Option<RateLimit>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) persistence_policy: Option<PersistencePolicy>,
    /// What becomes of raw payloads.
    pub(super) raw_payload: Option<PayloadSpec>,
    /// Whether the hooks of rooms are told of protocol traces.
    #[serde(default)]
    pub(super) traces: bool,
    pub(super) trace_limits: Option<TraceLimitsSpec>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PayloadSpec {
    Keep,
    Drop,
    /// Redacted, with names beside those that always are.
    Redact(Vec<String>),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelSpec {
    pub(super) id: ChannelId,
    #[serde(default)]
    pub(super) kind: Kind,
    #[serde(rename = "type")]
    pub(super) channel_type: Option<ChannelType>,
    pub(super) direction: Option<ChannelDirection>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) capabilities: Option<ChannelCapabilities>,
    pub(super) fail_first: Option<u64>,
    #[serde(default)]
    pub(super) streaming: bool,
    pub(super) fail_frame: Option<u64>,
    #[serde(default)]
    pub(super) provider_ids: bool,
    #[serde(default)]
    pub(super) names_its_senders: bool,
    pub(super) script: Option<Vec<RuleSpec>>,
    pub(super) greeting: Option<String>,
    pub(super) greets_by_itself: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    #[default]
    Transport,
    Agent,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSpec {
    pub(super) on: String,
    pub(super) reply: Option<String>,
    pub(super) stream: Option<Vec<PieceSpec>>,
    pub(super) addressed_to: Option<Vec<ChannelId>>,
    #[serde(default)]
    pub(super) tasks: Vec<String>,
    #[serde(default)]
    pub(super) observations: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HookSpec {
    pub(super) name: String,
    pub(super) trigger: Option<String>,
    pub(super) execution: Option<Execution>,
    pub(super) priority: Option<i32>,
    /// In seconds.
    pub(super) timeout: Option<f64>,
    #[serde(default)]
    pub(super) hold_streams: bool,
    pub(super) channel_types: Option<Vec<ChannelType>>,
    pub(super) channel_ids: Option<Vec<ChannelId>>,
    pub(super) room: Option<RoomId>,
    #[serde(default)]
    pub(super) when: When,
    pub(super) action: ActionName,
    pub(super) reason: Option<String>,
    pub(super) inject: Option<Vec<InjectSpec>>,
    pub(super) pattern: Option<String>,
    #[serde(rename = "with")]
    pub(super) replacement: Option<String>,
    pub(super) metadata: Option<Metadata>,
    pub(super) key: Option<String>,
    pub(super) value: Option<Value>,
    pub(super) seconds: Option<f64>,
    pub(super) channel: Option<ChannelId>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) identity: Option<Identity>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) candidates: Option<Vec<Identity>>,
    pub(super) display_name: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Execution {
    Sync,
    Async,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ActionName {
    Allow,
    Block,
    Replace,
    SetMetadata,
    RedactPayload,
    Raise,
    Sleep,
    AttachChannel,
    Resolve,
    Pending,
    Challenge,
    Reject,
    Create,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct When {
    pub(super) body_contains: Option<String>,
    pub(super) source: Option<ChannelId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InjectSpec {
    pub(super) body: String,
    #[serde(default)]
    pub(super) to: Vec<ChannelId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RoomSpec {
    pub(super) id: RoomId,
    pub(super) organization: Option<OrganizationId>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) timers: Option<RoomTimers>,
    /// Whether its ephemeral events are heard.
    #[serde(default)]
    pub(super) listen: bool,
    #[serde(default)]
    pub(super) attach: Vec<AttachSpec>,
}

/// An attachment: of a room that is set up, where the room goes without saying, or as a step.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachSpec {
    pub(super) room: Option<RoomId>,
    pub(super) channel: ChannelId,
    pub(super) access: Option<Access>,
    pub(super) visibility: Option<Visibility>,
    #[serde(default)]
    pub(super) muted: bool,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) retry_policy: Option<RetryPolicy>,
    #[serde(default, deserialize_with = "strict::optional")]
    pub(super) rate_limit: Option<RateLimit>,
    pub(super) metadata: Option<Metadata>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    Inbound(Inbound),
    SendEvent(SendEvent),
    Mute(OfChannel),
    Unmute(OfChannel),
    MuteOutput(OfChannel),
    UnmuteOutput(OfChannel),
    DetachChannel(OfChannel),
    AttachChannel(AttachSpec),
    SetAccess(SetAccess),
    SetVisibility(SetVisibility),
    PauseRoom(OfRoom),
    ResumeRoom(OfRoom),
    CloseRoom(OfRoom),
    ReopenRoom(OfRoom),
    ArchiveRoom(OfRoom),
    SetRoomTimers(SetTimers),
    CheckRoomTimers(OfRoom),
    CheckAllTimers(Nothing),
    Publish(Publish),
    Typing(Typing),
    Presence(SetPresence),
    Reaction(Reaction),
    ReadReceipt(ReadReceipt),
    DeliveryStatus(StatusReport),
    Webhook(Webhook),
    SetAgentResponsePolicy(SetPolicy),
    CancelAnswer(CancelAnswer),
    Settle(Settle),
    AsOrganization(AsOrganization),
    AddMember(AddMember),
    EnsureParticipant(EnsureParticipant),
    RemoveMember(OfParticipant),
    BanMember(OfParticipant),
    UnbanMember(OfParticipant),
    RenameMember(RenameMember),
    SetMemberRole(SetMemberRole),
    ResolveParticipant(ResolveParticipant),
    Participants(OfRoom),
    SaveIdentity(SaveIdentity),
    LinkAddress(LinkAddress),
    IdentitiesByAddress(IdentitiesByAddress),
    MarkRead(OfReading),
    MarkAllRead(OfChannel),
    Unread(OfChannel),
    Thread(OfEvent),
    TopLevel(OfRoom),
    UpdateEvent(UpdateEvent),
    DeleteEvent(DeleteEvent),
    RegenerateResponse(RegenerateSpec),
    RegenerateTarget(OfRoom),
    SubmitFeedback(FeedbackSpec),
    SendGreeting(GreetingSpec),
    SessionStarted(SessionSpec),
    AttachSource(AttachSourceSpec),
    DetachSource(OfSource),
    SourceHealth(OfSource),
    Trace(TraceSpec),
    BindTrace(BindTrace),
    TraceStats(Nothing),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Inbound {
    pub(super) channel: ChannelId,
    pub(super) sender: String,
    pub(super) room: Option<RoomId>,
    pub(super) organization: Option<OrganizationId>,
    pub(super) content: Content,
    pub(super) event_type: Option<EventType>,
    pub(super) idempotency_key: Option<String>,
    pub(super) addressed_to: Option<Vec<ChannelId>>,
    pub(super) parent_index: Option<u64>,
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) raw_payload: Metadata,
    #[serde(default)]
    pub(super) meanwhile: Vec<Meanwhile>,
}

/// A step that is made while an inbound is under way.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Meanwhile {
    /// In seconds, since the inbound began.
    pub(super) after: f64,
    pub(super) step: Step,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendEvent {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) content: Content,
    pub(super) addressed_to: Option<Vec<ChannelId>>,
    pub(super) visibility: Option<Visibility>,
    pub(super) participant: Option<ParticipantId>,
    pub(super) parent_index: Option<u64>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfChannel {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfRoom {
    pub(super) room: RoomId,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Publish {
    pub(super) room: RoomId,
    #[serde(rename = "type")]
    pub(super) event_type: EphemeralEventType,
    pub(super) user: String,
    pub(super) channel: Option<ChannelId>,
    #[serde(default)]
    pub(super) data: Metadata,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Typing {
    pub(super) room: RoomId,
    pub(super) user: String,
    pub(super) is_typing: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetPresence {
    pub(super) room: RoomId,
    pub(super) user: String,
    pub(super) status: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reaction {
    pub(super) room: RoomId,
    pub(super) user: String,
    pub(super) target_index: u64,
    pub(super) emoji: String,
    #[serde(default)]
    pub(super) remove: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReadReceipt {
    pub(super) room: RoomId,
    pub(super) user: String,
    pub(super) target_index: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusReport {
    pub(super) message_id: String,
    pub(super) status: String,
    pub(super) channel: Option<ChannelId>,
    pub(super) room: Option<RoomId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Webhook {
    pub(super) channel: ChannelId,
    pub(super) items: Vec<WebhookSpec>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum WebhookSpec {
    Message(WebhookMessage),
    Status(StatusReport),
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WebhookMessage {
    pub(super) sender: String,
    pub(super) room: Option<RoomId>,
    pub(super) content: Content,
    pub(super) provider_message_id: Option<String>,
    #[serde(default)]
    pub(super) raw_payload: Metadata,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetTimers {
    pub(super) room: RoomId,
    #[serde(deserialize_with = "strict::required")]
    pub(super) timers: RoomTimers,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetAccess {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) access: Access,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetVisibility {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) visibility: Visibility,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetPolicy {
    pub(super) room: RoomId,
    #[serde(alias = "agent_response_policy")]
    pub(super) policy: AgentResponsePolicy,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CancelAnswer {
    pub(super) room: RoomId,
    pub(super) agent: ChannelId,
}

/// A step that is made through the handle of an organisation.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AsOrganization {
    pub(super) organization: OrganizationId,
    pub(super) step: Box<Step>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Settle {
    pub(super) seconds: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AddMember {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) participant: ParticipantId,
    pub(super) display_name: Option<String>,
    pub(super) role: Option<ParticipantRole>,
    pub(super) identity: Option<IdentityId>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EnsureParticipant {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) participant: ParticipantId,
    pub(super) display_name: Option<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfParticipant {
    pub(super) room: RoomId,
    pub(super) participant: ParticipantId,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RenameMember {
    pub(super) room: RoomId,
    pub(super) participant: ParticipantId,
    pub(super) display_name: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetMemberRole {
    pub(super) room: RoomId,
    pub(super) participant: ParticipantId,
    pub(super) role: ParticipantRole,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ResolveParticipant {
    pub(super) room: RoomId,
    pub(super) participant: ParticipantId,
    pub(super) identity: IdentityId,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfReading {
    pub(super) room: RoomId,
    pub(super) channel: ChannelId,
    pub(super) index: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfEvent {
    pub(super) room: RoomId,
    pub(super) index: u64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateEvent {
    pub(super) room: RoomId,
    pub(super) index: u64,
    pub(super) content: Option<Content>,
    pub(super) metadata: Option<Metadata>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DeleteEvent {
    pub(super) room: RoomId,
    pub(super) index: u64,
    #[serde(default)]
    pub(super) keep_replies: bool,
}
