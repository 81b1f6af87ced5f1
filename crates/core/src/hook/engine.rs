//! The hook engine: keeps the registered hooks in order, runs the synchronous, starts the others.

use std::any::TypeId;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::poll_fn;
use std::hash::BuildHasher;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use async_trait::async_trait;
use foldhash::fast::{FixedState, RandomState};
use tokio::sync::watch;

use super::handler::{Call, First, Handler, Hook, Later};
use super::run::{HookFailure, HookVerdict, Run, Step, SyncOutcome};
use super::{HookPoint, HookTrigger};
use crate::clock::Clock;
use crate::context::RoomContext;
use crate::error::Result;
use crate::model::{Room, RoomId};
use crate::sync::RwLock;
use crate::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::tasks::Tasks;
use crate::sync::{read, write};

/// What came of calling a hook.
pub(super) enum Started<R> {
    Answered(Result<R, HookFailure>),
    Waits(Later<R>),
}

/// How many rooms' provided hooks are remembered; past that the oldest are asked for again.
const MOST_PROVIDED: usize = 10_000;

/// Puts provided hooks behind registered ones, whenever they were asked for.
const PROVIDED: u64 = 1 << 63;

/// Says which hooks a room has, so that they survive a restart and hold in every process.
#[async_trait]
pub trait RoomHooks: Send + Sync + fmt::Debug + 'static {
    /// The hooks of `room`; asked once, when something first happens in the room. Of hooks of equal
    /// priority these run after those that were registered.
    ///
    /// # Errors
    /// A failure fails the pass: an event is not let through because its hooks could not be loaded.
    async fn hooks_of(&self, room: &Room) -> Result<Vec<Hook>>;
}

type HookList = Arc<Vec<Hook>>;

/// Hooks by point and whether they look on, each list in the order in which they run.
type ByPoint = HashMap<(TypeId, bool), HookList, RandomState>;

pub(crate) struct HookEngine {
    clock: Arc<dyn Clock>,
    provider: Option<Arc<dyn RoomHooks>>,
    pub(super) fail_closed: HashSet<HookTrigger>,
    order: AtomicU64,
    /// The bits of all points that ever had a hook; most points never have, and are not looked up.
    some: AtomicU64,
    global: RwLock<ByPoint>,
    rooms: RwLock<HashMap<RoomId, ByPoint, RandomState>>,
    provided: RwLock<HashMap<RoomId, ByPoint, RandomState>>,
    /// Whether any room ever had a hook of its own.
    any_of_rooms: AtomicBool,
    /// How many observers were started and have not had their first turn.
    unstarted: AtomicUsize,
}

/// Is held by observers until they have ended.
#[derive(Debug, Clone)]
pub(crate) struct Running(#[expect(dead_code, reason = "held, not read")] Arc<watch::Sender<()>>);

/// Tells that all observers that were given the other half have ended.
#[derive(Debug)]
pub(crate) struct ObserversDone(watch::Receiver<()>);

impl ObserversDone {
    pub(crate) fn new() -> (Running, Self) {
        let (sender, receiver) = watch::channel(());
        (Running(Arc::new(sender)), Self(receiver))
    }

    pub(crate) async fn wait(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// An observer that has not had its first turn.
struct Unstarted(Arc<HookEngine>);

impl Drop for Unstarted {
    fn drop(&mut self) {
        self.0.unstarted.fetch_sub(1, Ordering::Relaxed);
    }
}

impl HookEngine {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        provider: Option<Arc<dyn RoomHooks>>,
        fail_closed: HashSet<HookTrigger>,
    ) -> Self {
        Self {
            clock,
            provider,
            fail_closed,
            order: AtomicU64::new(0),
            some: AtomicU64::new(0),
            global: RwLock::default(),
            rooms: RwLock::default(),
            provided: RwLock::default(),
            any_of_rooms: AtomicBool::new(false),
            unstarted: AtomicUsize::new(0),
        }
    }

    pub(crate) fn add(&self, hook: Hook) {
        insert(&mut write(&self.global), self.ordered(hook));
    }

    pub(crate) fn add_to_room(&self, room: &RoomId, hook: Hook) {
        let hook = self.ordered(hook);
        self.any_of_rooms.store(true, Ordering::Release);
        insert(write(&self.rooms).entry(room.clone()).or_default(), hook);
    }

    pub(crate) fn remove(&self, name: &str) -> bool {
        remove(&mut write(&self.global), name)
    }

    pub(crate) fn remove_from_room(&self, room: &RoomId, name: &str) -> bool {
        let mut rooms = write(&self.rooms);
        let Some(hooks) = rooms.get_mut(room) else {
            return false;
        };
        let removed = remove(hooks, name);
        if hooks.is_empty() {
            rooms.remove(room);
        }
        removed
    }

    /// Forgets the hooks of a room that is gone.
    pub(crate) fn forget_room(&self, room: &RoomId) {
        write(&self.rooms).remove(room);
        write(&self.provided).remove(room);
    }

    /// Whether rooms have hooks of their own to be asked for.
    pub(crate) fn has_provider(&self) -> bool {
        self.provider.is_some()
    }

    /// Asks the provider for the room's hooks, once.
    pub(crate) async fn load(&self, room: &Room) -> Result<()> {
        let Some(provider) = &self.provider else {
            return Ok(());
        };
        if read(&self.provided).contains_key(&room.id) {
            return Ok(());
        }
        let mut hooks = ByPoint::default();
        for hook in provider.hooks_of(room).await? {
            let mut hook = self.ordered(hook);
            hook.order |= PROVIDED;
            insert(&mut hooks, hook);
        }
        let mut provided = write(&self.provided);
        if provided.len() >= MOST_PROVIDED {
            provided.clear();
        }
        provided.insert(room.id.clone(), hooks);
        self.any_of_rooms.store(true, Ordering::Release);
        Ok(())
    }

    /// Whether there may be hooks of `P` that decide, or that look on.
    pub(crate) fn may_have<P: HookPoint>(&self, observes: bool) -> bool {
        let bit = bit_of(&(TypeId::of::<P>(), observes));
        self.some.load(Ordering::Acquire) & bit != 0
    }

    fn ordered(&self, mut hook: Hook) -> Hook {
        let bit = bit_of(&(hook.point, hook.observes));
        self.some.fetch_or(bit, Ordering::Release);
        hook.order = self.order.fetch_add(1, Ordering::Relaxed);
        hook
    }

    /// Those hooks of a point in a room that decide, or that look on, in the order in which they run;
    /// `None` where there is none.
    fn list<P: HookPoint>(&self, room: &RoomId, observes: bool) -> Option<HookList> {
        if !self.may_have::<P>(observes) {
            return None;
        }
        let point = (TypeId::of::<P>(), observes);
        let global = read(&self.global).get(&point).cloned();
        if !self.any_of_rooms.load(Ordering::Acquire) {
            return global;
        }
        let of_room = |map: &RwLock<HashMap<RoomId, ByPoint, RandomState>>| {
            read(map)
                .get(room)
                .and_then(|hooks| hooks.get(&point))
                .cloned()
        };
        let mut lists = [global, of_room(&self.rooms), of_room(&self.provided)]
            .into_iter()
            .flatten();
        let first = lists.next()?;
        let rest: Vec<HookList> = lists.collect();
        if rest.is_empty() {
            return Some(first);
        }
        let mut merged: Vec<Hook> = first
            .iter()
            .chain(rest.iter().flat_map(|list| list.iter()))
            .cloned()
            .collect();
        merged.sort_by_key(Hook::key);
        Some(Arc::new(merged))
    }

    /// Runs the deciding hooks of `P` one after the other. `accept` says whether a changed payload
    /// is one that can be used.
    pub(crate) async fn run<P: HookPoint>(
        &self,
        context: &RoomContext,
        payload: P::Payload,
        accept: impl Fn(&P::Payload) -> Result<(), String> + Send,
    ) -> SyncOutcome<P::Payload> {
        let mut run = Run::<P, _> {
            engine: self,
            context,
            accept,
            payload,
            effects: None,
            failures: Vec::new(),
            settled_by: None,
        };
        let list = self.list::<P>(context.room_id(), false);
        let mut hooks = list.as_deref().map_or(&[][..], Vec::as_slice).iter();
        let blocked = loop {
            let step = poll_fn(|cx| Poll::Ready(run.at_once(&mut hooks, cx))).await;
            let (hook, answer) = match step {
                Step::Ended(blocked) => break blocked,
                Step::Waits(hook, answer) => (hook, self.wait(hook, answer).await),
            };
            if let ControlFlow::Break(blocked) = run.take(hook, answer) {
                break blocked;
            }
        };
        let Run {
            payload,
            effects,
            failures,
            settled_by,
            ..
        } = run;
        SyncOutcome {
            verdict: blocked.unwrap_or(HookVerdict::Allowed(payload)),
            effects,
            failures,
            settled_by,
        }
    }

    /// Starts every observing hook of `P` in a task of its own; none of them can hold anything up.
    /// Each holds `token` until it has ended.
    pub(crate) fn observe<P: HookPoint>(
        self: &Arc<Self>,
        tasks: &Arc<Tasks>,
        context: &RoomContext,
        payload: &P::Payload,
        token: Option<&Running>,
    ) {
        let Some(list) = self.list::<P>(context.room_id(), true) else {
            return;
        };
        for (at, hook) in list.iter().enumerate() {
            if hook.filters && !hook.options.matches(P::source(payload)) {
                continue;
            }
            let (engine, list) = (Arc::clone(self), Arc::clone(&list));
            let (payload, context) = (payload.clone(), context.clone());
            self.unstarted.fetch_add(1, Ordering::Relaxed);
            let unstarted = Unstarted(Arc::clone(self));
            let token = token.cloned();
            tasks.spawn(async move {
                drop(unstarted);
                let _token = token;
                let Some(hook) = list.get(at) else { return };
                let Some(handler) = hook.handler.downcast_ref::<Handler<P>>() else {
                    return;
                };
                match handler {
                    Handler::Observes(call) => engine.tell(hook, call, payload, context).await,
                    Handler::Decides(call) => engine.tell(hook, call, payload, context).await,
                }
            });
        }
    }

    /// Calls a hook whose answer nobody waits for; a failure is logged.
    async fn tell<P, R>(&self, hook: &Hook, call: &Call<P, R>, payload: P, context: RoomContext) {
        let mut given = Some((payload, context));
        let started = poll_fn(|cx| {
            let given = given.take();
            Poll::Ready(
                given.map(|(payload, context)| self.start(hook, || call(payload, context, cx))),
            )
        });
        if let Some(Started::Waits(answer)) = started.await {
            // Logged where it fails.
            let _ = self.wait(hook, answer).await;
        }
    }

    /// Lets observers that were just started have their first turn, so that they look on at an event
    /// before the hooks of what follows from it run.
    pub(crate) async fn let_observers_start(&self) {
        if self.unstarted.load(Ordering::Relaxed) > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Whether a deciding hook that matches this source wants streamed answers held back.
    pub(crate) fn holds_streams<P: HookPoint>(&self, room: &RoomId, payload: &P::Payload) -> bool {
        let holds =
            |hook: &Hook| hook.options.hold_streams && hook.options.matches(P::source(payload));
        self.list::<P>(room, false)
            .is_some_and(|list| list.iter().any(holds))
    }

    /// Calls a hook and polls it once. Most hooks answer then, and cost no more than this.
    pub(super) fn start<R>(&self, hook: &Hook, call: impl FnOnce() -> First<R>) -> Started<R> {
        match catch_unwind(AssertUnwindSafe(call)) {
            Ok(First::Answer(Ok(returned))) => Started::Answered(Ok(returned)),
            Ok(First::Answer(Err(error))) => {
                Started::Answered(Err(self.failure(hook, false, error.to_string())))
            }
            Ok(First::Later(answer)) => Started::Waits(answer),
            Err(_panic) => Started::Answered(Err(self.panicked(hook))),
        }
    }

    /// Waits, within the hook's time limit, for an answer that was not ready at once.
    pub(super) async fn wait<R>(&self, hook: &Hook, answer: Later<R>) -> Result<R, HookFailure> {
        match guard(&*self.clock, hook.options.timeout, pin!(answer)).await {
            Ok(Ok(returned)) => Ok(returned),
            Ok(Err(error)) => Err(self.failure(hook, false, error.to_string())),
            Err(NoAnswer::Panicked) => Err(self.panicked(hook)),
            Err(NoAnswer::TookTooLong) => {
                let limit = hook.options.timeout.as_millis();
                Err(self.failure(hook, true, format!("took longer than {limit} ms")))
            }
        }
    }

    #[cold]
    fn panicked(&self, hook: &Hook) -> HookFailure {
        self.failure(hook, false, "panicked".to_owned())
    }

    #[cold]
    pub(super) fn failure(&self, hook: &Hook, timed_out: bool, error: String) -> HookFailure {
        let name = hook.options.name.as_str();
        tracing::error!(hook = name, trigger = %hook.trigger, timed_out, error, "hook failed");
        HookFailure {
            hook: name.to_owned(),
            trigger: hook.trigger,
            timed_out,
            error,
        }
    }
}

impl fmt::Debug for HookEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookEngine")
            .field("points", &read(&self.global).len())
            .field("rooms", &read(&self.rooms).len())
            .finish_non_exhaustive()
    }
}

/// One of 64 bits; points that share one are looked up where either has a hook.
fn bit_of(point: &(TypeId, bool)) -> u64 {
    1 << (FixedState::with_seed(0).hash_one(point) % 64)
}

fn insert(hooks: &mut ByPoint, hook: Hook) {
    let list = Arc::make_mut(hooks.entry((hook.point, hook.observes)).or_default());
    let at = list.partition_point(|other| other.key() <= hook.key());
    list.insert(at, hook);
}

fn remove(hooks: &mut ByPoint, name: &str) -> bool {
    let mut removed = false;
    hooks.retain(|_, list| {
        if list.iter().any(|hook| hook.name() == name) {
            removed = true;
            Arc::make_mut(list).retain(|hook| hook.name() != name);
        }
        !list.is_empty()
    });
    removed
}
