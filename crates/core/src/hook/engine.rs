//! The hook engine: keeps the registered hooks in order, runs the synchronous, starts the others.

use std::any::{Any, TypeId};
use std::collections::{HashMap, HashSet};
use std::error::Error as StdError;
use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};

use async_trait::async_trait;
use foldhash::fast::RandomState;
use futures_util::future::BoxFuture;

use super::result::{HookAction, HookEffects};
use super::{FailurePolicy, HookOptions, HookPoint, HookReturn, HookTrigger, IntoHookReturn};
use crate::clock::Clock;
use crate::context::RoomContext;
use crate::error::Result;
use crate::model::{Room, RoomId};
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::tasks::Tasks;
use crate::sync::{read, write};

type BoxError = Box<dyn StdError + Send + Sync>;
type Call<P, R> =
    Box<dyn Fn(P, RoomContext) -> BoxFuture<'static, Result<R, BoxError>> + Send + Sync>;

/// How many rooms' provided hooks are remembered; past that the oldest are asked for again.
const MOST_PROVIDED: usize = 10_000;

/// Puts provided hooks behind registered ones, whenever they were asked for.
const PROVIDED: u64 = 1 << 63;

/// The function of a hook: one that decides, or one that looks on after the pass.
enum Handler<P: HookPoint> {
    Decides(Call<P::Payload, P::Returns>),
    Observes(Call<P::Payload, ()>),
}

/// A hook of any point, ready to be registered.
#[derive(Clone)]
pub struct Hook {
    point: TypeId,
    trigger: HookTrigger,
    observes: bool,
    options: Arc<HookOptions>,
    /// A `Handler<P>` of the point whose `TypeId` is `point`.
    handler: Arc<dyn Any + Send + Sync>,
    order: u64,
}

impl Hook {
    /// A hook of point `P`, called as the point's mode says.
    pub fn new<P, F, Fut>(_point: P, options: impl Into<HookOptions>, function: F) -> Self
    where
        P: HookPoint,
        F: Fn(P::Payload, RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<P::Returns>,
    {
        let function = Arc::new(function);
        let call: Call<P::Payload, P::Returns> = Box::new(move |payload, context| {
            let function = Arc::clone(&function);
            Box::pin(async move { function(payload, context).await.into_hook_return() })
        });
        Self::erase::<P>(options.into(), Handler::Decides(call))
    }

    /// A hook that looks on after the pass, also at a point whose other hooks decide (RFC §9.3).
    pub fn observer<P, F, Fut>(_point: P, options: impl Into<HookOptions>, function: F) -> Self
    where
        P: HookPoint,
        F: Fn(P::Payload, RoomContext) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHookReturn<()>,
    {
        let function = Arc::new(function);
        let call: Call<P::Payload, ()> = Box::new(move |payload, context| {
            let function = Arc::clone(&function);
            Box::pin(async move { function(payload, context).await.into_hook_return() })
        });
        Self::erase::<P>(options.into(), Handler::Observes(call))
    }

    fn erase<P: HookPoint>(options: HookOptions, handler: Handler<P>) -> Self {
        Self {
            point: TypeId::of::<P>(),
            trigger: P::TRIGGER,
            observes: matches!(handler, Handler::Observes(_)),
            options: Arc::new(options),
            handler: Arc::new(handler),
            order: 0,
        }
    }

    /// The trigger of the hook's point.
    #[must_use]
    pub fn trigger(&self) -> HookTrigger {
        self.trigger
    }

    /// The hook's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.options.name
    }

    fn key(&self) -> (i32, u64) {
        (self.options.priority, self.order)
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("trigger", &self.trigger)
            .field("observes", &self.observes)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

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

/// Why a hook yielded no usable result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookFailure {
    pub(crate) hook: String,
    pub(crate) trigger: HookTrigger,
    pub(crate) timed_out: bool,
    pub(crate) error: String,
}

/// What the synchronous hooks of a point made of a payload.
#[derive(Debug)]
pub(crate) struct SyncOutcome<P> {
    pub(crate) verdict: HookVerdict<P>,
    pub(crate) effects: HookEffects,
    pub(crate) failures: Vec<HookFailure>,
}

/// Whether a payload may go on after the hooks of its point.
#[derive(Debug, Clone, PartialEq)]
pub enum HookVerdict<P> {
    /// It may, perhaps changed.
    Allowed(P),
    /// It may not.
    Blocked {
        /// The hook's reason, or `hook_failed` where a failing hook blocks.
        reason: String,
        /// The hook's name.
        blocked_by: String,
    },
}

type HookList = Arc<Vec<Hook>>;

/// Hooks by point, each list in the order in which they run.
type ByPoint = HashMap<TypeId, HookList, RandomState>;

pub(crate) struct HookEngine {
    clock: Arc<dyn Clock>,
    provider: Option<Arc<dyn RoomHooks>>,
    fail_closed: HashSet<HookTrigger>,
    order: AtomicU64,
    global: RwLock<ByPoint>,
    rooms: RwLock<HashMap<RoomId, ByPoint, RandomState>>,
    provided: RwLock<HashMap<RoomId, ByPoint, RandomState>>,
    /// Whether any room ever had a hook of its own.
    any_of_rooms: AtomicBool,
    /// How many observers were started and have not had their first turn.
    unstarted: AtomicUsize,
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

    /// Whether there may be any hook at all.
    pub(crate) fn any(&self) -> bool {
        self.order.load(Ordering::Relaxed) > 0
    }

    fn ordered(&self, mut hook: Hook) -> Hook {
        hook.order = self.order.fetch_add(1, Ordering::Relaxed);
        hook
    }

    /// The hooks of a point in a room, in the order in which they run; `None` where there is none.
    fn list<P: HookPoint>(&self, room: &RoomId) -> Option<HookList> {
        if !self.any() {
            return None;
        }
        let point = TypeId::of::<P>();
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
        mut payload: P::Payload,
        accept: impl Fn(&P::Payload) -> Result<(), String> + Send,
    ) -> SyncOutcome<P::Payload> {
        let mut effects = HookEffects::default();
        let mut failures = Vec::new();
        let list = self.list::<P>(context.room_id());
        for hook in list.iter().flat_map(|list| list.iter()) {
            let Some(Handler::Decides(call)) = hook.handler.downcast_ref::<Handler<P>>() else {
                continue;
            };
            if !hook.options.matches(P::source(&payload)) {
                continue;
            }
            let answer = self
                .guard(hook, call(payload.clone(), context.clone()))
                .await;
            let answer = answer
                .map(|returned| returned.into_result(&payload))
                .and_then(|result| match &result.action {
                    HookAction::Modify(changed) => match accept(changed) {
                        Ok(()) => Ok(result),
                        Err(problem) => {
                            Err(self.failure(hook, false, format!("unusable payload: {problem}")))
                        }
                    },
                    HookAction::Allow | HookAction::Block { .. } => Ok(result),
                });
            match answer {
                Ok(mut result) => {
                    if let Some(more) = result.effects.take() {
                        effects.add(*more);
                    }
                    match result.action {
                        HookAction::Allow => {}
                        HookAction::Modify(changed) => {
                            payload = changed;
                            if P::is_settled(&payload) {
                                break;
                            }
                        }
                        HookAction::Block { reason } => {
                            let blocked_by = hook.options.name.clone();
                            let verdict = HookVerdict::Blocked { reason, blocked_by };
                            return SyncOutcome {
                                verdict,
                                effects,
                                failures,
                            };
                        }
                    }
                }
                Err(failure) => {
                    failures.push(failure);
                    if P::FAILURE == FailurePolicy::Block || self.fail_closed.contains(&P::TRIGGER)
                    {
                        let verdict = HookVerdict::Blocked {
                            reason: "hook_failed".to_owned(),
                            blocked_by: hook.options.name.clone(),
                        };
                        return SyncOutcome {
                            verdict,
                            effects,
                            failures,
                        };
                    }
                }
            }
        }
        SyncOutcome {
            verdict: HookVerdict::Allowed(payload),
            effects,
            failures,
        }
    }

    /// Starts every observing hook of `P` in a task of its own; none of them can hold anything up.
    pub(crate) fn observe<P: HookPoint>(
        self: &Arc<Self>,
        tasks: &Arc<Tasks>,
        context: &RoomContext,
        payload: &P::Payload,
    ) {
        let Some(list) = self.list::<P>(context.room_id()) else {
            return;
        };
        for (at, hook) in list.iter().enumerate() {
            if !(hook.observes || P::MODE == super::HookMode::Async) {
                continue;
            }
            if !hook.options.matches(P::source(payload)) {
                continue;
            }
            let (engine, list) = (Arc::clone(self), Arc::clone(&list));
            let (payload, context) = (payload.clone(), context.clone());
            self.unstarted.fetch_add(1, Ordering::Relaxed);
            let unstarted = Unstarted(Arc::clone(self));
            tasks.spawn(async move {
                drop(unstarted);
                let Some(hook) = list.get(at) else { return };
                let Some(handler) = hook.handler.downcast_ref::<Handler<P>>() else {
                    return;
                };
                // A failure has been logged by then, and nobody waits for the answer.
                let _ = match handler {
                    Handler::Observes(call) => engine.guard(hook, call(payload, context)).await,
                    Handler::Decides(call) => {
                        engine.guard(hook, call(payload, context)).await.map(drop)
                    }
                };
            });
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
        let holds = |hook: &Hook| {
            hook.options.hold_streams && !hook.observes && hook.options.matches(P::source(payload))
        };
        self.list::<P>(room)
            .is_some_and(|list| list.iter().any(holds))
    }

    /// Waits for a hook within its time limit, and turns a panic into a failure.
    async fn guard<R>(
        &self,
        hook: &Hook,
        answer: BoxFuture<'static, Result<R, BoxError>>,
    ) -> Result<R, HookFailure> {
        match guard(&*self.clock, hook.options.timeout, pin!(answer)).await {
            Ok(Ok(returned)) => Ok(returned),
            Ok(Err(error)) => Err(self.failure(hook, false, error.to_string())),
            Err(NoAnswer::Panicked) => Err(self.failure(hook, false, "panicked".to_owned())),
            Err(NoAnswer::TookTooLong) => {
                let limit = hook.options.timeout.as_millis();
                Err(self.failure(hook, true, format!("took longer than {limit} ms")))
            }
        }
    }

    fn failure(&self, hook: &Hook, timed_out: bool, error: String) -> HookFailure {
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

impl HookEffects {
    fn add(&mut self, more: Self) {
        self.injected.extend(more.injected);
        self.tasks.extend(more.tasks);
        self.observations.extend(more.observations);
        self.metadata.merge(&more.metadata);
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

fn insert(hooks: &mut ByPoint, hook: Hook) {
    let list = Arc::make_mut(hooks.entry(hook.point).or_default());
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
