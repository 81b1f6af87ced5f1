//! Tools that somebody else executes: the call is handed out, and its result comes back by an id.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use roomkit_core::model::{ChannelId, EventId, ParticipantId, RoomId};
use roomkit_core::{Clock, SystemClock};
use thiserror::Error;
use tokio::sync::oneshot;

use super::{Arguments, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use crate::ToolDefinition;

/// The most calls that may wait for their results.
const MOST_PENDING: usize = 1_000;
/// Of how many calls that are over it is known how they ended.
const MOST_SETTLED: usize = 1_000;
/// How much longer than the wait a call may take before it is stopped from outside.
const GRACE: Duration = Duration::from_secs(5);

type HandOut = dyn Fn(ExternalCall) -> BoxFuture<'static, Result<(), ToolError>> + Send + Sync;
type Outcome = Result<ToolOutput, ToolError>;

/// Tools that a client, another program or a person executes. Clones are the same.
///
/// Each call is handed to a function, and waits until its result is given by
/// [`resolve`](Self::resolve) or [`reject`](Self::reject), from anywhere. The result may come while the
/// function still runs; where the function fails, the call does.
///
/// ```
/// use roomkit_ai::{ExternalTools, ToolDefinition, ToolSet};
///
/// let external = ExternalTools::new(|call| async move {
///     // Send `call.id`, `call.name` and `call.arguments` to the client.
///     let _ = call;
///     Ok(())
/// });
/// let open_map = ToolDefinition::new("open_map", "Shows the map.", ToolDefinition::nothing());
/// let tools = ToolSet::new().with(external.tool(open_map))?;
/// // When the client has answered: external.resolve(&id, "shown")
/// # Ok::<(), roomkit_ai::ToolSetError>(())
/// ```
#[derive(Clone)]
pub struct ExternalTools {
    shared: Arc<Shared>,
    wait: Duration,
    clock: Arc<dyn Clock>,
}

struct Shared {
    hand_out: Box<HandOut>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    pending: HashMap<Arc<str>, Pending>,
    settled: VecDeque<(Arc<str>, Settled)>,
}

struct Pending {
    call: ExternalCall,
    answer: oneshot::Sender<Outcome>,
}

#[derive(Clone, Copy)]
enum Settled {
    Answered,
    TimedOut,
    Cancelled,
}

/// A call that somebody else is to execute.
#[derive(Clone)]
#[non_exhaustive]
pub struct ExternalCall {
    /// What its result is given by. It is made here, is the only one of its kind and cannot be guessed.
    pub id: Arc<str>,
    /// The call's id from the model's vendor; some vendors use the same again.
    pub call_id: Arc<str>,
    /// The tool.
    pub name: String,
    /// What it is called with; it fits the tool's schema.
    pub arguments: Arguments,
    /// The room.
    pub room_id: Option<RoomId>,
    /// The agent's channel.
    pub channel_id: Option<ChannelId>,
    /// Whose message is answered.
    pub participant_id: Option<ParticipantId>,
}

/// Why a result could not be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// No call of this id is known; it may have ended long ago.
    #[error("external_call_unknown: no such call waits for a result")]
    Unknown,
    /// The call has its result already; the first one counts.
    #[error("external_call_answered: the call has its result already")]
    Answered,
    /// The result came too late: the model was told so.
    #[error("external_call_timed_out: the wait for the result is over")]
    TimedOut,
    /// The turn was cancelled in the meantime.
    #[error("external_call_cancelled: the call is no longer wanted")]
    Cancelled,
    /// Several calls that wait have this id of a vendor's: name the one meant by its own id.
    #[error("external_call_ambiguous: several calls have this id")]
    Ambiguous,
}

impl ExternalError {
    /// The stable code, such as `external_call_timed_out`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Unknown => "external_call_unknown",
            Self::Answered => "external_call_answered",
            Self::TimedOut => "external_call_timed_out",
            Self::Cancelled => "external_call_cancelled",
            Self::Ambiguous => "external_call_ambiguous",
        }
    }

    /// Whether the same may succeed later: never.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        false
    }
}

impl ExternalTools {
    /// Hands each call to a function, and waits for 300 seconds.
    pub fn new<F, Fut>(hand_out: F) -> Self
    where
        F: Fn(ExternalCall) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ToolError>> + Send + 'static,
    {
        Self {
            shared: Arc::new(Shared {
                hand_out: Box::new(move |call| hand_out(call).boxed()),
                state: Mutex::default(),
            }),
            wait: Duration::from_secs(300),
            clock: Arc::new(SystemClock::new()),
        }
    }

    /// Sets how long a result is waited for. Default: 300 seconds.
    #[must_use]
    pub fn with_wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Sets where time comes from. Default: the machine's clock.
    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// A tool that is executed elsewhere.
    #[must_use]
    pub fn tool(&self, definition: ToolDefinition) -> impl Tool + use<> {
        ExternalTool {
            definition,
            external: self.clone(),
        }
    }

    /// The calls that wait for their results.
    #[must_use]
    pub fn pending(&self) -> Vec<ExternalCall> {
        let state = self.shared.state();
        state.pending.values().map(|p| p.call.clone()).collect()
    }

    /// Gives the result of a call.
    ///
    /// # Errors
    /// When no such call waits: it is not known, has its result, or is over.
    pub fn resolve(&self, id: &str, output: impl Into<ToolOutput>) -> Result<(), ExternalError> {
        self.shared.settle(id, Ok(output.into()))
    }

    /// Says that a call failed or is refused, with the words for the model.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    pub fn reject(&self, id: &str, reason: impl Into<String>) -> Result<(), ExternalError> {
        let refused = ToolError::of(ToolErrorKind::Denied, reason);
        self.shared.settle(id, Err(refused))
    }

    /// The own id of the call that waits in a room under an id of a vendor's.
    ///
    /// # Errors
    /// When none does, or several.
    pub fn find(&self, room: Option<&RoomId>, call_id: &str) -> Result<Arc<str>, ExternalError> {
        let state = self.shared.state();
        let mut found = state
            .pending
            .values()
            .map(|pending| &pending.call)
            .filter(|call| &*call.call_id == call_id && call.room_id.as_ref() == room);
        match (found.next(), found.next()) {
            (Some(call), None) => Ok(Arc::clone(&call.id)),
            (None, _) => Err(ExternalError::Unknown),
            (Some(_), Some(_)) => Err(ExternalError::Ambiguous),
        }
    }

    async fn run(&self, call: ExternalCall) -> Outcome {
        let mut waiting = self.shared.arm(&call)?;
        let id = Arc::clone(&call.id);
        let hand_out = async { (self.shared.hand_out)(call).await };
        // Held until the end, so that whoever is told of the call may be slow without holding up its answer.
        let handed = pin!(async {
            match hand_out.await {
                Ok(()) => std::future::pending().await,
                Err(error) => error,
            }
        });
        let late = pin!(self.clock.sleep(self.wait));
        match select(&mut waiting.answer, select(handed, late)).await {
            Either::Left((answer, _)) => answer.unwrap_or_else(|_| Err(given_up())),
            Either::Right((Either::Left((error, _)), _)) => {
                waiting.end(Settled::Answered).unwrap_or(Err(error))
            }
            Either::Right((Either::Right(_), _)) => {
                let message = format!(
                    "No result of `{}` came within {} ms; it may still be executed",
                    waiting.name,
                    self.wait.as_millis()
                );
                let error = ToolError::of(ToolErrorKind::Timeout, message);
                tracing::debug!(id = &*id, "an external tool gave no result in time");
                waiting.end(Settled::TimedOut).unwrap_or(Err(error))
            }
        }
    }
}

fn given_up() -> ToolError {
    ToolError::of(ToolErrorKind::Cancelled, "The call was given up")
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the call answerable, before anybody is told of it.
    fn arm(self: &Arc<Self>, call: &ExternalCall) -> Result<Waiting, ToolError> {
        let (answer, answered) = oneshot::channel();
        let mut state = self.state();
        if state.pending.len() >= MOST_PENDING {
            let message = "Too many calls wait for results; try again later";
            return Err(ToolError::new(message).retryable(true));
        }
        let pending = Pending {
            call: call.clone(),
            answer,
        };
        state.pending.insert(Arc::clone(&call.id), pending);
        Ok(Waiting {
            shared: Arc::clone(self),
            id: Arc::clone(&call.id),
            name: call.name.clone(),
            answer: answered,
        })
    }

    fn settle(&self, id: &str, outcome: Outcome) -> Result<(), ExternalError> {
        let mut state = self.state();
        let Some((id, pending)) = state.pending.remove_entry(id) else {
            let settled = state.settled.iter().rev().find(|(other, _)| &**other == id);
            return Err(match settled {
                None => ExternalError::Unknown,
                Some((_, Settled::Answered)) => ExternalError::Answered,
                Some((_, Settled::TimedOut)) => ExternalError::TimedOut,
                Some((_, Settled::Cancelled)) => ExternalError::Cancelled,
            });
        };
        state.note(id, Settled::Answered);
        // Who waits takes itself out of the map before it goes, so that it is there.
        let _ = pending.answer.send(outcome);
        Ok(())
    }
}

impl State {
    fn note(&mut self, id: Arc<str>, how: Settled) {
        if self.settled.len() == MOST_SETTLED {
            self.settled.pop_front();
        }
        self.settled.push_back((id, how));
    }
}

/// A call that waits. Dropped, it is cancelled.
struct Waiting {
    shared: Arc<Shared>,
    id: Arc<str>,
    name: String,
    answer: oneshot::Receiver<Outcome>,
}

impl Waiting {
    /// Ends the wait, and gives the answer that came in the same moment.
    fn end(&mut self, how: Settled) -> Option<Outcome> {
        let mut state = self.shared.state();
        if state.pending.remove(&self.id).is_some() {
            state.note(Arc::clone(&self.id), how);
            return None;
        }
        drop(state);
        self.answer.try_recv().ok()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let _ = self.end(Settled::Cancelled);
    }
}

struct ExternalTool {
    definition: ToolDefinition,
    external: ExternalTools,
}

#[async_trait]
impl Tool for ExternalTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(&self, arguments: Arguments, context: &ToolContext) -> Outcome {
        let call = ExternalCall {
            // A kind of id that is random enough; it is no event's.
            id: EventId::generate().as_str().into(),
            call_id: Arc::clone(&context.call_id),
            name: self.definition.name.clone(),
            arguments,
            room_id: context.room_id.clone(),
            channel_id: context.channel_id.clone(),
            participant_id: context.participant_id.clone(),
        };
        self.external.run(call).await
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.external.wait.saturating_add(GRACE))
    }
}

impl fmt::Debug for ExternalTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalTools")
            .field("pending", &self.shared.state().pending.len())
            .field("wait", &self.wait)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ExternalCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExternalCall")
            .field("id", &self.id)
            .field("name", &self.name)
            .field("room_id", &self.room_id)
            .finish_non_exhaustive()
    }
}
