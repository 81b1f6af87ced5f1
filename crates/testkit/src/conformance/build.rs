//! A kit as a scenario describes it, with everything about it that can be observed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use roomkit_core::hook::HookTrigger;
use roomkit_core::model::{
    AgentResponsePolicy, ChannelType, EphemeralEvent, Identity, ProtocolTrace, RoomId,
};
use roomkit_core::redaction::{RawPayload, Redaction};
use roomkit_core::telemetry::TelemetryProvider;
use roomkit_core::trace::TraceLimits;
use roomkit_core::{Error, RoomKit, RoomKitBuilder, RoomOptions, Rooms};

use super::clock::ScenarioClock;
use super::error::ConformanceError;
use super::hooks;
use super::identity;
use super::pieces;
use super::run::{attach, seconds};
use super::scenario::{ChannelSpec, Kind, PayloadSpec, RoomSpec, Scenario};
use crate::sync::Log;
use crate::{MockChannel, ScriptRule, ScriptedAgent};

/// A kit and what it shows to the outside.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) kit: RoomKit,
    /// The handle through which steps are made: the kit's own, or one of an organisation.
    pub(super) rooms: Rooms,
    pub(super) transports: Vec<(String, MockChannel)>,
    /// The transports that take answers as they come.
    pub(super) streaming: Vec<String>,
    pub(super) agents: Vec<(String, ScriptedAgent)>,
    /// The names of the hooks that ran.
    pub(super) hooks: Log<String>,
    /// The framework events that are watched for.
    pub(super) notices: Log<String>,
    /// The ephemeral events that were heard.
    pub(super) ephemeral: Log<EphemeralEvent>,
    /// The protocol traces that the hooks of rooms were told, where that is watched.
    pub(super) traces: Option<Log<ProtocolTrace>>,
    /// The rooms of which they are heard.
    pub(super) listened: Vec<RoomId>,
    /// The rooms that the scenario names.
    pub(super) named: Vec<RoomId>,
}

/// Builds the kit, its channels, listeners and hooks, then its rooms, all in the order of the file.
///
/// A hook sees what happens while the rooms are set up. Hooks on one trigger are registered in the
/// order of the file, whether for one room or for all; a room that such a hook is for is made just
/// before it.
pub(super) async fn build(
    scenario: &Scenario,
    telemetry: Option<Arc<dyn TelemetryProvider>>,
) -> Result<Stage, ConformanceError> {
    let mut builder = RoomKit::builder().clock(Arc::new(ScenarioClock::new()));
    if let Some(provider) = telemetry {
        builder = builder.telemetry(provider);
    }
    if let Some(depth) = scenario.kit.max_chain_depth {
        builder = builder.max_chain_depth(depth);
    }
    let policy: Option<AgentResponsePolicy> = scenario.kit.agent_response_policy;
    if let Some(policy) = policy {
        builder = builder.agent_response_policy(policy);
    }
    if let Some(resolver) = identity::resolver(&scenario.kit) {
        builder = builder.identity(Arc::new(resolver));
    }
    if scenario.kit.stored_identities {
        builder = builder.stored_identities();
    }
    if let Some(types) = &scenario.kit.identity_channel_types {
        builder = builder.identity_channel_types(types.iter().cloned());
    }
    if let Some(timeout) = scenario.kit.identity_timeout {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|error| ConformanceError::malformed(format!("identity_timeout: {error}")))?;
        builder = builder.identity_timeout(timeout);
    }
    if scenario.kit.timer_sweeper == Some(false) {
        builder = builder.without_timer_sweeper();
    }
    if let Some(limit) = &scenario.kit.inbound_rate_limit {
        builder = builder.inbound_rate_limit(limit.clone());
    }
    if let Some(limit) = &scenario.kit.organization_rate_limit {
        builder = builder.organization_rate_limit(limit.clone());
    }
    if let Some(policy) = &scenario.kit.persistence_policy {
        builder = builder.persistence_policy(policy.clone());
    }
    builder = observed(builder, scenario)?;
    let kit = builder.build().map_err(failed("the kit"))?;
    let mut stage = Stage {
        rooms: (*kit).clone(),
        kit,
        transports: Vec::new(),
        streaming: Vec::new(),
        agents: Vec::new(),
        hooks: Log::default(),
        notices: Log::default(),
        ephemeral: Log::default(),
        traces: None,
        listened: Vec::new(),
        named: scenario.rooms.iter().map(|room| room.id.clone()).collect(),
    };
    if scenario.kit.traces {
        stage.watch_traces();
    }
    for name in &scenario.watch {
        let notices = stage.notices.clone();
        stage.kit.on(name.as_str(), move |event| {
            let notices = notices.clone();
            async move { notices.push(event.event_type.to_string()) }
        });
    }
    for spec in &scenario.channels {
        stage.add_channel(spec)?;
    }
    for id in scenario.kit.identities.iter().flat_map(BTreeMap::values) {
        let stored = stage.kit.store().put_identity(Identity::new(id.clone()));
        stored.await.map_err(failed("an identity"))?;
    }
    let mut made = Vec::new();
    // No room can be there before these.
    stage.add_hooks(scenario, &mut made, true).await?;
    stage.add_hooks(scenario, &mut made, false).await?;
    for spec in &scenario.rooms {
        stage.make_room(spec, &mut made).await?;
        if spec.listen {
            let listens = stage.listen(&spec.id).await;
            listens.map_err(failed(format!("room {}", spec.id)))?;
        }
        for binding in &spec.attach {
            let channel = format!("{} in room {}", binding.channel, spec.id);
            if binding.room.as_ref().is_some_and(|room| *room != spec.id) {
                return Err(ConformanceError::malformed(format!(
                    "attachment of {channel} names another room"
                )));
            }
            attach(&stage.kit, &spec.id, binding)
                .await
                .map_err(failed(channel))?;
        }
    }
    stage.kit.wait_idle().await;
    Ok(stage)
}

impl Stage {
    fn add_channel(&mut self, spec: &ChannelSpec) -> Result<(), ConformanceError> {
        let id = spec.id.to_string();
        let registered = match spec.kind {
            Kind::Transport => {
                let channel = transport(spec)?;
                if spec.streaming {
                    self.streaming.push(id.clone());
                }
                self.transports.push((id, channel.clone()));
                self.kit.register_channel(channel)
            }
            Kind::Agent => {
                let channel = agent(spec)?;
                self.agents.push((id, channel.clone()));
                self.kit.register_channel(channel)
            }
        };
        registered.map_err(failed(format!("channel {}", spec.id)))
    }

    async fn add_hooks(
        &self,
        scenario: &Scenario,
        made: &mut Vec<RoomId>,
        for_creation: bool,
    ) -> Result<(), ConformanceError> {
        for spec in &scenario.hooks {
            if (hooks::trigger_of(spec)? == HookTrigger::OnRoomCreated) != for_creation {
                continue;
            }
            let hook = hooks::make(spec, &self.hooks, &self.kit.downgrade())?;
            let Some(room) = &spec.room else {
                self.kit.add_hook(hook);
                continue;
            };
            if let Some(spec) = scenario.rooms.iter().find(|spec| spec.id == *room) {
                self.make_room(spec, made).await?;
            }
            let added = self.kit.add_room_hook(room, hook).await;
            added.map_err(failed(format!("hook {}", spec.name)))?;
        }
        Ok(())
    }

    /// Makes a room unless it was made before.
    async fn make_room(
        &self,
        spec: &RoomSpec,
        made: &mut Vec<RoomId>,
    ) -> Result<(), ConformanceError> {
        if made.contains(&spec.id) {
            return Ok(());
        }
        made.push(spec.id.clone());
        let options = RoomOptions::new()
            .id(spec.id.clone())
            .timers(spec.timers.clone().unwrap_or_default())
            .metadata(spec.metadata.clone());
        let created = match &spec.organization {
            Some(organization) => self.kit.org(organization).create_room(options).await,
            None => self.kit.create_room(options).await,
        };
        created
            .map(drop)
            .map_err(failed(format!("room {}", spec.id)))
    }
}

/// What the kit keeps of payloads and of protocol traces.
fn observed(
    mut builder: RoomKitBuilder,
    scenario: &Scenario,
) -> Result<RoomKitBuilder, ConformanceError> {
    builder = match &scenario.kit.raw_payload {
        None => builder,
        Some(PayloadSpec::Keep) => builder.raw_payload(RawPayload::Keep),
        Some(PayloadSpec::Drop) => builder.raw_payload(RawPayload::Drop),
        Some(PayloadSpec::Redact(names)) => {
            let redaction = names.iter().fold(Redaction::default(), Redaction::name);
            builder.raw_payload(RawPayload::Redact(redaction))
        }
    };
    let Some(spec) = &scenario.kit.trace_limits else {
        return Ok(builder);
    };
    let mut limits = TraceLimits::default();
    limits.per_session = spec.per_session.unwrap_or(limits.per_session);
    limits.total = spec.total.unwrap_or(limits.total);
    limits.max_raw_bytes = spec.max_raw_bytes.unwrap_or(limits.max_raw_bytes);
    if let Some(age) = spec.max_age {
        limits.max_age = seconds("max_age", age).map_err(ConformanceError::malformed)?;
    }
    Ok(builder.trace_limits(limits))
}

fn transport(spec: &ChannelSpec) -> Result<MockChannel, ConformanceError> {
    if spec.script.is_some() || spec.greeting.is_some() || spec.greets_by_itself.is_some() {
        let problem = "`script`, `greeting` and `greets_by_itself` are for agents";
        return Err(wrong(spec, problem));
    }
    let mut builder = MockChannel::builder(spec.id.clone());
    if let Some(channel_type) = &spec.channel_type {
        builder = builder.channel_type(channel_type.clone());
    }
    if let Some(direction) = spec.direction {
        builder = builder.direction(direction);
    }
    if let Some(capabilities) = &spec.capabilities {
        builder = builder.capabilities(capabilities.clone());
    }
    if let Some(calls) = spec.fail_first {
        builder = builder.fail_first(calls);
    }
    if spec.streaming {
        builder = builder.streaming();
    }
    if spec.provider_ids {
        builder = builder.provider_ids();
    }
    if spec.names_its_senders {
        builder = builder.names_its_senders();
    }
    if let Some(number) = spec.fail_frame {
        if !spec.streaming {
            return Err(wrong(spec, "`fail_frame` is for channels that stream"));
        }
        builder = builder.fail_frame(number);
    }
    Ok(builder.build())
}

fn agent(spec: &ChannelSpec) -> Result<ScriptedAgent, ConformanceError> {
    if !matches!(spec.channel_type, None | Some(ChannelType::Ai)) {
        return Err(wrong(spec, "the `type` of an agent is `ai`"));
    }
    let is_transport = spec.direction.is_some()
        || spec.capabilities.is_some()
        || spec.fail_first.is_some()
        || spec.streaming
        || spec.fail_frame.is_some()
        || spec.provider_ids
        || spec.names_its_senders;
    if is_transport {
        let problem = "`direction`, `capabilities`, `fail_first`, `streaming`, `fail_frame`, \
            `provider_ids` and `names_its_senders` are for transports";
        return Err(wrong(spec, problem));
    }
    let mut builder = ScriptedAgent::builder(spec.id.clone());
    if let Some(text) = &spec.greeting {
        builder = builder.greeting(text);
    }
    if let Some(by_itself) = spec.greets_by_itself {
        builder = builder.greets_by_itself(by_itself);
    }
    for rule in spec.script.iter().flatten() {
        let mut made = match rule.on.as_str() {
            "*" => ScriptRule::any(),
            words => ScriptRule::on(words),
        };
        if let Some(text) = &rule.reply {
            made = made.reply(text);
        }
        if let Some(specs) = &rule.stream {
            if rule.reply.is_some() || rule.addressed_to.is_some() {
                let problem = "a rule with `stream` has neither `reply` nor `addressed_to`";
                return Err(wrong(spec, problem));
            }
            let pieces = pieces::of(specs).map_err(|problem| wrong(spec, &problem))?;
            made = made.stream(pieces);
        }
        if let Some(agents) = &rule.addressed_to {
            made = made.addressed_to(agents.iter().cloned());
        }
        made = rule.tasks.iter().fold(made, ScriptRule::task);
        made = rule.observations.iter().fold(made, ScriptRule::observation);
        builder = builder.rule(made);
    }
    Ok(builder.build())
}

fn failed(part: impl Into<String>) -> impl FnOnce(Error) -> ConformanceError {
    let part = part.into();
    move |source| ConformanceError::Setup { part, source }
}

fn wrong(spec: &ChannelSpec, problem: &str) -> ConformanceError {
    ConformanceError::malformed(format!("channel `{}`: {problem}", spec.id))
}
