//! Tools that ask a person: the call waits, in no lock and no lane, until somebody answers.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use roomkit_core::WeakKit;
use roomkit_core::hook::BeforeBroadcast;
use roomkit_core::model::{ChannelId, EventId, ParticipantId, RoomEvent, RoomId};
use thiserror::Error;
use tokio::sync::oneshot;

use crate::turn::lock;
use crate::{Arguments, ToolDefinition};

/// How many settled requests, and how many messages that were answers, are remembered.
const REMEMBERED: usize = 128;

/// Tools of an agent that ask a person, and the requests that wait. A clone is another handle.
///
/// A request can be answered from the moment it is made, by whoever holds a handle, while the hooks at
/// [`OnUserInputRequired`](crate::OnUserInputRequired) tell the person as well as later. It ends with an
/// answer, a rejection, its time limit, or its turn, whichever is first. What a settled one came to
/// stays readable until 128 others are settled.
///
/// ```
/// use roomkit_ai::{HumanInput, ToolDefinition};
///
/// let human = HumanInput::new().tool(ToolDefinition::new(
///     "ask_user",
///     "Asks the user a question and gives the answer.",
///     serde_json::json!({ "type": "object", "properties": { "question": { "type": "string" } } }),
/// ));
/// assert!(human.pending().is_empty());
/// ```
#[derive(Clone)]
pub struct HumanInput {
    tools: Vec<ToolDefinition>,
    timeout: Duration,
    by_messages: bool,
    requests: Arc<Mutex<Requests>>,
}

/// A request that waits for a person.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct PendingInput {
    /// What it is answered by.
    pub id: String,
    /// The tool's name.
    pub tool_name: String,
    /// What the model asks.
    pub arguments: Arguments,
    /// The id of the call.
    pub call_id: String,
    /// The room.
    pub room_id: RoomId,
    /// The agent.
    pub channel_id: ChannelId,
    /// Whose message the agent is answering: whom to ask. `None` where nobody wrote it.
    pub participant_id: Option<ParticipantId>,
}

/// What a request came to.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputOutcome {
    /// Somebody answered.
    Answered(String),
    /// Somebody refused; the reason is given to the model.
    Rejected(String),
    /// Nobody did in time.
    TimedOut,
    /// The turn ended before.
    Cancelled,
}

/// Why a request cannot be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum HumanInputError {
    /// There is none with this id, or it is forgotten.
    #[error("input_not_found: no such request for input")]
    NotFound,
    /// It is settled already.
    #[error("input_settled: the request for input is settled")]
    Settled,
}

impl HumanInputError {
    /// The stable code, such as `input_settled`.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::NotFound => "input_not_found",
            Self::Settled => "input_settled",
        }
    }

    /// Whether the same may succeed later: never.
    #[must_use]
    pub const fn is_retryable(self) -> bool {
        false
    }
}

#[derive(Default)]
struct Requests {
    next: u64,
    open: Vec<Open>,
    settled: VecDeque<(String, InputOutcome)>,
    answers: VecDeque<EventId>,
}

/// A request as it is kept while it waits.
struct Open {
    pending: PendingInput,
    /// Messages from this index on may be its answer, but for the one that the agent is asked with.
    after: u64,
    asked_by: EventId,
    waits: oneshot::Sender<InputOutcome>,
}

impl HumanInput {
    /// No tool yet; a request waits 300 seconds at most.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tools: Vec::new(),
            timeout: Duration::from_secs(300),
            by_messages: false,
            requests: Arc::default(),
        }
    }

    /// Adds a tool that asks a person.
    #[must_use]
    pub fn tool(mut self, definition: ToolDefinition) -> Self {
        self.tools.push(definition);
        self
    }

    /// How long a request waits; the turn's own deadline holds as well. Default: 300 seconds.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Takes the next text message of whoever was asked, in the same room, as the answer; the agent is not asked to
    /// answer that message too. Where nobody in particular was asked, anybody's message counts.
    /// Default: no, answers come through [`answer`](Self::answer) alone.
    #[must_use]
    pub fn answered_by_messages(mut self) -> Self {
        self.by_messages = true;
        self
    }

    /// The requests that wait, oldest first.
    #[must_use]
    pub fn pending(&self) -> Vec<PendingInput> {
        let requests = lock(&self.requests);
        requests.open.iter().map(|it| it.pending.clone()).collect()
    }

    /// Answers a request; the text is the tool's result.
    ///
    /// # Errors
    /// Where there is no such request, or it is settled.
    pub fn answer(&self, id: &str, text: impl Into<String>) -> Result<(), HumanInputError> {
        self.settle(id, InputOutcome::Answered(text.into()))
    }

    /// Refuses a request; the model reads the reason.
    ///
    /// # Errors
    /// As [`answer`](Self::answer).
    pub fn reject(&self, id: &str, reason: impl Into<String>) -> Result<(), HumanInputError> {
        self.settle(id, InputOutcome::Rejected(reason.into()))
    }

    /// What a request came to, as long as it is remembered.
    #[must_use]
    pub fn outcome(&self, id: &str) -> Option<InputOutcome> {
        let requests = lock(&self.requests);
        let mut settled = requests.settled.iter();
        settled.find(|(it, _)| it == id).map(|(_, it)| it.clone())
    }

    pub(crate) fn definitions(&self) -> &[ToolDefinition] {
        &self.tools
    }

    pub(crate) fn asks(&self, tool: &str) -> bool {
        self.tools.iter().any(|it| it.name == tool)
    }

    pub(crate) fn limit(&self) -> Duration {
        self.timeout
    }

    /// Makes a request. It is settled as cancelled when what comes back is dropped before.
    pub(crate) fn open(&self, mut pending: PendingInput, asked_by: &RoomEvent) -> OpenInput {
        let (sender, outcome) = oneshot::channel();
        let mut requests = lock(&self.requests);
        requests.next += 1;
        pending.id = format!("{}-{}", pending.call_id, requests.next);
        requests.open.push(Open {
            pending: pending.clone(),
            after: asked_by.index,
            asked_by: asked_by.id.clone(),
            waits: sender,
        });
        drop(requests);
        OpenInput {
            human: self.clone(),
            pending,
            outcome,
        }
    }

    pub(crate) fn settle(&self, id: &str, outcome: InputOutcome) -> Result<(), HumanInputError> {
        Self::settle_in(&self.requests, id, outcome)
    }

    /// Whether a message was an answer, and is not to be answered itself.
    pub(crate) fn took(&self, event: &EventId) -> bool {
        self.by_messages && lock(&self.requests).answers.contains(event)
    }

    /// Lets messages of rooms be answers.
    pub(crate) fn listen(&self, kit: &WeakKit, channel: &ChannelId) {
        let Some(kit) = kit.upgrade().filter(|_| self.by_messages) else {
            return;
        };
        let requests = Arc::downgrade(&self.requests);
        let agent = channel.clone();
        let name = format!("human_input:{channel}");
        // An observer is given what was stored, and holds nothing up.
        kit.observe(BeforeBroadcast, name, move |event, _room| {
            if let Some(requests) = requests.upgrade() {
                hear(&requests, &agent, &event);
            }
            async {}
        });
    }

    fn settle_in(
        requests: &Mutex<Requests>,
        id: &str,
        outcome: InputOutcome,
    ) -> Result<(), HumanInputError> {
        let mut requests = lock(requests);
        let found = requests.open.iter().position(|it| it.pending.id == id);
        let Some(at) = found else {
            let is_known = requests.settled.iter().any(|(it, _)| it == id);
            return Err(if is_known {
                HumanInputError::Settled
            } else {
                HumanInputError::NotFound
            });
        };
        let Open { pending, waits, .. } = requests.open.remove(at);
        if requests.settled.len() == REMEMBERED {
            requests.settled.pop_front();
        }
        requests.settled.push_back((pending.id, outcome.clone()));
        drop(requests);
        // Who asked may be about to give up; the outcome stays readable.
        let _ = waits.send(outcome);
        Ok(())
    }
}

/// Takes a message as the answer of the oldest request that it can be one of.
fn hear(requests: &Mutex<Requests>, agent: &ChannelId, event: &RoomEvent) {
    let Some(text) = event.text().filter(|_| event.source.channel_id != *agent) else {
        return;
    };
    let id = {
        let mut requests = lock(requests);
        let is_meant = |it: &&Open| {
            let asks = &it.pending;
            let is_later = event.index >= it.after && event.id != it.asked_by;
            let is_whose =
                asks.participant_id.is_none() || asks.participant_id == event.source.participant_id;
            is_later && is_whose && asks.room_id == event.room_id && asks.channel_id == *agent
        };
        let found = requests.open.iter().find(is_meant);
        let Some(id) = found.map(|it| it.pending.id.clone()) else {
            return;
        };
        if requests.answers.len() == REMEMBERED {
            requests.answers.pop_front();
        }
        requests.answers.push_back(event.id.clone());
        id
    };
    // It may have been settled in between; then the message came too late to be its answer.
    let _ = HumanInput::settle_in(requests, &id, InputOutcome::Answered(text.to_owned()));
}

impl Default for HumanInput {
    fn default() -> Self {
        Self::new()
    }
}

/// A request that waits.
pub(crate) struct OpenInput {
    human: HumanInput,
    pub(crate) pending: PendingInput,
    pub(crate) outcome: oneshot::Receiver<InputOutcome>,
}

impl Drop for OpenInput {
    fn drop(&mut self) {
        // Nothing to do for one that is settled.
        let _ = self.human.settle(&self.pending.id, InputOutcome::Cancelled);
    }
}

impl fmt::Debug for HumanInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HumanInput")
            .field("tools", &self.tools)
            .field("pending", &lock(&self.requests).open.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for PendingInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingInput")
            .field("id", &self.id)
            .field("tool_name", &self.tool_name)
            .field("room_id", &self.room_id)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for InputOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Answered(_) => "Answered",
            Self::Rejected(_) => "Rejected",
            Self::TimedOut => "TimedOut",
            Self::Cancelled => "Cancelled",
        })
    }
}
