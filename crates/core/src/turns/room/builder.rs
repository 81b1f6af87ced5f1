//! The builder of a room: the roster, its agents, and what bounds them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::agent::{Agent, BoxError};
use super::drain::{Observer, State};
use super::next::Caps;
use super::{Inner, Turn, TurnContext, TurnRecord, TurnRoom};
use crate::clock::{Clock, SystemClock};
use crate::sync::Mutex;
use crate::sync::queue::KeyedQueue;
use crate::turns::{RoomTurnPlanner, RoundRobinRoomPlanner, Transcript, TurnError};

/// Builds a [`TurnRoom`].
#[must_use]
pub struct TurnRoomBuilder {
    roster: Vec<String>,
    agents: HashMap<String, Agent>,
    planner: Option<Arc<dyn RoomTurnPlanner>>,
    observer: Option<Observer>,
    clock: Option<Arc<dyn Clock>>,
    turn_timeout: Duration,
    caps: Caps,
    transcript: Transcript,
}

impl TurnRoomBuilder {
    pub(super) fn new(roster: Vec<String>) -> Self {
        Self {
            roster,
            agents: HashMap::new(),
            planner: None,
            observer: None,
            clock: None,
            turn_timeout: TurnRoom::DEFAULT_TURN_TIMEOUT,
            caps: Caps {
                max_rounds: RoundRobinRoomPlanner::DEFAULT_MAX_ROUNDS,
                max_messages: RoundRobinRoomPlanner::DEFAULT_MAX_MESSAGES,
            },
            transcript: Transcript::default(),
        }
    }

    /// The function of an agent on the roster, called for each of its turns. The last one given for an
    /// id counts; an agent that has none passes all of its turns.
    ///
    /// It runs in the task of whoever called the room, so it must not block the thread. It is dropped
    /// when its time is over, or when that call is dropped. An agent that posts into its own room waits
    /// for the end of its own turn, and runs out of time.
    pub fn agent<F, Fut, E>(mut self, id: impl Into<String>, agent: F) -> Self
    where
        F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Turn, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.agents.insert(id.into(), Agent::new(agent));
        self
    }

    /// Who names the next speaker: by default a [`RoundRobinRoomPlanner`] with the room's caps.
    ///
    /// A planner with caps of its own that are lower settles an activity where it reaches them.
    pub fn planner(mut self, planner: Arc<dyn RoomTurnPlanner>) -> Self {
        self.planner = Some(planner);
        self
    }

    /// An async function that is shown every event, human messages included, before the event counts
    /// and before the next turn starts; by default there is none.
    ///
    /// It is the place to persist a room. Where it fails or panics, the event does not count and the
    /// call ends with [`ObserverFailed`](super::TurnRoomError::ObserverFailed). Where the call is dropped
    /// while the observer works, the same record is shown again before the room goes on. So an observer
    /// that persists writes each event at its [position](TurnRecord::position), over what is there.
    ///
    /// The room waits for it as long as it takes. It must not itself wait for a call to its room, which
    /// would wait for it.
    pub fn observer<F, Fut, E>(mut self, observer: F) -> Self
    where
        F: Fn(TurnRecord) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), E>> + Send + 'static,
        E: Into<BoxError>,
    {
        self.observer = Some(Observer::new(observer));
        self
    }

    /// The clock that measures the time of a turn, a [`SystemClock`] by default. Nothing else in a room
    /// asks for the time.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How long an agent may take for a turn, [`TurnRoom::DEFAULT_TURN_TIMEOUT`] by default.
    pub fn turn_timeout(mut self, timeout: Duration) -> Self {
        self.turn_timeout = timeout;
        self
    }

    /// The first round in which nobody gets a turn any more, 3 by default, whatever the planner says.
    pub fn max_rounds(mut self, rounds: u32) -> Self {
        self.caps.max_rounds = rounds;
        self
    }

    /// The number of events, human message and passes included, at which an activity ends, 20 by
    /// default, whatever the planner says.
    pub fn max_messages(mut self, messages: u32) -> Self {
        self.caps.max_messages = messages;
        self
    }

    /// What was said before, as it was stored; nothing by default. An activity that it leaves half done
    /// goes on with [`resume`](TurnRoom::resume) or with the next post.
    pub fn transcript(mut self, transcript: impl Into<Transcript>) -> Self {
        self.transcript = transcript.into();
        self
    }

    /// The room.
    ///
    /// # Errors
    ///
    /// [`TurnError::CapBelowOne`] when a cap is 0, [`TurnError::NotOnRoster`] when a function was given
    /// for an agent that is not on the roster.
    pub fn build(self) -> Result<TurnRoom, TurnError> {
        RoundRobinRoomPlanner::new(self.caps.max_rounds, self.caps.max_messages)?;
        // The least of them, so that the error does not depend on the order of a map.
        let stranger = self.agents.keys().filter(|id| !self.roster.contains(id));
        if let Some(agent) = stranger.min() {
            return Err(TurnError::NotOnRoster {
                agent: agent.clone(),
            });
        }
        let planner = match self.planner {
            Some(planner) => planner,
            // The room applies the caps and can tell a room that is settled from one that is capped.
            None => Arc::new(RoundRobinRoomPlanner::new(u32::MAX, u32::MAX)?),
        };
        Ok(TurnRoom {
            inner: Arc::new(Inner {
                roster: self.roster,
                agents: self.agents,
                planner,
                observer: self.observer,
                clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock::new())),
                turn_timeout: self.turn_timeout,
                caps: self.caps,
                line: Arc::new(KeyedQueue::new()),
                state: Mutex::new(State::new(self.transcript)),
            }),
        })
    }
}

impl fmt::Debug for TurnRoomBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TurnRoomBuilder")
            .field("roster", &self.roster)
            .field("caps", &self.caps)
            .field("turn_timeout", &self.turn_timeout)
            .finish_non_exhaustive()
    }
}
