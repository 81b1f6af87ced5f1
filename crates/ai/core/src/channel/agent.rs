//! An agent with a person's traits: role, description, scope, greeting, language, voice (RFC §19.1).

use std::fmt::{self, Write};
use std::ops::Deref;
use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelId, ChannelType, InboundMessage,
    Metadata, Room, RoomEvent,
};
use roomkit_core::{Channel, ChannelOutput, EventDraft, Result, RoomContext, WeakKit};

use super::{AiChannel, AiChannelBuilder};

/// An [`AiChannel`] that knows who it is. Role, description, scope and language are told to the model;
/// voice and greeting are for whoever speaks for it. A clone is another handle.
///
/// Without a provider it only holds what other channels read of it, such as one for speech to speech.
#[derive(Clone)]
pub struct Agent {
    channel: AiChannel,
}

/// Who an agent is.
#[derive(Clone, Default)]
pub(crate) struct Profile {
    name: Option<String>,
    role: Option<String>,
    description: Option<String>,
    scope: Option<String>,
    language: Option<String>,
    voice: Option<String>,
    greeting: Option<String>,
    greets_not: bool,
}

impl Profile {
    /// What the model is told of it; nothing where nothing is set.
    pub(crate) fn identity(&self, language: Option<&str>) -> Option<String> {
        let mut block = String::new();
        let lines = [
            ("Role: ", self.role.as_deref()),
            ("Description: ", self.description.as_deref()),
            ("Scope: ", self.scope.as_deref()),
            (
                "Language: Always respond in ",
                language.or(self.language.as_deref()),
            ),
        ];
        for (label, value) in lines {
            if let Some(value) = value {
                // Writing to a String cannot fail.
                let _ = write!(block, "\n{label}{value}");
            }
        }
        (!block.is_empty()).then(|| format!("--- Agent Identity ---{block}"))
    }
}

/// The language that a room's conversation is in, where its state says so (RFC §19.2).
pub(crate) fn language_of(room: &Room) -> Option<&str> {
    let state = room.metadata.get("_conversation_state")?;
    let of_context = || state.get("context")?.get("language");
    let language = state.get("language").filter(|it| it.is_string());
    language.or_else(of_context)?.as_str()
}

impl Agent {
    /// An agent to be put together.
    pub fn builder(id: impl Into<ChannelId>) -> AgentBuilder {
        AgentBuilder {
            channel: AiChannelBuilder::new(id.into()),
            profile: Profile::default(),
        }
    }

    /// Its name for people.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.profile()?.name.as_deref()
    }

    /// What it is, such as `Triage receptionist`.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.profile()?.role.as_deref()
    }

    /// What it can do.
    #[must_use]
    pub fn description(&self) -> Option<&str> {
        self.profile()?.description.as_deref()
    }

    /// What it is responsible for.
    #[must_use]
    pub fn scope(&self) -> Option<&str> {
        self.profile()?.scope.as_deref()
    }

    /// The language that it answers in, where the room has none of its own.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.profile()?.language.as_deref()
    }

    /// The id of its voice, for channels that speak.
    #[must_use]
    pub fn voice(&self) -> Option<&str> {
        self.profile()?.voice.as_deref()
    }

    /// What it says before anybody has said anything.
    #[must_use]
    pub fn greeting_text(&self) -> Option<&str> {
        self.profile()?.greeting.as_deref()
    }

    /// Whether it greets by itself when a session begins. Default: yes, where it has a greeting.
    #[must_use]
    pub fn auto_greet(&self) -> bool {
        self.profile()
            .is_some_and(|it| it.greeting.is_some() && !it.greets_not)
    }

    /// Whether it has no provider and only holds what other channels read of it.
    #[must_use]
    pub fn is_config_only(&self) -> bool {
        self.channel.provider().is_none()
    }

    /// What the model is told of who it is; `language` takes the place of its own.
    #[must_use]
    pub fn build_identity_block(&self, language: Option<&str>) -> Option<String> {
        self.profile()?.identity(language)
    }

    fn profile(&self) -> Option<&Profile> {
        self.channel.parts.profile.as_ref()
    }
}

impl Deref for Agent {
    type Target = AiChannel;

    fn deref(&self) -> &AiChannel {
        &self.channel
    }
}

/// Puts an [`Agent`] together.
#[must_use = "nothing is built until `build` is called"]
pub struct AgentBuilder {
    channel: AiChannelBuilder,
    profile: Profile,
}

macro_rules! traits {
    ($($(#[$doc:meta])* $trait:ident;)+) => {$(
        $(#[$doc])*
        pub fn $trait(mut self, value: impl Into<String>) -> Self {
            self.profile.$trait = Some(value.into());
            self
        }
    )+};
}

impl AgentBuilder {
    traits! {
        /// Its name for people. Default: none.
        name;
        /// What it is. Default: nothing in particular.
        role;
        /// What it can do. Default: nothing in particular.
        description;
        /// What it is responsible for. Default: everything.
        scope;
        /// The language that it answers in. Default: that of whoever asks.
        language;
        /// The id of its voice. Default: that of whoever speaks for it.
        voice;
        /// What it says before anybody has said anything. Default: nothing.
        greeting;
    }

    /// Whether it greets by itself when a session begins. Default: yes, where it has a greeting.
    pub fn auto_greet(mut self, on: bool) -> Self {
        self.profile.greets_not = !on;
        self
    }

    /// Sets what every agent has: provider, tools, limits.
    pub fn channel(mut self, set: impl FnOnce(AiChannelBuilder) -> AiChannelBuilder) -> Self {
        self.channel = set(self.channel);
        self
    }

    /// Who is asked for answers. Default: nobody; then it only holds what other channels read of it.
    pub fn provider(self, provider: impl crate::AiProvider) -> Self {
        self.channel(|channel| channel.provider(provider))
    }

    /// What it is told first, before who it is. Default: nothing.
    pub fn system_prompt(self, prompt: impl Into<String>) -> Self {
        self.channel(|channel| channel.system_prompt(prompt))
    }

    /// Puts the agent together.
    ///
    /// # Errors
    /// As [`AiChannelBuilder::build`].
    pub fn build(mut self) -> Result<Agent> {
        self.channel.profile = Some(self.profile);
        let channel = self.channel.build()?;
        Ok(Agent { channel })
    }
}

#[async_trait]
impl Channel for Agent {
    fn id(&self) -> &ChannelId {
        self.channel.id()
    }

    fn channel_type(&self) -> ChannelType {
        self.channel.channel_type()
    }

    fn category(&self) -> ChannelCategory {
        self.channel.category()
    }

    fn capabilities(&self) -> ChannelCapabilities {
        self.channel.capabilities()
    }

    fn provider_name(&self) -> Option<Arc<str>> {
        self.channel.provider_name()
    }

    fn info(&self) -> Metadata {
        let traits = [
            ("name", self.name()),
            ("role", self.role()),
            ("description", self.description()),
            ("voice", self.voice()),
        ];
        let set = |info: Metadata, (key, value): (&str, Option<&str>)| match value {
            Some(value) => info.with(key, value),
            None => info,
        };
        traits.into_iter().fold(self.channel.info(), set)
    }

    async fn handle_inbound(
        &self,
        message: InboundMessage,
        context: &RoomContext,
    ) -> Result<EventDraft> {
        self.channel.handle_inbound(message, context).await
    }

    async fn on_event(
        &self,
        event: &Arc<RoomEvent>,
        binding: &ChannelBinding,
        context: &RoomContext,
    ) -> Result<ChannelOutput> {
        self.channel.on_event(event, binding, context).await
    }

    fn greeting(&self) -> Option<String> {
        self.greeting_text().map(str::to_owned)
    }

    fn greets_by_itself(&self) -> bool {
        self.auto_greet() && !self.is_config_only()
    }

    fn registered(&self, kit: WeakKit) {
        self.channel.registered(kit);
    }

    async fn close(&self) {
        self.channel.close().await;
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("channel", &self.channel)
            .field("role", &self.role())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder")
            .field("channel", &self.channel)
            .field("role", &self.profile.role)
            .finish_non_exhaustive()
    }
}
