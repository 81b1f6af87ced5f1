//! What an agent made of an event: answers, whole or as they come, and side effects.

use super::DeltaStream;
use crate::model::{ChannelId, EventContent, EventType, Metadata, Observation, Task, Visibility};

/// What an agent made of an event.
///
/// Its answers are events like any other and may be blocked; its side effects are always kept.
#[derive(Default)]
#[must_use]
pub struct ChannelOutput {
    /// The answer.
    pub response: Response,
    /// Tasks to create.
    pub tasks: Vec<Task>,
    /// Observations to record.
    pub observations: Vec<Observation>,
    /// Entries to set in the room's metadata.
    pub metadata_updates: Metadata,
    /// Facts about the turn, such as tokens used; they are merged into the answers' metadata.
    pub response_metadata: Metadata,
}

/// An agent's answer: none, whole, or as it comes.
#[derive(Default)]
#[non_exhaustive]
pub enum Response {
    /// No answer.
    #[default]
    None,
    /// Whole answers, in order.
    Replies(Vec<Reply>),
    /// One answer as it comes.
    Stream(DeltaStream),
}

/// One whole answer of an agent.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What it says.
    pub content: EventContent,
    /// Its type. Default: message.
    pub event_type: EventType,
    /// The agents that it asks to act; `None` leaves that to the room's policy.
    pub addressed_to: Option<Vec<ChannelId>>,
    /// Who may see it. Default: what the agent's binding says.
    pub visibility: Visibility,
    /// Data of the application.
    pub metadata: Metadata,
}

impl Reply {
    /// An answer with this content.
    pub fn new(content: impl Into<EventContent>) -> Self {
        Self {
            content: content.into(),
            event_type: EventType::Message,
            addressed_to: None,
            visibility: Visibility::All,
            metadata: Metadata::new(),
        }
    }

    /// An answer in plain text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::new(EventContent::text(body))
    }

    /// Asks only these agents to act on it.
    #[must_use]
    pub fn addressed_to<C: Into<ChannelId>>(
        mut self,
        channels: impl IntoIterator<Item = C>,
    ) -> Self {
        self.addressed_to = Some(channels.into_iter().map(Into::into).collect());
        self
    }
}

impl ChannelOutput {
    /// No answer and no side effect.
    pub fn none() -> Self {
        Self::default()
    }

    /// Whether there is neither an answer nor a side effect.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let no_answer = match &self.response {
            Response::None => true,
            Response::Replies(replies) => replies.is_empty(),
            Response::Stream(_) => false,
        };
        no_answer
            && self.tasks.is_empty()
            && self.observations.is_empty()
            && self.metadata_updates.is_empty()
    }

    /// One whole answer.
    pub fn reply(reply: Reply) -> Self {
        Self {
            response: Response::Replies(vec![reply]),
            ..Self::default()
        }
    }

    /// One answer in plain text.
    pub fn text(body: impl Into<String>) -> Self {
        Self::reply(Reply::text(body))
    }

    /// One answer as it comes.
    pub fn stream(deltas: DeltaStream) -> Self {
        Self {
            response: Response::Stream(deltas),
            ..Self::default()
        }
    }

    /// Adds a task.
    pub fn with_task(mut self, task: Task) -> Self {
        self.tasks.push(task);
        self
    }

    /// Adds an observation.
    pub fn with_observation(mut self, observation: Observation) -> Self {
        self.observations.push(observation);
        self
    }

    /// Sets an entry of the room's metadata.
    pub fn with_metadata_update(
        mut self,
        key: impl Into<String>,
        value: impl Into<serde_json::Value>,
    ) -> Self {
        self.metadata_updates.insert(key, value);
        self
    }
}

impl std::fmt::Debug for ChannelOutput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChannelOutput")
            .field("response", &self.response)
            .field("tasks", &self.tasks.len())
            .field("observations", &self.observations.len())
            .finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Response {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Replies(replies) => f.debug_tuple("Replies").field(&replies.len()).finish(),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}
