//! The kit: everything an application calls, a file per group of methods.
//!
//! [`RoomKit`] is the whole; [`Rooms`] is what concerns rooms, and may be scoped to an organisation.
//!
//! Its rules: RFC §3.1 for the parts, §17.2 for organisations.

pub(crate) mod attach;
mod bindings;
mod builder;
mod changes;
mod channels;
mod close;
mod events;
mod feedback;
pub(crate) mod flow;
pub(crate) mod greeting;
mod hooks;
pub(crate) mod identities;
mod inbound;
mod intake;
mod lifecycle;
mod member_change;
mod members;
mod observe;
mod participants;
mod reading;
mod realtime;
mod receipts;
mod regenerate;
mod rooms;
pub(crate) mod session;
mod sources;
mod storing;
mod threads;
mod timers;
mod traces;
mod webhook;

use std::collections::HashMap;
use std::fmt;
use std::ops::Deref;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::{Arc, LazyLock, Weak};

use foldhash::fast::RandomState;
use futures_util::future::BoxFuture;

pub use attach::AttachChannel;
pub use builder::RoomKitBuilder;
pub use changes::{DeleteEvent, UpdateEvent};
pub use close::CloseReport;
pub use events::SendEvent;
pub use feedback::SubmitFeedback;
pub use greeting::SendGreeting;
pub use inbound::DeliveryHandle;
pub use members::AddMember;
pub use regenerate::RegenerateResponse;
pub use rooms::RoomOptions;
pub use sources::AttachSource;
pub(crate) use sources::SourceLimits;
pub use webhook::WebhookOutcome;

use self::builder::Settings;
use self::flow::FlowControl;
use crate::channel::Channel;
use crate::clock::Clock;
use crate::context::RoomContext;
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{FrameworkEvents, HookEngine, HookPoint};
use crate::identity::{AddressNormalizer, IdentityResolver};
use crate::model::{
    ChannelId, EventType, FrameworkEvent, FrameworkEventType, OrganizationId, RoomId,
};
use crate::pipeline::loop_guard::Watched;
use crate::pipeline::stream::Streaming;
use crate::pipeline::{Lanes, RouteKey, Scope};
use crate::router::{ContentTranscoder, InboundRoomRouter};
use crate::store::{ConversationStore, RoomSnapshot};
use crate::sync::RwLock;
use crate::sync::guard::{NoAnswer, guard};
use crate::sync::inside::Inside;
use crate::sync::queue::KeyedQueue;
use crate::sync::tasks::{Panicked, Tasks};
use crate::sync::{RealtimeBackend, RoomLockManager, read};
use crate::telemetry::Shown;

/// The channel id of what the framework itself says.
pub(crate) static SYSTEM_CHANNEL: LazyLock<ChannelId> = LazyLock::new(|| ChannelId::from("system"));

/// All parts of a kit; what runs in the background holds this, and not the kit itself.
#[derive(Debug)]
pub(crate) struct Inner {
    /// Tells kits of one process apart.
    pub(crate) id: u64,
    pub(crate) settings: Settings,
    pub(crate) store: Arc<dyn ConversationStore>,
    pub(crate) locks: Arc<dyn RoomLockManager>,
    pub(crate) realtime: Arc<dyn RealtimeBackend>,
    pub(crate) router: Arc<dyn InboundRoomRouter>,
    pub(crate) transcoder: Arc<dyn ContentTranscoder>,
    pub(crate) identity: Option<Arc<dyn IdentityResolver>>,
    pub(crate) addresses: Arc<dyn AddressNormalizer>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hooks: Arc<HookEngine>,
    pub(crate) events: FrameworkEvents,
    pub(crate) tasks: Arc<Tasks>,
    pub(crate) lanes: Lanes,
    pub(crate) routes: Arc<KeyedQueue<RouteKey>>,
    pub(crate) flow: FlowControl,
    pub(crate) intake: intake::Intake,
    listening: realtime::Listening,
    pub(crate) watched: Watched,
    pub(crate) streaming: Streaming,
    pub(crate) timers: timers::Timers,
    pub(crate) receipts: receipts::Receipts,
    pub(crate) sources: sources::Sources,
    pub(crate) greetings: greeting::Greetings,
    pub(crate) traces: crate::trace::Desk,
    pub(crate) spans: crate::telemetry::Spans,
    channels: Channels,
    closing: close::Closing,
}

/// The registered channels; `None` holds the id of one that is being registered.
type ChannelMap = HashMap<ChannelId, Option<Arc<dyn Channel>>, RandomState>;

#[derive(Default)]
struct Channels(RwLock<ChannelMap>);

impl fmt::Debug for Channels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(read(&self.0).keys()).finish()
    }
}

impl Inner {
    pub(crate) fn channel(&self, id: &ChannelId) -> Option<Arc<dyn Channel>> {
        read(&self.channels.0).get(id).cloned().flatten()
    }

    /// The provider behind a registered channel, from a channel that may panic.
    pub(crate) fn provider_of(&self, id: &ChannelId) -> Option<Arc<str>> {
        let channel = self.channel(id)?;
        let name = std::panic::catch_unwind(AssertUnwindSafe(|| channel.provider_name()));
        name.unwrap_or_else(|_panic| {
            tracing::error!(channel_id = %id, "channel panicked when asked for its provider");
            None
        })
    }

    /// Whether events of a type are kept in the timelines.
    pub(crate) fn keeps(&self, event_type: EventType) -> bool {
        let policy = self.settings.persistence.as_ref();
        policy.is_none_or(|policy| policy.should_persist(event_type))
    }

    /// An error as it may be logged: the words of parts that were plugged in may repeat what people said.
    pub(crate) fn shown<'a>(&self, error: &'a Error) -> Shown<&'a Error> {
        self.settings.log_content.show(error)
    }

    pub(crate) fn context(&self, room: RoomSnapshot) -> RoomContext {
        RoomContext::new(room, Arc::clone(&self.store), Arc::clone(&self.clock))
    }

    /// Runs a call to its end whatever becomes of the caller. A panic of a part that was plugged in
    /// becomes an error.
    pub(crate) async fn run_to_end<T: Send + 'static>(
        &self,
        inside: Option<Inside>,
        call: BoxFuture<'static, Result<T>>,
    ) -> Result<T> {
        let call = match inside {
            None => call,
            Some(inside) => Box::pin(inside.scope(call)),
        };
        match self.tasks.run_to_end(call).await {
            Some(Ok(result)) => result,
            Some(Err(Panicked)) => Err(Error::panicked()),
            None => Err(close::closed()),
        }
    }

    /// Tells a channel, in the background, that it was attached to a room or detached from it.
    pub(crate) fn notify_channel(
        self: &Arc<Self>,
        channel: &ChannelId,
        room: &RoomId,
        attached: bool,
    ) {
        if attached {
            self.traces.attached(self, channel, room);
        }
        let Some(channel) = self.channel(channel) else {
            return;
        };
        let (inner, room) = (Arc::clone(self), room.clone());
        self.tasks.spawn(async move {
            let told = async {
                if attached { channel.attached(&room).await } else { channel.detached(&room).await }
            };
            let limit = inner.settings.process_timeout;
            if let Err(problem) = guard(&*inner.clock, limit, pin!(told)).await {
                let channel_id = channel.id();
                tracing::error!(%channel_id, room_id = %room, attached, ?problem, "channel was told of a room");
            }
        });
    }

    /// Asks for a room's own hooks before something is told to them. Where that fails they miss it.
    pub(crate) async fn load_hooks(&self, room: &crate::model::Room) {
        if let Err(error) = self.loaded_hooks(room).await {
            tracing::error!(room_id = %room.id, code = error.code(), error = %self.shown(&error), "the room's hooks could not be loaded");
        }
    }

    /// Asks for a room's own hooks, of a provider that may panic or hang.
    pub(crate) async fn loaded_hooks(&self, room: &crate::model::Room) -> Result<()> {
        if !self.hooks.has_provider() {
            return Ok(());
        }
        let limit = self.settings.process_timeout;
        let problem = match guard(&*self.clock, limit, pin!(self.hooks.load(room))).await {
            Ok(loaded) => return loaded,
            Err(NoAnswer::Panicked) => "what provides the room's hooks panicked",
            Err(NoAnswer::TookTooLong) => "what provides the room's hooks took too long",
        };
        Err(Error::new(ErrorKind::StoreFailed, problem))
    }

    /// Starts the observing hooks of a point.
    pub(crate) fn observe<P: HookPoint>(
        self: &Arc<Self>,
        context: &RoomContext,
        payload: &P::Payload,
    ) {
        self.hooks.observe::<P>(&self.tasks, context, payload, None);
    }

    /// Tells the listeners of a framework event; `fill` is called only where there is one.
    pub(crate) fn emit(
        &self,
        event_type: FrameworkEventType,
        fill: impl FnOnce(&mut FrameworkEvent),
    ) {
        self.events.emit(&self.tasks, &event_type, || {
            let mut event = FrameworkEvent::new(event_type.clone(), self.clock.now());
            fill(&mut event);
            event
        });
    }
}

/// Aborts what is under way when the last handle of a kit goes.
#[derive(Debug)]
struct Alive {
    inner: Arc<Inner>,
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.inner.timers.stop();
        self.inner.sources.abort();
        self.inner.tasks.abort_all();
    }
}

/// The conversation framework: rooms, the channels that join them, and the pipeline between.
///
/// A clone is another handle of the same kit. What concerns rooms are the methods of [`Rooms`],
/// to which a kit dereferences; here they see the rooms of every organisation. When the last handle
/// is dropped, everything that is under way is aborted; [`close`](Self::close) lets it end first.
#[derive(Debug, Clone)]
pub struct RoomKit {
    rooms: Rooms,
}

impl RoomKit {
    /// A kit with the defaults: everything in memory and in this process.
    #[must_use]
    pub fn new() -> Self {
        builder::RoomKitBuilder::default().assemble()
    }

    /// A kit whose parts and limits are chosen.
    pub fn builder() -> RoomKitBuilder {
        RoomKitBuilder::default()
    }

    fn from_inner(inner: Inner) -> Self {
        let inner = Arc::new(inner);
        inner.timers.begin_early(&inner);
        Self {
            rooms: Rooms {
                alive: Arc::new(Alive { inner }),
                scope: Scope(None),
            },
        }
    }

    /// The same kit, every call scoped to one organisation: rooms of others are not found, new
    /// rooms belong to it.
    #[must_use]
    pub fn org(&self, organization: impl Into<OrganizationId>) -> Rooms {
        Rooms {
            alive: Arc::clone(&self.rooms.alive),
            scope: Scope(Some(organization.into())),
        }
    }

    /// A reference for channels, which must not keep their kit alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakKit {
        WeakKit {
            alive: Arc::downgrade(&self.rooms.alive),
        }
    }

    /// The kit's store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn ConversationStore> {
        &self.rooms.inner().store
    }
}

impl Default for RoomKit {
    fn default() -> Self {
        Self::new()
    }
}

impl Deref for RoomKit {
    type Target = Rooms;

    fn deref(&self) -> &Rooms {
        &self.rooms
    }
}

/// The rooms of a kit, or of one organisation of it: everything that is done to and in rooms.
#[derive(Debug, Clone)]
pub struct Rooms {
    alive: Arc<Alive>,
    scope: Scope,
}

impl Rooms {
    fn inner(&self) -> &Arc<Inner> {
        &self.alive.inner
    }

    /// Runs a call to its end whatever becomes of the caller; what it holds does not keep the kit.
    async fn to_end<T, F, Fut>(&self, call: F) -> Result<T>
    where
        T: Send + 'static,
        F: FnOnce(Arc<Inner>, Scope) -> Fut,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        let call = call(Arc::clone(self.inner()), self.scope.clone());
        let call = Box::pin(call);
        self.inner().timers.begin_early(self.inner());
        self.inner().run_to_end(Inside::current(), call).await
    }

    /// The organisation to which calls are scoped; `None` for the kit itself.
    #[must_use]
    pub fn organization(&self) -> Option<&OrganizationId> {
        self.scope.0.as_ref()
    }
}

/// A kit that may be gone by now.
#[derive(Debug, Clone)]
pub struct WeakKit {
    alive: Weak<Alive>,
}

impl WeakKit {
    /// The kit, if it is still there.
    #[must_use]
    pub fn upgrade(&self) -> Option<RoomKit> {
        let alive = self.alive.upgrade()?;
        Some(RoomKit {
            rooms: Rooms {
                alive,
                scope: Scope(None),
            },
        })
    }
}
