//! Greetings: what an agent says before anybody has said anything, and the gate behind which answers
//! wait until it has been said.
//!
//! Its rules: RFC §19.1, with what begins a session in §9.2.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::future::IntoFuture;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use super::{Inner, Rooms};
use crate::channel::Channel;
use crate::clock;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChannelBinding, ChannelCategory, ChannelId, RoomEvent, RoomId};
use crate::pipeline::{self, Scope};
use crate::store::RoomSnapshot;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::inside::Inside;
use crate::sync::lock;

/// How long answers wait for a greeting that is not delivered.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Lets an agent greet a room; await it to do so.
#[derive(Debug)]
#[must_use = "nobody is greeted until this is awaited"]
pub struct SendGreeting {
    rooms: Rooms,
    room_id: RoomId,
    channel_id: Option<ChannelId>,
    text: Option<String>,
    session_id: Option<String>,
}

impl Rooms {
    /// Lets an agent greet a room: a message of the agent's that answers nothing and asks no agent, with
    /// `metadata.auto_greeting`. It passes the hooks and the agent's permissions as any message does.
    ///
    /// An agent greets a room **once**, whichever process is asked how often; a further call returns the
    /// greeting that there is. A [session](SendGreeting::session) has a greeting of its own.
    ///
    /// No agent of the room begins to answer before the greeting is delivered, at most 30 seconds; agents
    /// that another process runs know nothing of that. The future is done when the greeting is delivered,
    /// or, called from inside a channel or a hook, once it is committed.
    ///
    /// `None`, and nothing is said, where nothing is given to be said and the room has no agent that
    /// has a [greeting](Channel::greeting).
    ///
    /// ```
    /// # use roomkit_core::RoomKit;
    /// # async fn greet(kit: RoomKit) -> roomkit_core::Result<()> {
    /// kit.send_greeting("support-42").channel("helper").text("How can I help?").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound), [`RoomClosed`](ErrorKind::RoomClosed),
    ///   [`ChannelNotFound`](ErrorKind::ChannelNotFound).
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the channel is not an agent.
    /// - As those of [`send_event`](Self::send_event) otherwise.
    pub fn send_greeting(&self, room: impl Into<RoomId>) -> SendGreeting {
        SendGreeting {
            rooms: self.clone(),
            room_id: room.into(),
            channel_id: None,
            text: None,
            session_id: None,
        }
    }
}

impl SendGreeting {
    /// The agent that greets. Default: the first of the room that has something to say.
    pub fn channel(mut self, agent: impl Into<ChannelId>) -> Self {
        self.channel_id = Some(agent.into());
        self
    }

    /// What it says. Default: the [greeting](Channel::greeting) of the agent.
    pub fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    /// The session that it is for, such as a call; each has a greeting of its own. Default: the room.
    pub fn session(mut self, id: impl Into<String>) -> Self {
        self.session_id = Some(id.into());
        self
    }

    async fn send(self) -> Result<Option<Arc<RoomEvent>>> {
        let is_inside = Inside::current().is_some();
        let rooms = self.rooms.clone();
        rooms
            .to_end(move |inner, scope| async move {
                inner.closing.check()?;
                let snapshot = inner.visible_room(&scope, &self.room_id).await?;
                if !snapshot.room.status.accepts_events() {
                    return Err(Error::room_closed(&self.room_id));
                }
                let Some((agent, text)) = self.greeter(&inner, &snapshot)? else {
                    return Ok(None);
                };
                let gate = hold(&inner, &self.room_id);
                let greeting = Greeting {
                    agent,
                    text,
                    session_id: self.session_id,
                };
                let greeted = greeting.commit(&inner, &scope).await?;
                let event = greeted.result.event.clone();
                if is_inside {
                    deliver(&inner, greeted, gate);
                } else {
                    greeted.settle().await;
                    drop(gate);
                }
                Ok(event)
            })
            .await
    }

    /// Who greets, and with what.
    fn greeter(
        &self,
        inner: &Inner,
        room: &RoomSnapshot,
    ) -> Result<Option<(Arc<ChannelBinding>, String)>> {
        let is_agent =
            |binding: &Arc<ChannelBinding>| binding.category == ChannelCategory::Intelligence;
        let says = |binding: &Arc<ChannelBinding>| {
            let text = self.text.clone().or_else(|| text_of(inner, binding))?;
            (!text.trim().is_empty()).then(|| (Arc::clone(binding), text))
        };
        let Some(id) = &self.channel_id else {
            let mut agents = room.bindings.iter().filter(|binding| is_agent(binding));
            return Ok(agents.find_map(says));
        };
        let binding = room.binding(id);
        let binding = binding.ok_or_else(|| Error::not_attached(id, &self.room_id))?;
        if !is_agent(binding) {
            let problem = format!("channel_id: {id} is not an agent");
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        Ok(says(binding))
    }
}

impl IntoFuture for SendGreeting {
    type Output = Result<Option<Arc<RoomEvent>>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.send().boxed()
    }
}

/// What an agent says in a room, once.
pub(crate) struct Greeting {
    agent: Arc<ChannelBinding>,
    text: String,
    session_id: Option<String>,
}

impl Greeting {
    async fn commit(
        self,
        inner: &Arc<Inner>,
        scope: &Scope,
    ) -> Result<pipeline::inbound::Accepted> {
        let Self {
            agent,
            text,
            session_id,
        } = self;
        // The key is in the commit: of all who greet, also after a restart, one does.
        let key = match session_id {
            None => format!("_greeting:{}", agent.channel_id),
            Some(session) => format!("_greeting:{}:{session}", agent.channel_id),
        };
        pipeline::direct::greet(inner, scope, &agent, text, key).await
    }
}

/// Lets every agent of a room that does so by itself greet it. Returns once all greetings are committed;
/// the gate is held until they are delivered. One that fails is logged.
pub(crate) async fn greet_all(
    inner: &Arc<Inner>,
    scope: &Scope,
    room: &RoomId,
    session_id: Option<&str>,
    greeters: Vec<Arc<ChannelBinding>>,
    gate: &Gate,
) {
    for agent in greeters {
        let Some(text) = text_of(inner, &agent).filter(|text| !text.trim().is_empty()) else {
            continue;
        };
        let channel = agent.channel_id.clone();
        let greeting = Greeting {
            agent,
            text,
            session_id: session_id.map(str::to_owned),
        };
        // One that panics keeps neither the others nor the session from beginning.
        let greeted = AssertUnwindSafe(greeting.commit(inner, scope)).catch_unwind();
        let greeted = greeted
            .await
            .unwrap_or_else(|_panic| Err(Error::panicked()));
        match greeted {
            Ok(greeted) => deliver(inner, greeted, gate.clone()),
            Err(error) => {
                tracing::error!(room_id = %room, channel_id = %channel, code = error.code(), error = %inner.shown(&error), "agent could not greet");
            }
        }
    }
}

/// The agents of a room that greet by themselves, in the order of the room.
pub(crate) fn greeters(inner: &Inner, room: &RoomSnapshot) -> Vec<Arc<ChannelBinding>> {
    let agents = room.bindings.iter().filter(|binding| {
        binding.category == ChannelCategory::Intelligence
            && inner.greetings.greets(&binding.channel_id)
    });
    agents.cloned().collect()
}

/// Brings a greeting to its channels in the background; the gate is held until then.
fn deliver(inner: &Arc<Inner>, greeted: pipeline::inbound::Accepted, gate: Gate) {
    inner.tasks.spawn(async move {
        greeted.settle().await;
        drop(gate);
    });
}

/// The greeting of a channel, which may panic.
fn text_of(inner: &Inner, binding: &ChannelBinding) -> Option<String> {
    let channel = inner.channel(&binding.channel_id)?;
    catch_unwind(AssertUnwindSafe(|| channel.greeting())).unwrap_or_else(|_panic| {
        tracing::error!(channel_id = %binding.channel_id, "channel panicked when asked for its greeting");
        None
    })
}

/// The agents that greet, and the rooms in which a greeting is under way.
#[derive(Debug, Default)]
pub(crate) struct Greetings {
    greeters: Mutex<HashSet<ChannelId>>,
    any_greeters: AtomicUsize,
    gates: Mutex<HashMap<RoomId, Closed>>,
    /// How many gates there are, so that answers in a kit without any look up nothing.
    closed: AtomicUsize,
}

/// A gate, as those see it who wait.
#[derive(Debug)]
struct Closed {
    gate: Weak<Held>,
    /// Ends when the gate is let go.
    until: watch::Receiver<()>,
}

/// Keeps the answers in a room waiting as long as it, or a clone of it, is there.
#[derive(Debug, Clone)]
pub(crate) struct Gate(#[expect(dead_code, reason = "held, not read")] Arc<Held>);

struct Held {
    inner: Weak<Inner>,
    room: RoomId,
    _until: watch::Sender<()>,
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Held").field(&self.room).finish()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let Some(inner) = self.inner.upgrade() else {
            return;
        };
        let own: *const Self = self;
        inner
            .greetings
            .open(&self.room, |gate| std::ptr::eq(gate.as_ptr(), own));
    }
}

/// Closes the gate of a room, or joins those who have.
pub(crate) fn hold(inner: &Arc<Inner>, room: &RoomId) -> Gate {
    let greetings = &inner.greetings;
    let mut gates = lock(&greetings.gates);
    if let Some(held) = gates.get(room).and_then(|closed| closed.gate.upgrade()) {
        return Gate(held);
    }
    let (sender, until) = watch::channel(());
    let held = Arc::new(Held {
        inner: Arc::downgrade(inner),
        room: room.clone(),
        _until: sender,
    });
    let gate = Arc::downgrade(&held);
    gates.insert(room.clone(), Closed { gate, until });
    greetings.closed.store(gates.len(), Ordering::Release);
    Gate(held)
}

impl Greetings {
    /// Takes note of a channel that is registered.
    pub(super) fn register(&self, channel: &dyn Channel) {
        let greets = catch_unwind(AssertUnwindSafe(|| channel.greets_by_itself()));
        if greets.unwrap_or(false) {
            let mut greeters = lock(&self.greeters);
            greeters.insert(channel.id().clone());
            self.any_greeters.store(greeters.len(), Ordering::Release);
        }
    }

    pub(super) fn forget(&self, channel: &ChannelId) {
        let mut greeters = lock(&self.greeters);
        greeters.remove(channel);
        self.any_greeters.store(greeters.len(), Ordering::Release);
    }

    /// Whether any registered channel greets by itself.
    pub(crate) fn any(&self) -> bool {
        self.any_greeters.load(Ordering::Acquire) > 0
    }

    fn greets(&self, channel: &ChannelId) -> bool {
        lock(&self.greeters).contains(channel)
    }

    /// Whether a greeting is under way in any room.
    pub(crate) fn any_under_way(&self) -> bool {
        self.closed.load(Ordering::Acquire) > 0
    }

    /// Waits until no greeting is under way in a room.
    pub(crate) async fn wait(&self, inner: &Inner, room: &RoomId) {
        let Some((gate, mut until)) = lock(&self.gates)
            .get(room)
            .map(|closed| (closed.gate.clone(), closed.until.clone()))
        else {
            return;
        };
        let opened = pin!(async { while until.changed().await.is_ok() {} });
        if clock::timeout(&*inner.clock, LONGEST_WAIT, opened)
            .await
            .is_err()
        {
            tracing::warn!(room_id = %room, "greeting was not delivered in time, answers go on");
            self.open(room, |other| Weak::ptr_eq(other, &gate));
        }
    }

    fn open(&self, room: &RoomId, is_meant: impl Fn(&Weak<Held>) -> bool) {
        let mut gates = lock(&self.gates);
        if gates.get(room).is_some_and(|closed| is_meant(&closed.gate)) {
            gates.remove(room);
            self.closed.store(gates.len(), Ordering::Release);
        }
    }
}
