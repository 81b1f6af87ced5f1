//! A kit with one room, of which every part asks the probe first, on a clock that is turned by hand.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roomkit_core::hook::{
    AfterBroadcast, BeforeBroadcast, BeforeTts, BoxError, HookOptions, HookResult,
    IdentityDecision, InjectedEvent, OnChannelAttached, OnChannelDetached, OnChannelMuted,
    OnChannelUnmuted, OnDeliveryStatus, OnError, OnEventDeleted, OnEventUpdated, OnFeedback,
    OnIdentityAmbiguous, OnIdentityUnknown, OnParticipantIdentified, OnParticipantJoined,
    OnParticipantLeft, OnParticipantUpdated, OnRoomClosed, OnRoomCreated, OnRoomPaused,
    OnSessionStarted, OnTaskCreated,
};
use roomkit_core::model::{EventContent, Identity, InboundMessage, RoomEvent, RoomId};
use roomkit_core::router::DefaultInboundRoomRouter;
use roomkit_core::store::{EventQuery, EventStore, Page, RoomFilter, RoomStore};
use roomkit_core::sync::{InProcessLocks, InProcessRealtime};
use roomkit_core::{Result, RoomKit};
use roomkit_testkit::ManualClock;

use crate::channel::{FaultyAgent, FaultyTransport, Manner, Tale};
use crate::parts::{
    FaultyLocks, FaultyRealtime, FaultyRoomHooks, FaultyRouter, FaultyTranscoder, observed,
    resolver,
};
use crate::probe::{Moment, Part, Probe};
use crate::store::FaultyStore;
use crate::twist::{Make, Twist};
use crate::watch::Watcher;

/// The room that a scene plays in and that has to go on.
pub(crate) const ROOM: &str = "r";

/// The transports that every message of the room goes to, but for its own.
pub(crate) const TRANSPORTS: [&str; 5] = ["web", "desk", "mail", "side", "feed"];

/// What a hook adds where there is to be more.
pub(crate) const ADDED: &str = "by the way";

/// How long a deciding hook may take.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Stage {
    pub(crate) kit: RoomKit,
    pub(crate) clock: ManualClock,
    pub(crate) probe: Probe,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) transports: Vec<FaultyTransport>,
    pub(crate) watcher: Option<Watcher>,
    /// Where the agent is whose answers come in pieces.
    pub(crate) tale: Tale,
    heard: Arc<Mutex<Vec<String>>>,
    errors: Arc<AtomicUsize>,
}

impl Stage {
    pub(crate) async fn new(make: Make, sweeps: bool) -> Result<Self> {
        let twist = make.twist;
        let (probe, clock) = (Probe::default(), ManualClock::new());
        let store = Arc::new(FaultyStore::new(probe.clone(), twist));
        let mut builder = RoomKit::builder()
            .clock(Arc::new(clock.clone()))
            .store(store.clone())
            .locks(Arc::new(FaultyLocks {
                locks: InProcessLocks::new(),
                probe: probe.clone(),
                twist,
            }))
            .router(Arc::new(FaultyRouter {
                router: DefaultInboundRoomRouter::new(store.clone()),
                probe: probe.clone(),
            }))
            .realtime(Arc::new(FaultyRealtime {
                realtime: InProcessRealtime::new(),
                probe: probe.clone(),
            }))
            .transcoder(Arc::new(FaultyTranscoder(probe.clone())))
            .identity(resolver(&probe, &store))
            .room_hooks(Arc::new(FaultyRoomHooks(probe.clone())));
        if !sweeps {
            builder = builder.without_timer_sweeper();
        }
        let watcher = make.watched.then(Watcher::default);
        if let Some(watcher) = &watcher {
            builder = builder.telemetry(Arc::new(watcher.clone()));
        }
        let kit = builder.build()?;
        let heard = Arc::<Mutex<Vec<String>>>::default();
        if twist != Twist::NobodyIsTold {
            let log = Arc::clone(&heard);
            kit.on_any(move |event| {
                let word = event.event_type.as_str().to_owned();
                log.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(word);
                async {}
            });
        }
        if twist == Twist::TaskStays {
            tokio::spawn(std::future::pending::<()>());
        }
        let mut transports = Vec::new();
        for id in TRANSPORTS.into_iter().chain(["late"]) {
            let transport = FaultyTransport::new(id, id == "desk", &probe, twist);
            kit.register_channel(transport.clone())?;
            transports.push(transport);
        }
        let tale = Tale::default();
        for (id, manner) in [
            ("helper", Manner::Whole),
            ("teller", Manner::InPieces(tale.clone())),
            ("greeter", Manner::Greets),
        ] {
            kit.register_channel(FaultyAgent::new(id, manner, &probe))?;
        }
        let stage = Self {
            kit,
            clock,
            probe,
            store,
            transports,
            watcher,
            tale,
            heard,
            errors: Arc::default(),
        };
        stage.add_hooks();
        stage.kit.create_room(ROOM).await?;
        for channel in TRANSPORTS.into_iter().chain(["helper", "teller"]) {
            stage.kit.attach_channel(ROOM, channel).await?;
        }
        let probe = stage.probe.clone();
        stage
            .kit
            .subscribe_room(ROOM, move |_| {
                let probe = probe.clone();
                async move { probe.at_infallible(Part::Subscriber, "hears").await }
            })
            .await?;
        Ok(stage)
    }

    fn add_hooks(&self) {
        let kit = &self.kit;
        let errors = Arc::clone(&self.errors);
        kit.hook(OnError, "errors", move |_, _| {
            errors.fetch_add(1, Ordering::Relaxed);
            async {}
        });
        let moderate = HookOptions::new("moderate").timeout(HOOK_TIMEOUT);
        let probe = self.probe.clone();
        kit.hook(BeforeBroadcast, moderate, move |event, _| {
            let probe = probe.clone();
            async move {
                let at = probe.at(Part::Hook, "before_broadcast", Moment::Before);
                at.await?;
                let words = event.content.texts().join(" ");
                let result = if words.contains("forbidden") {
                    HookResult::block("not here")
                } else {
                    HookResult::allow()
                };
                Ok::<_, BoxError>(if words.contains("more") {
                    let more = EventContent::text(ADDED);
                    result.inject(InjectedEvent::new(more, ["web", "desk"]))
                } else {
                    result
                })
            }
        });
        let speak = HookOptions::new("speech").timeout(HOOK_TIMEOUT);
        let probe = self.probe.clone();
        kit.hook(BeforeTts, speak, move |_, context| {
            let probe = probe.clone();
            async move {
                probe.at(Part::Hook, "before_tts", Moment::Before).await?;
                Ok::<_, BoxError>(HookResult::allow().task(context.task("spoken")))
            }
        });
        let unknown = HookOptions::new("unknown").timeout(HOOK_TIMEOUT);
        let probe = self.probe.clone();
        kit.hook(OnIdentityUnknown, unknown, move |case, _| {
            let probe = probe.clone();
            async move {
                probe.at_infallible(Part::Hook, "on_identity_unknown").await;
                let sender = case.event.source.participant_id.as_ref();
                let is_new = sender.is_some_and(|sender| sender.as_str() == "nora");
                is_new.then(|| IdentityDecision::Create(Identity::new("nora-1")))
            }
        });
        let ambiguous = HookOptions::new("ambiguous").timeout(HOOK_TIMEOUT);
        let probe = self.probe.clone();
        kit.hook(OnIdentityAmbiguous, ambiguous, move |_, _| {
            let probe = probe.clone();
            async move {
                probe
                    .at_infallible(Part::Hook, "on_identity_ambiguous")
                    .await;
                Some(IdentityDecision::Pending {
                    display_name: None,
                    candidates: Vec::new(),
                })
            }
        });
        macro_rules! observe {
            ($($point:ident)+) => {$({
                let probe = self.probe.clone();
                kit.observe($point, stringify!($point), move |_, _| {
                    let probe = probe.clone();
                    async move { observed(&probe, stringify!($point)).await }
                });
            })+};
        }
        observe! {
            BeforeBroadcast BeforeTts AfterBroadcast OnEventUpdated OnEventDeleted OnTaskCreated
            OnError OnRoomCreated OnRoomPaused OnRoomClosed OnDeliveryStatus OnChannelAttached
            OnChannelDetached OnChannelMuted OnChannelUnmuted OnParticipantJoined
            OnParticipantLeft OnParticipantUpdated OnParticipantIdentified OnFeedback OnSessionStarted
        }
        let probe = self.probe.clone();
        kit.on_any(move |_| {
            let probe = probe.clone();
            async move { probe.at_infallible(Part::Listener, "hears").await }
        });
    }

    pub(crate) fn transport(&self, id: &str) -> Option<&FaultyTransport> {
        use roomkit_core::Channel;
        self.transports
            .iter()
            .find(|transport| transport.id().as_str() == id)
    }

    /// How often hooks were told that something failed.
    pub(crate) fn errors(&self) -> usize {
        self.errors.load(Ordering::Relaxed)
    }

    /// What the kit has told so far.
    pub(crate) fn heard(&self) -> Vec<String> {
        self.heard
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// How often it told of something.
    pub(crate) fn times_heard(&self, word: &str) -> usize {
        self.heard().iter().filter(|heard| *heard == word).count()
    }

    /// Every room with its timeline, as the store has it.
    pub(crate) async fn rooms(
        &self,
    ) -> Result<Vec<(Arc<roomkit_core::model::Room>, Vec<Arc<RoomEvent>>)>> {
        let memory = self.store.memory();
        let rooms = memory
            .list_rooms(&RoomFilter::default(), Page::first(100))
            .await?;
        let mut found = Vec::new();
        for room in rooms {
            let events = memory
                .events(&room.id, &EventQuery::first(usize::MAX))
                .await?;
            found.push((room, events));
        }
        Ok(found)
    }

    /// The events of the room.
    pub(crate) async fn timeline(&self) -> Result<Vec<Arc<RoomEvent>>> {
        self.store
            .memory()
            .events(&RoomId::from(ROOM), &EventQuery::first(usize::MAX))
            .await
    }

    /// Says something in the room, as scenes do to prepare.
    pub(crate) async fn said(&self, text: &str) -> Result<Arc<RoomEvent>> {
        let message = InboundMessage::text("web", "ann", text).in_room(ROOM);
        let result = self.kit.process_inbound(message).await?;
        result
            .event
            .ok_or_else(|| crate::scene::unexpected("it was refused"))
    }
}
