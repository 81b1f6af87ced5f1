//! The builder of a kit: its parts, each replaceable, and its limits, each with a default.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use super::intake::Intake;
use super::observe::Observe;
use super::receipts::Receipts;
use super::timers::Timers;
use super::{Channels, FlowControl, Inner, RoomKit};
use crate::clock::{Clock, SystemClock};
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{FrameworkEvents, HookEngine, HookTrigger, RoomHooks};
use crate::identity::{
    AddressNormalizer, DefaultAddressNormalizer, IdentityResolver, StoredIdentities,
};
use crate::model::{AgentResponsePolicy, ChannelType, PersistencePolicy, RateLimit};
use crate::pipeline::LoopGuard;
use crate::pipeline::loop_guard::Watched;
use crate::pipeline::stream::Streaming;
use crate::redaction::RawPayload;
use crate::resilience::CircuitBreakerConfig;
use crate::router::{
    ContentTranscoder, DefaultContentTranscoder, DefaultInboundRoomRouter, InboundRoomRouter,
};
use crate::store::{ConversationStore, MemoryStore};
use crate::sync::queue::KeyedQueue;
use crate::sync::tasks::Tasks;
use crate::sync::{InProcessLocks, InProcessRealtime, Numbers, RealtimeBackend, RoomLockManager};
use crate::telemetry::{LogContent, Spans};
use crate::trace::Desk;

/// The kits of this process.
static KITS: Numbers = Numbers::new();

/// The limits and policies of a kit.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) max_chain_depth: u32,
    pub(crate) agent_response_policy: AgentResponsePolicy,
    pub(crate) process_timeout: Duration,
    pub(crate) identity_timeout: Duration,
    pub(crate) identity_channel_types: Option<HashSet<ChannelType>>,
    pub(crate) delivery_timeout: Duration,
    pub(crate) agent_timeout: Duration,
    pub(crate) lane_capacity: usize,
    pub(crate) loop_guard: Option<LoopGuard>,
    pub(crate) circuit_breaker: CircuitBreakerConfig,
    pub(crate) timer_sweeper: bool,
    pub(crate) timer_scan_interval: Duration,
    pub(crate) remembered_deliveries: usize,
    pub(crate) persistence: Option<PersistencePolicy>,
    pub(crate) raw_payload: RawPayload,
    pub(crate) log_content: LogContent,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_chain_depth: 5,
            agent_response_policy: AgentResponsePolicy::AgentChain,
            process_timeout: Duration::from_secs(30),
            identity_timeout: Duration::from_secs(10),
            identity_channel_types: None,
            delivery_timeout: Duration::from_secs(60),
            agent_timeout: Duration::from_secs(600),
            lane_capacity: 65_536,
            loop_guard: None,
            circuit_breaker: CircuitBreakerConfig::default(),
            timer_sweeper: true,
            timer_scan_interval: Duration::from_secs(900),
            remembered_deliveries: 65_536,
            persistence: None,
            raw_payload: RawPayload::Keep,
            log_content: LogContent::default(),
        }
    }
}

/// Puts a kit together. What is not chosen has its default: everything in memory and in process.
#[derive(Debug, Default)]
#[must_use]
pub struct RoomKitBuilder {
    pub(super) settings: Settings,
    pub(super) observe: Observe,
    store: Option<Arc<dyn ConversationStore>>,
    locks: Option<Arc<dyn RoomLockManager>>,
    allow_in_process_locks: bool,
    realtime: Option<Arc<dyn RealtimeBackend>>,
    router: Option<Arc<dyn InboundRoomRouter>>,
    transcoder: Option<Arc<dyn ContentTranscoder>>,
    identity: Option<Arc<dyn IdentityResolver>>,
    stored_identities: bool,
    addresses: Option<Arc<dyn AddressNormalizer>>,
    clock: Option<Arc<dyn Clock>>,
    room_hooks: Option<Arc<dyn RoomHooks>>,
    fail_closed: HashSet<HookTrigger>,
    inbound_rate_limit: Option<RateLimit>,
    organization_rate_limit: Option<RateLimit>,
}

impl RoomKitBuilder {
    /// Where rooms and events are kept (RFC §14.1). Default: a [`MemoryStore`].
    pub fn store(mut self, store: Arc<dyn ConversationStore>) -> Self {
        self.store = Some(store);
        self
    }

    /// What serialises a room (RFC §13.5). Default: [`InProcessLocks`].
    pub fn locks(mut self, locks: Arc<dyn RoomLockManager>) -> Self {
        self.locks = Some(locks);
        self
    }

    /// Lets a store that other processes share go with locks of this process alone (RFC §13.5). The store still
    /// refuses what was decided on an older room, so nothing is stored twice; processes that meet in
    /// one room run its hooks again, and one may come too late again and again. Default: refused.
    pub fn allow_in_process_locks(mut self) -> Self {
        self.allow_in_process_locks = true;
        self
    }

    /// What carries ephemeral events (RFC §8.4). Default: [`InProcessRealtime`].
    pub fn realtime(mut self, realtime: Arc<dyn RealtimeBackend>) -> Self {
        self.realtime = Some(realtime);
        self
    }

    /// What finds the room of a message (RFC §10.4). Default: [`DefaultInboundRoomRouter`].
    pub fn router(mut self, router: Arc<dyn InboundRoomRouter>) -> Self {
        self.router = Some(router);
        self
    }

    /// What adapts content to channels (RFC §6.6). Default: [`DefaultContentTranscoder`].
    pub fn transcoder(mut self, transcoder: Arc<dyn ContentTranscoder>) -> Self {
        self.transcoder = Some(transcoder);
        self
    }

    /// What says who a sender is; [`identity`](crate::identity) has what follows from its answers (RFC §11.1).
    /// Default: nobody is asked.
    pub fn identity(mut self, resolver: Arc<dyn IdentityResolver>) -> Self {
        self.identity = Some(resolver);
        self
    }

    /// Lets the kit find out who a sender is among the identities in its own store, by
    /// [`StoredIdentities`], unless it is given another [resolver](Self::identity) (RFC §11.2). Default: it
    /// does not.
    pub fn stored_identities(mut self) -> Self {
        self.stored_identities = true;
        self
    }

    /// What says which ways of writing an address are one (RFC §5.6). Default: [`DefaultAddressNormalizer`].
    pub fn addresses(mut self, addresses: Arc<dyn AddressNormalizer>) -> Self {
        self.addresses = Some(addresses);
        self
    }

    /// Asks the identity resolver only for senders on channels of these types (RFC §11.4). Default: on all.
    pub fn identity_channel_types(mut self, types: impl IntoIterator<Item = ChannelType>) -> Self {
        self.settings.identity_channel_types = Some(types.into_iter().collect());
        self
    }

    /// Where time comes from (not in the RFC). Default: the machine, through [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// What says which hooks a room has when it is loaded (RFC §9.1). Default: none but those registered.
    pub fn room_hooks(mut self, provider: Arc<dyn RoomHooks>) -> Self {
        self.room_hooks = Some(provider);
        self
    }

    /// Points at which a failing hook blocks, besides those that the specification names (RFC §9.3).
    pub fn fail_closed(mut self, triggers: impl IntoIterator<Item = HookTrigger>) -> Self {
        self.fail_closed.extend(triggers);
        self
    }

    /// How often agents may answer one another: an answer at this depth is blocked. It cannot be
    /// switched off (RFC §17.5). Default: 5; at least 1.
    pub fn max_chain_depth(mut self, depth: u32) -> Self {
        self.settings.max_chain_depth = depth;
        self
    }

    /// What an agent's output asks of other agents, in rooms that say nothing else (RFC §19.3.1).
    /// Default: [`AgentResponsePolicy::AgentChain`].
    pub fn agent_response_policy(mut self, policy: AgentResponsePolicy) -> Self {
        self.settings.agent_response_policy = policy;
        self
    }

    /// How long an event may take until it is ready to commit (RFC §13.6), and how long the store may
    /// take over the commit, and over any other call during which a room is locked. Default: 30 seconds.
    pub fn process_timeout(mut self, timeout: Duration) -> Self {
        self.settings.process_timeout = timeout;
        self
    }

    /// How long the identity resolver may take (RFC §11.5); past that the sender is unknown, and the
    /// framework event `identity_timeout` says so. Default: 10 seconds.
    pub fn identity_timeout(mut self, timeout: Duration) -> Self {
        self.settings.identity_timeout = timeout;
        self
    }

    /// How long one attempt to deliver may take (RFC §13.6). Default: 60 seconds.
    pub fn delivery_timeout(mut self, timeout: Duration) -> Self {
        self.settings.delivery_timeout = timeout;
        self
    }

    /// How long an agent may take over one event, tools included (RFC §13.6). Default: 10 minutes.
    pub fn agent_timeout(mut self, timeout: Duration) -> Self {
        self.settings.agent_timeout = timeout;
        self
    }

    /// How many events may wait for one channel of one room; further ones fail with `lane_full` (RFC §10.2).
    /// Default: 65,536; at least 1.
    pub fn lane_capacity(mut self, events: usize) -> Self {
        self.settings.lane_capacity = events;
        self
    }

    /// Stops asking agents in a room that goes round in circles with a system outside, which tells
    /// neither that it is a bot nor how deep the chain is (RFC §8.3). Default: off.
    pub fn loop_guard(mut self, guard: LoopGuard) -> Self {
        self.settings.loop_guard = Some(guard);
        self
    }

    /// When a failing channel is left alone (RFC §13.1). Default: after 5 failures in a row, for 60 seconds.
    pub fn circuit_breaker(mut self, config: CircuitBreakerConfig) -> Self {
        self.settings.circuit_breaker = config;
        self
    }

    /// Leaves room timers (RFC §5.1) to calls of
    /// [`check_all_timers`](crate::Rooms::check_all_timers). Default: a task in the background pauses and
    /// closes rooms when their time has come.
    ///
    /// That task reads a room when one of its timers may have run out, and no other. It knows the
    /// rooms that this kit made, changed or resumed; others are looked for when it begins and
    /// [now and then](Self::timer_scan_interval). It begins with the kit where that is built inside a
    /// tokio runtime, else with the first call that changes a room.
    pub fn without_timer_sweeper(mut self) -> Self {
        self.settings.timer_sweeper = false;
        self
    }

    /// How often open rooms are listed for timers that this kit does not know of: those that were set by
    /// other processes, or before it was started (RFC §5.1). It is the one thing about timers that costs
    /// more with more rooms. Default: 15 minutes.
    pub fn timer_scan_interval(mut self, interval: Duration) -> Self {
        self.settings.timer_scan_interval = interval;
        self
    }

    /// How many messages each channel may bring in; a further one is refused with `rate_limited`, and
    /// nothing of it is stored (RFC §13.3); one of a [source](crate::source) waits instead. Events that the
    /// application sends are not counted. Default: any number.
    pub fn inbound_rate_limit(mut self, limit: RateLimit) -> Self {
        self.inbound_rate_limit = Some(limit);
        self
    }

    /// As [`inbound_rate_limit`](Self::inbound_rate_limit) for each organisation, over all channels
    /// (RFC §17.4): that of the handle through which the messages come. Default: any number.
    pub fn organization_rate_limit(mut self, limit: RateLimit) -> Self {
        self.organization_rate_limit = Some(limit);
        self
    }

    /// Of how many of the last messages that providers took the kit remembers which event they carry and
    /// how far they have come, for [reports](crate::Rooms::process_delivery_status) about them (RFC §9.2).
    /// It is remembered in this process alone, at some 300 bytes each. Default: 65,536; with 0, none.
    pub fn remembered_deliveries(mut self, messages: usize) -> Self {
        self.settings.remembered_deliveries = messages;
        self
    }

    /// Which types of events are kept in the timelines; those of other types only pass (not in the RFC).
    /// Such an event goes through the same checks and hooks, to the same channels and agents in their
    /// lanes, and a repeat of its idempotency key is known. But no history, search or edit finds it, it has
    /// no place in the timeline (its index is 0) and no count. What comes with it is kept: side effects,
    /// who spoke, the new version of an event that it edits, that the room is in use.
    ///
    /// Kept whatever their type are events that are blocked, and those that a hook adds. Default: all.
    pub fn persistence_policy(mut self, policy: PersistencePolicy) -> Self {
        self.settings.persistence = Some(policy);
        self
    }

    /// Puts the kit together (RFC §13.5).
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput)
    /// - where a limit is below 1 or beyond what can be kept; it names the limit;
    /// - where other processes share the store and none of them waits for the locks, unless
    ///   [`allow_in_process_locks`](Self::allow_in_process_locks) says that this is meant.
    pub fn build(self) -> Result<RoomKit> {
        self.check_locks()?;
        let at_least_one = [
            ("max_chain_depth", u64::from(self.settings.max_chain_depth)),
            ("lane_capacity", self.settings.lane_capacity as u64),
            (
                "failure_threshold",
                u64::from(self.settings.circuit_breaker.failure_threshold),
            ),
        ];
        for (name, value) in at_least_one {
            if value == 0 {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!("{name}: must be at least 1"),
                ));
            }
        }
        let limits = [
            ("inbound_rate_limit", &self.inbound_rate_limit),
            ("organization_rate_limit", &self.organization_rate_limit),
        ];
        for (name, limit) in limits {
            if let Some(limit) = limit {
                limit.validate().map_err(|problem| problem.within(name))?;
            }
        }
        let most_repeats = self.settings.loop_guard.map(|guard| guard.max_repeats);
        if most_repeats.is_some_and(|repeats| repeats > LoopGuard::MOST_REPEATS) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("max_repeats: must be at most {}", LoopGuard::MOST_REPEATS),
            ));
        }
        let timeouts = [
            ("process_timeout", self.settings.process_timeout),
            ("identity_timeout", self.settings.identity_timeout),
            ("delivery_timeout", self.settings.delivery_timeout),
            ("agent_timeout", self.settings.agent_timeout),
            ("timer_scan_interval", self.settings.timer_scan_interval),
        ];
        for (name, timeout) in timeouts {
            if timeout.is_zero() {
                return Err(Error::new(
                    ErrorKind::InvalidInput,
                    format!("{name}: must not be zero"),
                ));
            }
        }
        self.observe.validate()?;
        let clock = self
            .clock
            .clone()
            .unwrap_or_else(|| Arc::new(SystemClock::new()));
        let telemetry = self.observe.start(&clock)?;
        Ok(self
            .clock(Arc::clone(&clock))
            .assemble_with(Spans::new(telemetry, clock)))
    }

    fn check_locks(&self) -> Result<()> {
        let shared = self.store.as_ref().is_some_and(|store| store.is_shared());
        let distributed = self
            .locks
            .as_ref()
            .is_some_and(|locks| locks.is_distributed());
        if shared && !distributed && !self.allow_in_process_locks {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "locks: other processes share the store, but the locks are of this process alone; \
                 give a distributed lock manager, or call allow_in_process_locks",
            ));
        }
        Ok(())
    }

    /// Puts a kit of the default settings together.
    pub(super) fn assemble(self) -> RoomKit {
        let clock = self
            .clock
            .clone()
            .unwrap_or_else(|| Arc::new(SystemClock::new()));
        self.clock(Arc::clone(&clock))
            .assemble_with(Spans::new(None, clock))
    }

    /// Puts a kit of valid settings together.
    fn assemble_with(mut self, spans: Spans) -> RoomKit {
        self.settings.log_content = self.observe.log_content;
        let observe = self.observe;
        // In a store of the kit's own there is nothing yet that could run out.
        let timers = Timers::new(&self.settings, self.store.is_some());
        let receipts = Receipts::new(self.settings.remembered_deliveries);
        let store = self.store.unwrap_or_else(|| Arc::new(MemoryStore::new()));
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock::new()));
        let router = self
            .router
            .unwrap_or_else(|| Arc::new(DefaultInboundRoomRouter::new(Arc::clone(&store))));
        let addresses = self
            .addresses
            .unwrap_or_else(|| Arc::new(DefaultAddressNormalizer));
        let identity = self.identity.or_else(|| {
            let found =
                || StoredIdentities::new(Arc::clone(&store)).addresses(Arc::clone(&addresses));
            self.stored_identities
                .then(|| Arc::new(found()) as Arc<dyn IdentityResolver>)
        });
        let hooks = HookEngine::new(
            Arc::clone(&clock),
            self.room_hooks,
            self.fail_closed,
            spans.clone(),
            observe.log_content,
        );
        RoomKit::from_inner(Inner {
            id: KITS.next(),
            settings: self.settings,
            store,
            locks: self
                .locks
                .unwrap_or_else(|| Arc::new(InProcessLocks::new())),
            realtime: self
                .realtime
                .unwrap_or_else(|| Arc::new(InProcessRealtime::new())),
            router,
            transcoder: self
                .transcoder
                .unwrap_or_else(|| Arc::new(DefaultContentTranscoder)),
            identity,
            addresses,
            clock,
            hooks: Arc::new(hooks),
            events: FrameworkEvents::default(),
            tasks: Arc::new(Tasks::default()),
            lanes: Arc::new(KeyedQueue::new()),
            routes: Arc::new(KeyedQueue::new()),
            flow: FlowControl::default(),
            intake: Intake::new(self.inbound_rate_limit, self.organization_rate_limit),
            listening: super::realtime::Listening::default(),
            watched: Watched::default(),
            streaming: Streaming::default(),
            timers,
            receipts,
            sources: super::sources::Sources::default(),
            greetings: super::greeting::Greetings::default(),
            traces: Desk::new(observe.trace_limits, observe.trace_redaction),
            spans,
            channels: Channels::default(),
            closing: super::close::Closing::default(),
        })
    }
}
