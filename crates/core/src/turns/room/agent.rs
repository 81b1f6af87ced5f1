//! Agents as a room runs them: async functions, shown the room and asked for one turn.

use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::turns::Transcript;

/// What an agent or an observer failed with, whatever it was.
pub(super) type BoxError = Box<dyn StdError + Send + Sync>;

/// What an agent is shown when it has the turn.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TurnContext {
    /// The agent's own id, as it stands in the roster.
    pub agent: String,
    /// The round of this turn, counted from 0 within the activity.
    pub round: u32,
    /// Everything said so far, the human message that began the activity included.
    pub transcript: Transcript,
}

impl TurnContext {
    /// What an agent is shown, for trying one out without a room.
    pub fn new(agent: impl Into<String>, round: u32, transcript: impl Into<Transcript>) -> Self {
        Self {
            agent: agent.into(),
            round,
            transcript: transcript.into(),
        }
    }
}

/// What an agent does with its turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Turn(Option<String>);

impl Turn {
    /// Says something. An `@name` in it calls that agent into the next round.
    pub fn say(text: impl Into<String>) -> Self {
        Self(Some(text.into()))
    }

    /// Says nothing; the turn is used up all the same.
    #[must_use]
    pub const fn pass() -> Self {
        Self(None)
    }

    /// What is said; `None` for a pass.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.0.as_deref()
    }

    pub(super) fn into_text(self) -> Option<String> {
        self.0
    }
}

/// An agent's function without its types.
#[derive(Clone)]
pub(super) struct Agent(Arc<AgentFn>);

type AgentFn = dyn Fn(TurnContext) -> BoxFuture<'static, Result<Turn, BoxError>> + Send + Sync;

impl Agent {
    pub(super) fn new<F, Fut, E>(agent: F) -> Self
    where
        F: Fn(TurnContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Turn, E>> + Send + 'static,
        E: Into<BoxError>,
    {
        Self(Arc::new(move |context| {
            let turn = agent(context);
            Box::pin(async move { turn.await.map_err(Into::into) })
        }))
    }

    /// Runs the agent; what it does before its first await happens at the first poll, too.
    pub(super) async fn take_turn(&self, context: TurnContext) -> Result<Turn, BoxError> {
        (self.0)(context).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Agent")
    }
}
