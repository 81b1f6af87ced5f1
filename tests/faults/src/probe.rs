//! The one place that every part of a kit passes at every call: it writes down the steps of a clean
//! run, and in another run does the harm that was planned for one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// A part of a kit that somebody else wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A hook that decides.
    Hook,
    /// A hook that looks on.
    Observer,
    /// What says which hooks a room has.
    RoomHooks,
    /// The channel that a message comes from.
    SourceChannel,
    /// A channel that an event goes to.
    DestinationChannel,
    /// An agent.
    Agent,
    /// The store.
    Store,
    /// The lock manager.
    Locks,
    /// The identity resolver.
    Identity,
    /// The inbound room router.
    Router,
    /// The transcoder.
    Transcoder,
    /// The realtime backend.
    Realtime,
    /// Who listens to ephemeral events.
    Subscriber,
    /// Who listens to framework events.
    Listener,
    /// A source of messages.
    Source,
}

impl Part {
    /// All of them: a part of which the table has no cell is a mistake of the table.
    pub const ALL: [Self; 15] = [
        Self::Hook,
        Self::Observer,
        Self::RoomHooks,
        Self::SourceChannel,
        Self::DestinationChannel,
        Self::Agent,
        Self::Store,
        Self::Locks,
        Self::Identity,
        Self::Router,
        Self::Transcoder,
        Self::Realtime,
        Self::Subscriber,
        Self::Listener,
        Self::Source,
    ];

    /// The name in the figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Hook => "hook",
            Self::Observer => "observer",
            Self::RoomHooks => "room_hooks",
            Self::SourceChannel => "source_channel",
            Self::DestinationChannel => "destination_channel",
            Self::Agent => "agent",
            Self::Store => "store",
            Self::Locks => "locks",
            Self::Identity => "identity",
            Self::Router => "router",
            Self::Transcoder => "transcoder",
            Self::Realtime => "realtime",
            Self::Subscriber => "subscriber",
            Self::Listener => "listener",
            Self::Source => "source",
        }
    }
}

/// What a step is made to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// It fails.
    Error,
    /// It never answers.
    Hang,
    /// It panics.
    Panic,
    /// It works, but the caller of the kit goes away while it is at it.
    Cancel,
}

impl Fault {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Error, Self::Hang, Self::Panic, Self::Cancel];

    /// The name in the figures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Hang => "hang",
            Self::Panic => "panic",
            Self::Cancel => "cancelled",
        }
    }
}

/// Whether a call is stopped before it did its work or after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// Nothing is done yet.
    Before,
    /// It is done, and the answer is on its way.
    After,
}

/// Which ways a call can go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shape {
    /// It waits, and its answer may be an error.
    Fallible,
    /// It waits, and cannot say that it failed.
    Infallible,
    /// It answers at once: it can but panic.
    Sync,
}

impl Shape {
    /// The faults of a call of this shape.
    #[must_use]
    pub fn faults(self) -> &'static [Fault] {
        match self {
            Self::Fallible => &Fault::ALL,
            Self::Infallible => &[Fault::Hang, Fault::Panic, Fault::Cancel],
            Self::Sync => &[Fault::Panic],
        }
    }
}

/// One call of one part in a run, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// Whose call it is.
    pub part: Part,
    /// What is called, and on what where there are several.
    pub call: String,
    /// Before or after its work.
    pub moment: Moment,
    /// How often the same was called before.
    pub nth: usize,
    /// How it can go wrong.
    pub shape: Shape,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = match self.moment {
            Moment::Before => "",
            Moment::After => ", done",
        };
        write!(f, "{} {}{done} #{}", self.part.name(), self.call, self.nth)
    }
}

/// The injected fault of a call that can fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an injected fault")]
pub struct Injected;

/// What every part asks at every call. A clone is the same probe.
#[derive(Debug, Clone, Default)]
pub struct Probe {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    release: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// Whether calls count.
    on: bool,
    steps: Vec<Step>,
    counts: BTreeMap<(Part, String, Moment), usize>,
    planned: Option<(Step, Fault)>,
    hit: bool,
}

impl Probe {
    fn state(&self) -> MutexGuard<'_, State> {
        self.shared
            .state
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts calls from now on, and lets the planned one go wrong.
    pub fn begin(&self, planned: Option<(Step, Fault)>) {
        *self.state() = State {
            on: true,
            planned,
            ..State::default()
        };
    }

    /// Counts no more, and does no more harm.
    pub fn end(&self) -> Vec<Step> {
        let mut state = self.state();
        state.on = false;
        std::mem::take(&mut state.steps)
    }

    /// Whether the planned step was reached.
    #[must_use]
    pub fn was_hit(&self) -> bool {
        self.state().hit
    }

    /// Lets the step go on during which the caller was to go away, and does so at once where it is
    /// still to come.
    pub fn release(&self) {
        self.shared.release.notify_one();
    }

    /// Asked by a call that waits and may fail.
    pub(crate) async fn at(&self, part: Part, call: &str, moment: Moment) -> Result<(), Injected> {
        match self.pass(part, call, moment, Shape::Fallible) {
            Some(Fault::Error) => Err(Injected),
            fault => {
                self.suffer(fault).await;
                Ok(())
            }
        }
    }

    /// Asked by a call that waits and cannot say that it failed.
    pub(crate) async fn at_infallible(&self, part: Part, call: &str) {
        let fault = self.pass(part, call, Moment::Before, Shape::Infallible);
        self.suffer(fault).await;
    }

    /// Asked by a call that answers at once.
    pub(crate) fn at_sync(&self, part: Part, call: &str) {
        if self.pass(part, call, Moment::Before, Shape::Sync).is_some() {
            panics();
        }
    }

    async fn suffer(&self, fault: Option<Fault>) {
        match fault {
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::Panic) => panics(),
            Some(Fault::Cancel) => self.shared.release.notified().await,
            Some(Fault::Error) | None => {}
        }
    }

    fn pass(&self, part: Part, call: &str, moment: Moment, shape: Shape) -> Option<Fault> {
        let mut state = self.state();
        if !state.on {
            return None;
        }
        let count = state
            .counts
            .entry((part, call.to_owned(), moment))
            .or_default();
        let nth = *count;
        *count += 1;
        let step = Step {
            part,
            call: call.to_owned(),
            moment,
            nth,
            shape,
        };
        let fault = match &state.planned {
            Some((planned, fault)) if !state.hit && *planned == step => Some(*fault),
            _ => None,
        };
        state.hit |= fault.is_some();
        state.steps.push(step);
        fault
    }
}

/// A panic that nobody is told of on the terminal: there are hundreds of them.
fn panics() -> ! {
    std::panic::resume_unwind(Box::new("an injected panic"))
}
