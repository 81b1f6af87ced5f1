//! A room that runs its agents: a planner, async functions, and a transcript that survives a restart.

mod agent;
mod builder;
mod drain;
mod error;
mod next;
mod record;
mod report;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;

pub use agent::{Turn, TurnContext};
pub use builder::TurnRoomBuilder;
pub use error::{ObserverFailure, TurnRoomError};
pub use record::{PassReason, TurnRecord};
pub use report::{Ended, Misplan, TurnCap, TurnReport};

use self::agent::Agent;
use self::drain::{Drain, Observer, State};
use self::next::Caps;
use super::{RoomTurnPlanner, Transcript, TranscriptEvent};
use crate::clock::Clock;
use crate::sync::Mutex;
use crate::sync::lock;
use crate::sync::queue::KeyedQueue;

/// A room of agents that take turns: somebody posts a message, and the agents answer in the order that
/// the planner gives, until it is settled.
///
/// A clone is another handle of the same room.
///
/// # What holds
///
/// - Whatever a planner says, an activity ends within the room's caps, only agents on the roster speak,
///   none of them twice in a round, and none before the first human message. A planner that names
///   somebody who cannot have the turn [ends](Ended::Misplanned) the activity.
/// - An agent that is absent, fails, panics or takes too long has [passed](TranscriptEvent::passed). The
///   [record](TurnRecord::passed) says why; the transcript does not.
/// - One call at a time works on a room, in the order in which the calls were made.
/// - An event counts once the observer has taken it, and the next turn starts after that. So what an
///   observer has stored is what the room knows: a room that is built from it goes on as this one would.
///
/// # Cancel safety
///
/// Nothing runs by itself: the futures of [`post`](Self::post) and [`resume`](Self::resume) do the work,
/// and dropping one stops it where it is. Its place in the line is free at once.
///
/// | dropped | left behind |
/// | --- | --- |
/// | before its turn in the line came, or before its first poll | nothing, the message is not posted |
/// | while an earlier activity is finished | the message is not posted |
/// | while the observer looks at an event | that event is [unconfirmed](Self::unconfirmed): the observer is shown it again, and then it counts |
/// | while an agent thinks | the agent's future is dropped, the turn is given again |
///
/// What is left half done is finished by the next [`resume`](Self::resume) or [`post`](Self::post),
/// before anything else, and comes to what it would have come to. A future that is neither polled nor
/// dropped holds up those behind it.
///
/// ```
/// use std::convert::Infallible;
/// use roomkit_core::turns::{Ended, Turn, TurnContext, TurnRoom};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let room = TurnRoom::builder(["planner", "coder"])
///     .agent("planner", |turn: TurnContext| async move {
///         Ok::<_, Infallible>(match turn.round {
///             0 => Turn::say("first a form, then its tests"),
///             _ => Turn::pass(),
///         })
///     })
///     .agent("coder", |_| async { Ok::<_, Infallible>(Turn::say("done, @planner have a look")) })
///     .build()?;
///
/// let report = room.post("user", "build a login form").await?;
/// assert_eq!(report.ended, Ended::Settled);
/// let order: Vec<_> = report.records.iter().map(|record| record.event.speaker.as_str()).collect();
/// assert_eq!(order, ["user", "planner", "coder", "planner"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct TurnRoom {
    inner: Arc<Inner>,
}

struct Inner {
    roster: Vec<String>,
    agents: HashMap<String, Agent>,
    planner: Arc<dyn RoomTurnPlanner>,
    observer: Option<Observer>,
    clock: Arc<dyn Clock>,
    turn_timeout: Duration,
    caps: Caps,
    line: Arc<KeyedQueue<()>>,
    state: Mutex<State>,
}

impl TurnRoom {
    /// How long an agent may take for a turn by default: two minutes.
    pub const DEFAULT_TURN_TIMEOUT: Duration = Duration::from_secs(120);

    /// A builder of a room whose agents have these ids, in the order in which they speak. An id that is
    /// listed again changes nothing; a room without agents only listens.
    pub fn builder<I>(roster: I) -> TurnRoomBuilder
    where
        I: IntoIterator<Item: Into<String>>,
    {
        TurnRoomBuilder::new(roster.into_iter().map(Into::into).collect())
    }

    /// Appends a human message and runs the agents until nobody is to speak.
    ///
    /// An activity that was left half done is finished first, and its events are part of the report.
    /// The call takes its place in the line at once, before the future is polled.
    ///
    /// # Errors
    ///
    /// [`TurnRoomError::SpeakerOnRoster`] when `speaker` is an agent, and
    /// [`TurnRoomError::ObserverFailed`] when the observer did not take an event. It says whether this
    /// message was [posted](ObserverFailure::posted); where it was, [`resume`](Self::resume) goes on with
    /// the turn whose event was not taken.
    ///
    /// # Cancel safety
    ///
    /// See [`TurnRoom`].
    pub fn post(
        &self,
        speaker: impl Into<String>,
        content: impl Into<String>,
    ) -> BoxFuture<'static, Result<TurnReport, TurnRoomError>> {
        self.work(Some(TranscriptEvent::new(speaker, content)))
    }

    /// Finishes the activity that a dropped or failed call, or the transcript that the room was built
    /// from, left half done. Where there is none, the report is empty and says why nobody speaks.
    ///
    /// # Errors
    ///
    /// [`TurnRoomError::ObserverFailed`].
    ///
    /// # Cancel safety
    ///
    /// See [`TurnRoom`].
    pub fn resume(&self) -> BoxFuture<'static, Result<TurnReport, TurnRoomError>> {
        self.work(None)
    }

    fn work(
        &self,
        message: Option<TranscriptEvent>,
    ) -> BoxFuture<'static, Result<TurnReport, TurnRoomError>> {
        let inner = Arc::clone(&self.inner);
        if let Some(TranscriptEvent { speaker, .. }) = &message
            && inner.roster.contains(speaker)
        {
            let speaker = speaker.clone();
            return Box::pin(async { Err(TurnRoomError::SpeakerOnRoster { speaker }) });
        }
        // Without a limit there is always a place; who waits is bounded by who calls.
        let place = inner.line.enqueue((), usize::MAX);
        Box::pin(async move {
            if let Some(place) = &place {
                place.turn().await;
            }
            let mut drain = Drain::new(&inner);
            let mut ended = drain.run().await?;
            if let Some(message) = message {
                drain.post(message).await?;
                ended = drain.run().await?;
            }
            Ok(drain.report(ended))
        })
    }

    /// The ids of the agents, in the order in which they speak.
    #[must_use]
    pub fn roster(&self) -> &[String] {
        &self.inner.roster
    }

    /// Everything that counts as said up to now.
    #[must_use]
    pub fn transcript(&self) -> Transcript {
        self.inner.transcript()
    }

    /// The event that the observer is looking at, or was looking at when its call was dropped; it is not
    /// in the transcript yet.
    #[must_use]
    pub fn unconfirmed(&self) -> Option<TurnRecord> {
        lock(&self.inner.state).unconfirmed.clone()
    }
}

impl Inner {
    fn transcript(&self) -> Transcript {
        lock(&self.state).transcript.clone()
    }
}

impl fmt::Debug for TurnRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRoom")
            .field("roster", &self.inner.roster)
            .field("caps", &self.inner.caps)
            .field("turn_timeout", &self.inner.turn_timeout)
            .field("events", &self.transcript().len())
            .finish_non_exhaustive()
    }
}
