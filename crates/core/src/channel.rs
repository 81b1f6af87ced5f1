//! The channel: what everything that takes part in a room implements (RFC §6.1).

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::BoxStream;

use crate::context::RoomContext;
use crate::draft::EventDraft;
use crate::error::{Error, ErrorKind, Result};
use crate::kit::WeakKit;
use crate::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelDirection, ChannelId, ChannelType,
    DeliveryOutcome, EventContent, EventType, InboundMessage, Metadata, Observation, RoomEvent,
    RoomId, Task, Visibility,
};

/// Something that takes part in rooms: it carries messages (a transport) or answers them (an agent).
///
/// One channel serves any number of rooms; what it may do in each is said by its binding there.
/// Calls come from many tasks at once, but for one room [`deliver`](Self::deliver) and
/// [`on_event`](Self::on_event) are called one after the other, in the order of the room's events.
/// A call that panics or takes too long counts as failed and harms nothing else.
#[async_trait]
pub trait Channel: Send + Sync + 'static {
    /// The id under which it is registered.
    fn id(&self) -> &ChannelId;

    /// What kind of channel it is.
    fn channel_type(&self) -> ChannelType;

    /// Whether it carries messages or answers them. Default: carries.
    fn category(&self) -> ChannelCategory {
        ChannelCategory::Transport
    }

    /// Which way it can carry them. Default: both.
    fn direction(&self) -> ChannelDirection {
        ChannelDirection::Bidirectional
    }

    /// What it can show and do. Default: plain text without limit.
    fn capabilities(&self) -> ChannelCapabilities {
        ChannelCapabilities::default()
    }

    /// The provider behind it, for the source of its events. Default: none.
    fn provider_name(&self) -> Option<Arc<str>> {
        None
    }

    /// Facts about this channel that hold in every room (RFC §5.9). Default: none.
    fn info(&self) -> Metadata {
        Metadata::new()
    }

    /// Whether its `sender_id` is a participant's id rather than an address, so that there is
    /// nothing to resolve (RFC §11.6). Default: no.
    fn names_its_senders(&self) -> bool {
        false
    }

    /// Turns what came from outside into an event of the room.
    ///
    /// # Errors
    /// When the message is not one that this channel can bring in.
    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        Ok(EventDraft::inbound(
            message,
            self.channel_type(),
            self.provider_name(),
            context,
        ))
    }

    /// Carries an event to whoever is behind this channel. Only transports are asked, and every
    /// transport implements it; the default fails with `not_a_transport`.
    async fn deliver(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> DeliveryOutcome {
        DeliveryOutcome::failed("not_a_transport", "this channel carries nothing")
    }

    /// Reacts to an event of the room. Only agents are asked, and only where they are solicited.
    ///
    /// # Errors
    /// When the channel could not react; the room goes on without its answer.
    async fn on_event(
        &self,
        _event: &Arc<RoomEvent>,
        _binding: &ChannelBinding,
        _context: &RoomContext,
    ) -> Result<ChannelOutput> {
        Ok(ChannelOutput::none())
    }

    /// Called once, when the channel is registered with a kit.
    fn registered(&self, _kit: WeakKit) {}

    /// Called in the background after the channel was attached to a room.
    async fn attached(&self, _room: &RoomId) {}

    /// Called in the background after the channel was detached from a room.
    async fn detached(&self, _room: &RoomId) {}

    /// Lets go of connections; called when the kit closes.
    async fn close(&self) {}
}

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

/// An answer as it comes, ending with the stream or with an error.
pub type DeltaStream = BoxStream<'static, Result<Delta>>;

/// A piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More of the text.
    Text(String),
    /// More of the model's reasoning, which is not part of the answer.
    Thinking(String),
    /// A tool was called; it cuts the text into two events.
    ToolCallStart {
        /// The call's id.
        id: String,
        /// The tool's name.
        name: String,
    },
    /// A tool has answered.
    ToolCallEnd {
        /// The call's id.
        id: String,
    },
    /// The answer is complete.
    End,
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
        matches!(self.response, Response::None)
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

/// An error of a channel, for its `handle_inbound` and `on_event`.
impl Error {
    /// A failure of the channel itself; `message` says what it was doing, without message text.
    pub fn channel(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::ChannelFailed, message)
    }
}
