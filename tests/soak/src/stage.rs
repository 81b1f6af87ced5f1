//! The kit that is soaked, and what the tasks share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roomkit_core::hook::{
    AfterBroadcast, BeforeBroadcast, BoxError, Hook, HookResult, OnRoomPaused, OnTaskCreated,
    RoomHooks,
};
use roomkit_core::model::Room;
use roomkit_core::{RoomKit, Rooms, async_trait};
use roomkit_testkit::ManualClock;

use crate::channels::{Agent, BROKEN, HELPER, SPOKEN, TELLER, Transport};
use crate::options::Options;

/// No limit of time is to run out because the clock is turned fast.
const PATIENCE: Duration = Duration::from_secs(1_000_000);

/// How many violations are kept.
const MOST_KEPT: usize = 50;

pub(crate) struct Stage {
    pub(crate) kit: RoomKit,
    pub(crate) clock: ManualClock,
    pub(crate) options: Options,
    pub(crate) transports: Vec<Transport>,
    /// How many operations were begun.
    pub(crate) begun: AtomicU64,
    /// How many events rooms had when they were removed, and at the end.
    pub(crate) events: AtomicU64,
    /// How many rooms were made.
    pub(crate) made: AtomicU64,
    /// How many comparisons of a whole room with its model were made.
    pub(crate) compared: AtomicU64,
    /// How many ephemeral events were heard.
    pub(crate) heard: Arc<AtomicU64>,
    /// How often hooks looked on.
    pub(crate) observed: Arc<AtomicU64>,
    violations: Mutex<(u64, Vec<String>)>,
    /// What is lost on purpose.
    leaked: Mutex<Vec<Vec<u8>>>,
}

/// A hook for each room, so that what is kept of rooms' hooks is soaked too.
#[derive(Debug)]
struct Provider;

#[async_trait]
impl RoomHooks for Provider {
    async fn hooks_of(&self, _room: &Room) -> roomkit_core::Result<Vec<Hook>> {
        Ok(vec![Hook::new(
            BeforeBroadcast,
            "of the room",
            |_, _| async { HookResult::allow() },
        )])
    }
}

impl Stage {
    pub(crate) fn new(options: Options) -> roomkit_core::Result<Self> {
        let clock = ManualClock::new();
        let kit = RoomKit::builder()
            .clock(Arc::new(clock.clone()))
            .room_hooks(Arc::new(Provider))
            .process_timeout(PATIENCE)
            .delivery_timeout(PATIENCE)
            .agent_timeout(PATIENCE)
            // Reached soon, so that what is remembered does not look like growth.
            .remembered_deliveries(1_000)
            .build()?;
        let ids = SPOKEN.into_iter().chain([BROKEN]);
        let transports: Vec<_> = ids.map(|id| Transport::new(id, &clock)).collect();
        for transport in &transports {
            kit.register_channel(transport.clone())?;
        }
        kit.register_channel(Agent::new(HELPER))?;
        kit.register_channel(Agent::new(TELLER))?;
        kit.hook(BeforeBroadcast, "moderate", |event, _| async move {
            let words = event.text().unwrap_or_default().to_owned();
            if words.contains("forbidden") {
                return Ok::<_, BoxError>(HookResult::block("not here"));
            }
            if words.contains("trip") {
                return Err("the hook tripped".into());
            }
            if words.contains("loud") {
                tokio::task::yield_now().await;
                let mut quiet = event;
                quiet.set_text(words.replace("loud", "quiet"));
                return Ok(HookResult::modify(quiet));
            }
            Ok(HookResult::allow())
        });
        let observed = Arc::<AtomicU64>::default();
        macro_rules! observe {
            ($($point:ident)+) => {$({
                let observed = Arc::clone(&observed);
                kit.observe($point, "looks on", move |_, _| {
                    observed.fetch_add(1, Ordering::Relaxed);
                    async {}
                });
            })+};
        }
        observe!(AfterBroadcast OnTaskCreated OnRoomPaused);
        kit.on_any(|_| async {});
        Ok(Self {
            kit,
            clock,
            options,
            transports,
            begun: AtomicU64::new(0),
            events: AtomicU64::new(0),
            made: AtomicU64::new(0),
            compared: AtomicU64::new(0),
            heard: Arc::default(),
            observed,
            violations: Mutex::default(),
            leaked: Mutex::default(),
        })
    }

    /// The handle of a slot's rooms: a third of them are an organisation's.
    pub(crate) fn rooms(&self, slot: usize) -> Rooms {
        if slot.is_multiple_of(3) {
            self.kit.org("acme")
        } else {
            (*self.kit).clone()
        }
    }

    pub(crate) fn violation(&self, what: String) {
        let mut violations = self
            .violations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        violations.0 += 1;
        if violations.1.len() < MOST_KEPT {
            violations.1.push(what);
        }
    }

    /// How many violations there were, and the first of them.
    pub(crate) fn violations(&self) -> (u64, Vec<String>) {
        let violations = self
            .violations
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        violations.clone()
    }

    /// Loses some memory, where that is asked for.
    pub(crate) fn leak(&self) {
        if self.options.leak > 0 {
            let mut leaked = self.leaked.lock().unwrap_or_else(PoisonError::into_inner);
            leaked.push(vec![1; self.options.leak]);
        }
    }
}
