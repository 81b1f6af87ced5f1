//! What a synchronous hook answers: allow, block or modify, with side effects (RFC §9.4).

use crate::model::{ChannelId, EventContent, Metadata, Observation, Task};

/// An event that a hook adds to the room; it follows the event that caused it.
///
/// Its type and source are `system`, its visibility is the list of the channels it names, and no
/// agent is asked to answer it.
#[derive(Debug, Clone, PartialEq)]
pub struct InjectedEvent {
    /// What it says.
    pub content: EventContent,
    /// The channels that get it; with none it is stored only.
    pub target_channel_ids: Vec<ChannelId>,
    /// Data of the application.
    pub metadata: Metadata,
}

impl InjectedEvent {
    /// An event for the channels in `targets`.
    pub fn new<C: Into<ChannelId>>(
        content: impl Into<EventContent>,
        targets: impl IntoIterator<Item = C>,
    ) -> Self {
        Self {
            content: content.into(),
            target_channel_ids: targets.into_iter().map(Into::into).collect(),
            metadata: Metadata::new(),
        }
    }
}

/// What a hook decided about the payload it was given.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HookAction<P> {
    Allow,
    Block { reason: String },
    Modify(P),
}

impl<P> HookAction<P> {
    /// The decision as a word.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Block { .. } => "block",
            Self::Modify(_) => "modify",
        }
    }
}

/// The answer of a synchronous hook. Its side effects are kept whatever becomes of the event.
#[derive(Debug, Clone, PartialEq)]
#[must_use]
pub struct HookResult<P> {
    pub(crate) action: HookAction<P>,
    pub(crate) effects: Option<Box<HookEffects>>,
}

/// The rarely used rest of a [`HookResult`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookEffects {
    pub(crate) injected: Vec<InjectedEvent>,
    pub(crate) tasks: Vec<Task>,
    pub(crate) observations: Vec<Observation>,
    pub(crate) metadata: Metadata,
}

impl<P> HookResult<P> {
    fn new(action: HookAction<P>) -> Self {
        Self {
            action,
            effects: None,
        }
    }

    /// Lets the payload pass unchanged.
    pub fn allow() -> Self {
        Self::new(HookAction::Allow)
    }

    /// Stops the payload here; no later hook sees it.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::new(HookAction::Block {
            reason: reason.into(),
        })
    }

    /// Replaces the payload; the next hook is given this one.
    pub fn modify(payload: P) -> Self {
        Self::new(HookAction::Modify(payload))
    }

    fn effects(&mut self) -> &mut HookEffects {
        self.effects.get_or_insert_default()
    }

    /// Adds an event to the room after this one.
    pub fn inject(mut self, event: InjectedEvent) -> Self {
        self.effects().injected.push(event);
        self
    }

    /// Creates a task.
    pub fn task(mut self, task: Task) -> Self {
        self.effects().tasks.push(task);
        self
    }

    /// Records an observation.
    pub fn observation(mut self, observation: Observation) -> Self {
        self.effects().observations.push(observation);
        self
    }

    /// Adds to the result's own metadata, which the caller of the point may read.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.effects().metadata.insert(key, value);
        self
    }
}
