//! The channel of an agent: it is asked about events, and answers with a model (RFC §6.4, A.9).

mod agent;
mod builder;
mod config;

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelId, ChannelMediaType, ChannelType,
    EventSource, EventType, InboundMessage, Metadata, RoomEvent, RoomId,
};
use roomkit_core::{
    Channel, ChannelOutput, Error, ErrorKind, EventDraft, Result, RoomContext, WeakKit,
};

pub use self::agent::{Agent, AgentBuilder};
pub(crate) use self::agent::{Profile, language_of};
pub use self::builder::AiChannelBuilder;
pub(crate) use self::config::invalid;
pub use self::config::{AiChannelConfig, ConfigProvider, TurnConfig};

use crate::human::HumanInput;
use crate::pipeline::{AiPipeline, AiPipelineContext};
use crate::turn::{Revealed, Turn, Turns};
use crate::{AiProvider, MemoryProvider, Steering, StoredResults, TaskPlans, ToolRunner, ToolSet};

/// An agent: a channel that answers with a language model. A clone is another handle of the same one.
///
/// ```
/// use roomkit_ai::{AiChannel, MockAiProvider};
/// use roomkit_core::{RoomKit, model::InboundMessage};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> roomkit_core::Result<()> {
/// let agent = AiChannel::builder("helper")
///     .provider(MockAiProvider::new(["Hello!"]))
///     .system_prompt("You help.")
///     .build()?;
/// let kit = RoomKit::new();
/// kit.register_channel(agent)?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct AiChannel {
    parts: Arc<Parts>,
}

/// What an agent is made of.
pub(crate) struct Parts {
    pub(crate) id: ChannelId,
    pub(crate) source: Arc<EventSource>,
    pub(crate) provider: Option<Arc<dyn AiProvider>>,
    pub(crate) fallback: Option<Arc<dyn AiProvider>>,
    pub(crate) config: AiChannelConfig,
    pub(crate) config_provider: Option<Arc<dyn ConfigProvider>>,
    pub(crate) memory: Arc<dyn MemoryProvider>,
    pub(crate) tools: ToolSet,
    pub(crate) runner: ToolRunner,
    pub(crate) stored: StoredResults,
    pub(crate) plans: Option<TaskPlans>,
    pub(crate) revealed: Revealed,
    pub(crate) human: Option<HumanInput>,
    pub(crate) profile: Option<Profile>,
    pub(crate) pipeline: AiPipeline,
    pub(crate) turns: Arc<Turns>,
    kit: Arc<OnceLock<WeakKit>>,
}

impl Parts {
    pub(crate) fn kit(&self) -> Option<WeakKit> {
        self.kit.get().cloned()
    }

    /// Whether the model can see pictures.
    pub(crate) fn sees(&self) -> bool {
        let provider = self.provider.as_ref();
        provider.is_some_and(|provider| provider.capabilities().vision)
    }
}

impl AiChannel {
    /// An agent to be put together.
    pub fn builder(id: impl Into<ChannelId>) -> AiChannelBuilder {
        AiChannelBuilder::new(id.into())
    }

    /// Says something to the agent while it is at work in a room (RFC §21.3). `false` where it is not,
    /// or where 64 directives wait already.
    ///
    /// What is not a cancellation holds from the agent's next round on; a turn that ends before never
    /// sees it.
    pub fn steer(&self, room: impl Into<RoomId>, directive: Steering) -> bool {
        self.parts.turns.steer(&room.into(), directive)
    }

    /// Whether the agent is at work in a room.
    #[must_use]
    pub fn is_at_work(&self, room: impl Into<RoomId>) -> bool {
        self.parts.turns.is_under_way(&room.into())
    }

    /// The tools that ask a person, where there are any.
    #[must_use]
    pub fn human_input(&self) -> Option<&HumanInput> {
        self.parts.human.as_ref()
    }

    /// What the operator set.
    #[must_use]
    pub fn config(&self) -> &AiChannelConfig {
        &self.parts.config
    }

    /// The provider, where there is one.
    #[must_use]
    pub fn provider(&self) -> Option<&Arc<dyn AiProvider>> {
        self.parts.provider.as_ref()
    }

    /// Whether the agent is asked about this event at all.
    fn is_asked(&self, event: &RoomEvent) -> bool {
        let is_own = event.source.channel_id == self.parts.id;
        let is_activity = matches!(
            event.event_type,
            EventType::ToolCallStart | EventType::ToolCallEnd
        );
        let is_answer = self
            .parts
            .human
            .as_ref()
            .is_some_and(|it| it.took(&event.id));
        !is_own && !is_activity && !is_answer && self.parts.provider.is_some()
    }
}

#[async_trait]
impl Channel for AiChannel {
    fn id(&self) -> &ChannelId {
        &self.parts.id
    }

    fn channel_type(&self) -> ChannelType {
        ChannelType::Ai
    }

    fn category(&self) -> ChannelCategory {
        ChannelCategory::Intelligence
    }

    fn capabilities(&self) -> ChannelCapabilities {
        let mut types = vec![ChannelMediaType::Text, ChannelMediaType::Rich];
        let sees = self.parts.sees();
        if sees {
            types.push(ChannelMediaType::Media);
        }
        let mut capabilities = ChannelCapabilities::default().with_media_types(types);
        capabilities.supports_rich_text = true;
        capabilities.supports_media = sees;
        capabilities
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        let provider = self.parts.provider.as_ref()?;
        Some(provider.name().into())
    }

    fn info(&self) -> Metadata {
        match &self.parts.provider {
            Some(provider) => Metadata::new()
                .with("provider", provider.name())
                .with("model", provider.model_name()),
            None => Metadata::new(),
        }
    }

    async fn handle_inbound(
        &self,
        _message: InboundMessage,
        _context: &RoomContext,
    ) -> Result<EventDraft> {
        Err(Error::new(
            ErrorKind::InvalidInput,
            "channel_id: an agent brings no messages in",
        ))
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        if !self.is_asked(event) {
            return Ok(ChannelOutput::none());
        }
        let parts = Arc::clone(&self.parts);
        let ingested = parts.memory.ingest(event, context, &parts.id).await;
        if let Err(error) = ingested {
            tracing::error!(room_id = %event.room_id, channel_id = %parts.id, %error, "memory did not take an event");
        }
        let under_way = parts.turns.begin(&event.room_id);
        let turn = Turn::new(
            Arc::clone(&parts),
            Arc::clone(event),
            context.clone(),
            under_way,
        );
        let mut ctx = AiPipelineContext::new(Arc::new(turn), binding.clone());
        parts.pipeline.process(&mut ctx).await;
        if ctx.is_aborted() {
            return Ok(ChannelOutput::none());
        }
        Ok(ctx.output.unwrap_or_default())
    }

    fn registered(&self, kit: WeakKit) {
        if let Some(human) = &self.parts.human {
            human.listen(&kit, &self.parts.id);
        }
        if self.parts.kit.set(kit).is_err() {
            tracing::warn!(channel_id = %self.parts.id, "an agent stays with the kit it was registered with first");
        }
    }

    async fn close(&self) {
        self.parts.pipeline.close().await;
        self.parts.memory.close().await;
        let providers = [&self.parts.provider, &self.parts.fallback];
        for provider in providers.into_iter().flatten() {
            provider.close().await;
        }
    }
}

impl fmt::Debug for AiChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiChannel")
            .field("id", &self.parts.id)
            .field("config", &self.parts.config)
            .field("tools", &self.parts.tools)
            .finish_non_exhaustive()
    }
}
