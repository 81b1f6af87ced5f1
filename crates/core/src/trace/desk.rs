//! Where traces arrive: told to callbacks at once, and to the hooks of their room, one after the other.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::buffer::{Buffer, Key};
use super::limits::{TraceFilter, TraceLimits, TraceStats};
use crate::hook::{Listeners, OnProtocolTrace};
use crate::kit::Inner;
use crate::model::{ChannelId, ProtocolTrace, RoomId, TracePayload};
use crate::pipeline::Scope;
use crate::redaction::Redaction;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use crate::sync::lock;
use crate::telemetry::metric;

/// The traces of a kit.
#[derive(Debug)]
pub(crate) struct Desk {
    limits: TraceLimits,
    redaction: Redaction,
    pub(crate) callbacks: Listeners<TraceFilter, ProtocolTrace>,
    /// Whether anything waits: most kits have no traces, and look no further.
    holds_some: AtomicBool,
    told: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    buffer: Buffer,
    /// The rooms whose hooks are being told, and whether something has come up since the last look.
    busy: HashMap<RoomId, bool>,
}

/// What was counted of the drops when they were last told of.
struct Dropped {
    age: u64,
    number: u64,
    nowhere: u64,
}

impl Dropped {
    fn of(stats: &TraceStats) -> Self {
        Self {
            age: stats.dropped_by_age,
            number: stats.dropped_by_number,
            nowhere: stats.without_room,
        }
    }
}

impl Desk {
    pub(crate) fn new(limits: TraceLimits, redaction: Redaction) -> Self {
        Self {
            limits,
            redaction,
            callbacks: Listeners::default(),
            holds_some: AtomicBool::new(false),
            told: AtomicU64::new(0),
            state: Mutex::new(State {
                buffer: Buffer::new(limits),
                busy: HashMap::new(),
            }),
        }
    }

    /// Whether anybody wants traces.
    pub(crate) fn is_enabled(&self, inner: &Inner) -> bool {
        self.callbacks.is_heard() || wanted_by_hooks(inner)
    }

    /// Takes a trace: tells the callbacks, then the hooks of its room, or keeps it for them.
    pub(crate) fn take(&self, inner: &Arc<Inner>, scope: &Scope, trace: ProtocolTrace) {
        let trace = self.redaction.trace(trace);
        let trace = cut(trace, self.limits.max_raw_bytes);
        let wants = |filter: &TraceFilter| filter.wants(&trace);
        self.callbacks.tell(&inner.tasks, wants, || trace.clone());
        if !wanted_by_hooks(inner) {
            return;
        }
        let room = trace.room_id.clone().or_else(|| resolved(inner, &trace));
        let key = match (&room, &trace.session_id) {
            (Some(room), _) => Key::Room(room.clone()),
            (None, Some(session)) => {
                Key::Session(scope.0.clone(), trace.channel_id.clone(), session.clone())
            }
            (None, None) => {
                self.change(inner, |state| state.buffer.stats.without_room += 1);
                return;
            }
        };
        let now = inner.clock.elapsed();
        self.change(inner, |state| {
            let mut trace = trace;
            if let (Some(room), Some(session)) = (&room, &trace.session_id) {
                // What came of the session before its room was known is told first.
                state
                    .buffer
                    .bind(scope, &trace.channel_id, session, room, now);
            }
            trace.room_id = room.clone();
            state.buffer.push(key, scope.clone(), trace, now);
        });
        if let Some(room) = room {
            self.tell(inner, room);
        }
    }

    /// Says which room a session is of.
    pub(crate) fn bind(
        &self,
        inner: &Arc<Inner>,
        scope: &Scope,
        channel: &ChannelId,
        session: &str,
        room: &RoomId,
    ) {
        let now = inner.clock.elapsed();
        self.change(inner, |state| {
            state.buffer.bind(scope, channel, session, room, now);
        });
        self.tell(inner, room.clone());
    }

    /// A channel was attached to a room: what waited for that is told.
    pub(crate) fn attached(&self, inner: &Arc<Inner>, channel: &ChannelId, room: &RoomId) {
        if !self.holds_some.load(Ordering::Acquire) {
            return;
        }
        let sessions = lock(&self.state).buffer.sessions(channel);
        for (scope, session) in sessions {
            if resolve(inner, channel, Some(&session)).as_ref() == Some(room) {
                self.bind(inner, &scope, channel, &session, room);
            }
        }
        self.tell(inner, room.clone());
    }

    pub(crate) fn stats(&self, inner: &Inner) -> TraceStats {
        let now = inner.clock.elapsed();
        let mut stats = self.change(inner, |state| {
            state.buffer.expire(now);
            TraceStats {
                waiting: u64::try_from(state.buffer.waiting()).unwrap_or(u64::MAX),
                ..state.buffer.stats
            }
        });
        stats.told = self.told.load(Ordering::Relaxed);
        stats
    }

    /// Changes the state, and tells of what was dropped by that.
    fn change<T>(&self, inner: &Inner, change: impl FnOnce(&mut State) -> T) -> T {
        let (result, before, after) = {
            let mut state = lock(&self.state);
            let before = Dropped::of(&state.buffer.stats);
            let result = change(&mut state);
            let holds_some = state.buffer.waiting() > 0;
            self.holds_some.store(holds_some, Ordering::Release);
            (result, before, Dropped::of(&state.buffer.stats))
        };
        let reasons = [
            ("age", after.age - before.age),
            ("number", after.number - before.number),
            ("without_room", after.nowhere - before.nowhere),
        ];
        for (reason, dropped) in reasons {
            if dropped > 0 {
                tracing::debug!(reason, dropped, "protocol traces dropped");
                #[expect(clippy::cast_precision_loss, reason = "far fewer than 2⁵³")]
                inner
                    .spans
                    .metric(metric::TRACES_DROPPED, dropped as f64, |attributes| {
                        attributes.set("reason", reason);
                    });
            }
        }
        result
    }

    /// Tells the hooks of a room, one trace after the other, unless that is being done.
    fn tell(&self, inner: &Arc<Inner>, room: RoomId) {
        match lock(&self.state).busy.entry(room.clone()) {
            Entry::Occupied(mut again) => {
                again.insert(true);
                return;
            }
            Entry::Vacant(busy) => busy.insert(false),
        };
        let telling = Telling {
            inner: Arc::clone(inner),
            room,
            ended: AtomicBool::new(false),
        };
        inner.tasks.spawn(async move { telling.run().await });
    }
}

/// The work of telling one room's hooks. However it ends, the next trace starts it anew.
struct Telling {
    inner: Arc<Inner>,
    room: RoomId,
    ended: AtomicBool,
}

impl Telling {
    async fn run(&self) {
        while self.tell_waiting().await || self.has_come_up() {}
    }

    /// Tells what waits; `false` when there was nothing, or nothing can be told yet.
    async fn tell_waiting(&self) -> bool {
        let Self { inner, room, .. } = self;
        let desk = &inner.traces;
        let found = match inner.read(inner.store.room(room)).await {
            Ok(Some(found)) => found,
            // They wait until somebody says that the room is there.
            Ok(None) => return false,
            Err(error) => {
                tracing::error!(room_id = %room, code = error.code(), "traces wait: their room could not be read");
                return false;
            }
        };
        let now = inner.clock.elapsed();
        let key = Key::Room(room.clone());
        let waiting = desk.change(inner, |state| state.buffer.take(&key, now));
        if waiting.is_empty() {
            return false;
        }
        inner.load_hooks(&found.room).await;
        let context = inner.context(found);
        for held in waiting {
            if !held.scope.admits(context.room()) {
                desk.change(inner, |state| state.buffer.stats.without_room += 1);
                continue;
            }
            desk.told.fetch_add(1, Ordering::Relaxed);
            let hooks = &inner.hooks;
            hooks
                .tell_all::<OnProtocolTrace>(&context, &held.trace)
                .await;
        }
        true
    }

    /// Whether something has come up since the last look; where nothing has, this work is over.
    fn has_come_up(&self) -> bool {
        let mut state = lock(&self.inner.traces.state);
        let again = state.busy.get_mut(&self.room).is_some_and(std::mem::take);
        if !again {
            state.busy.remove(&self.room);
            self.ended.store(true, Ordering::Relaxed);
        }
        again
    }
}

impl Drop for Telling {
    fn drop(&mut self) {
        if !self.ended.load(Ordering::Relaxed) {
            lock(&self.inner.traces.state).busy.remove(&self.room);
        }
    }
}

fn wanted_by_hooks(inner: &Inner) -> bool {
    inner.hooks.may_have::<OnProtocolTrace>(true) || inner.hooks.has_provider()
}

fn resolved(inner: &Inner, trace: &ProtocolTrace) -> Option<RoomId> {
    resolve(inner, &trace.channel_id, trace.session_id.as_deref())
}

/// The room of a session, from a channel that may panic.
fn resolve(inner: &Inner, channel: &ChannelId, session: Option<&str>) -> Option<RoomId> {
    let channel = inner.channel(channel)?;
    let room = catch_unwind(AssertUnwindSafe(|| channel.resolve_trace_room(session)));
    room.unwrap_or_else(|_panic| {
        tracing::error!(channel_id = %channel.id(), "channel panicked when asked for the room of a session");
        None
    })
}

/// A trace whose raw message is not longer than it may be.
fn cut(mut trace: ProtocolTrace, most: usize) -> ProtocolTrace {
    let length = match &mut trace.raw {
        Some(TracePayload::Text(text)) if text.len() > most => {
            let length = text.len();
            let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or_default());
            length
        }
        Some(TracePayload::Bytes(bytes)) if bytes.len() > most => {
            let length = bytes.len();
            bytes.truncate(most);
            length
        }
        Some(_) | None => return trace,
    };
    trace.metadata.insert("raw_bytes", length);
    trace
}
