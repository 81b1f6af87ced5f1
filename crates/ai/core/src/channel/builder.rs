//! Puts an agent together.

use std::fmt;
use std::sync::{Arc, OnceLock};

use roomkit_core::model::{
    ChannelDirection, ChannelId, ChannelType, EventSource, Metadata, RetryPolicy,
};
use roomkit_core::{Error, ErrorKind, Result, WeakKit};
use serde_json::Value;

use super::config::invalid;
use super::{AiChannel, AiChannelConfig, ConfigProvider, Parts, Profile};
use crate::hooks::OnPlanUpdated;
use crate::human::HumanInput;
use crate::pipeline::{AiPipeline, AiPipelineConfig};
use crate::turn::{Revealed, Turns};
use crate::{
    AiProvider, MemoryProvider, SlidingWindowMemory, StoredResults, TaskPlans, Tool, ToolAuditor,
    ToolLimits, ToolPolicy, ToolRunner, ToolSearch, ToolSet, ToolSetError,
};

/// Puts an [`AiChannel`] together.
#[must_use = "nothing is built until `build` is called"]
pub struct AiChannelBuilder {
    id: ChannelId,
    provider: Option<Arc<dyn AiProvider>>,
    fallback: Option<Arc<dyn AiProvider>>,
    config: AiChannelConfig,
    config_provider: Option<Arc<dyn ConfigProvider>>,
    memory: Option<Arc<dyn MemoryProvider>>,
    tools: ToolSet,
    policy: Option<ToolPolicy>,
    auditor: Option<Arc<dyn ToolAuditor>>,
    /// The first tool that could not be added.
    problem: Option<ToolSetError>,
    human: Option<HumanInput>,
    pipeline: AiPipelineConfig,
    pub(super) profile: Option<Profile>,
}

impl AiChannelBuilder {
    pub(super) fn new(id: ChannelId) -> Self {
        Self {
            id,
            provider: None,
            fallback: None,
            config: AiChannelConfig::default(),
            config_provider: None,
            memory: None,
            tools: ToolSet::new(),
            policy: None,
            auditor: None,
            problem: None,
            human: None,
            pipeline: AiPipelineConfig::default(),
            profile: None,
        }
    }

    /// Who is asked for answers. Without one the agent hears and says nothing.
    pub fn provider(self, provider: impl AiProvider) -> Self {
        self.shared_provider(Arc::new(provider))
    }

    /// Who is asked for answers; others may ask it too.
    pub fn shared_provider(mut self, provider: Arc<dyn AiProvider>) -> Self {
        self.provider = Some(provider);
        self
    }

    /// Who is asked where the provider failed before anything of the answer was shown. Default: nobody.
    pub fn fallback_provider(mut self, provider: Arc<dyn AiProvider>) -> Self {
        self.fallback = Some(provider);
        self
    }

    /// Sets all that an operator sets at once.
    pub fn config(mut self, config: AiChannelConfig) -> Self {
        self.config = config;
        self
    }

    /// What the agent is told first. Default: nothing.
    pub fn system_prompt(mut self, prompt: impl Into<String>) -> Self {
        self.config.system_prompt = Some(prompt.into());
        self
    }

    /// How freely it chooses its words, from 0 to 2. Default: the provider's.
    pub fn temperature(mut self, temperature: f32) -> Self {
        self.config.temperature = Some(temperature);
        self
    }

    /// The most tokens of an answer, thinking included. Default: the provider's.
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.config.max_tokens = Some(tokens);
        self
    }

    /// The most tokens of thinking; 0 switches it off. Default: the provider's.
    pub fn thinking_budget(mut self, tokens: u32) -> Self {
        self.config.thinking_budget = Some(tokens);
        self
    }

    /// Switches thinking on or off. Default: the provider's.
    pub fn enable_thinking(mut self, on: bool) -> Self {
        self.config.enable_thinking = Some(on);
        self
    }

    /// How much to think, in the vendor's words. Default: the provider's.
    pub fn reasoning_effort(mut self, effort: impl Into<String>) -> Self {
        self.config.reasoning_effort = Some(effort.into());
        self
    }

    /// How many events of the past the model is given, where no memory is set. Default: 50.
    pub fn max_context_events(mut self, events: usize) -> Self {
        self.config.max_context_events = events;
        self
    }

    /// How many rounds of tools a turn may have. Default: 200.
    pub fn max_tool_rounds(mut self, rounds: u32) -> Self {
        self.config.max_tool_rounds = rounds;
        self
    }

    /// How long a turn may take from its first round on, in seconds. Default: 300.
    pub fn tool_loop_timeout_seconds(mut self, seconds: f64) -> Self {
        self.config.tool_loop_timeout_seconds = Some(seconds);
        self
    }

    /// How often a call of the model is made again that failed before anything was shown. Default: never.
    pub fn retry_policy(mut self, policy: RetryPolicy) -> Self {
        self.config.retry_policy = Some(policy);
        self
    }

    /// What says, turn by turn, what is set otherwise. Default: nothing.
    pub fn config_provider(mut self, provider: impl ConfigProvider) -> Self {
        self.config_provider = Some(Arc::new(provider));
        self
    }

    /// What the model is given of the past. Default: [`SlidingWindowMemory`] of `max_context_events`.
    pub fn memory(mut self, memory: impl MemoryProvider) -> Self {
        self.memory = Some(Arc::new(memory));
        self
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl Tool) -> Self {
        let added = self.tools.add(tool);
        self.problem = self.problem.or(added.err());
        self
    }

    /// Adds tools.
    pub fn tools(mut self, tools: &ToolSet) -> Self {
        let added = self.tools.merge(tools);
        self.problem = self.problem.or(added.err());
        self
    }

    /// Which tools may be called, by whom. Default: all, by everybody.
    pub fn tool_policy(mut self, policy: ToolPolicy) -> Self {
        self.policy = Some(policy);
        self
    }

    /// What each call of a tool is recorded with. Default: nothing is.
    pub fn tool_auditor(mut self, auditor: Arc<dyn ToolAuditor>) -> Self {
        self.auditor = Some(auditor);
        self
    }

    /// What bounds calls of tools.
    pub fn tool_limits(mut self, limits: ToolLimits) -> Self {
        self.config.tool_limits = limits;
        self
    }

    /// When and how tools are hidden behind a search. Default: by their size.
    pub fn tool_search(mut self, search: ToolSearch) -> Self {
        self.config.tool_search = search;
        self
    }

    /// Gives the agent the tool `plan_tasks`, and shows it its plan. Default: no.
    pub fn enable_planning(mut self, on: bool) -> Self {
        self.config.enable_planning = on;
        self
    }

    /// From how many tokens on a result of a tool is kept aside. Default: 5,000; at least 500.
    pub fn evict_threshold_tokens(mut self, tokens: usize) -> Self {
        self.config.evict_threshold_tokens = tokens;
        self
    }

    /// Adds tools that ask a person.
    pub fn human_input(mut self, human: HumanInput) -> Self {
        self.human = Some(human);
        self
    }

    /// Replaces stages of the pipeline, or adds some (RFC §12.9.6). Default: the built-in ones.
    pub fn pipeline(mut self, pipeline: AiPipelineConfig) -> Self {
        self.pipeline = pipeline;
        self
    }

    /// Puts the agent together.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput): a field is not acceptable; the error names it.
    pub fn build(self) -> Result<AiChannel> {
        if self.id.as_str().is_empty() {
            return Err(invalid("id", "must not be empty"));
        }
        self.config.validate()?;
        if let Some(problem) = self.problem {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                format!("tools: {problem}"),
            ));
        }
        let clashes = |human: &HumanInput| {
            let mut asked = human.definitions().iter();
            asked.any(|it| self.tools.contains(&it.name))
        };
        if self.human.as_ref().is_some_and(clashes) {
            return Err(invalid(
                "human_input",
                "another tool has the name of one of its tools",
            ));
        }
        let mut source = EventSource::new(self.id.clone(), ChannelType::Ai);
        source.direction = ChannelDirection::Outbound;
        source.provider = self.provider.as_ref().map(|it| it.name().into());
        let window = self.config.max_context_events;
        let memory = self
            .memory
            .unwrap_or_else(|| Arc::new(SlidingWindowMemory::new(window)));
        let kit: Arc<OnceLock<WeakKit>> = Arc::default();
        let mut runner = ToolRunner::new().with_limits(self.config.tool_limits.clone());
        if let Some(policy) = self.policy {
            runner = runner.with_policy(policy);
        }
        if let Some(auditor) = self.auditor {
            runner = runner.with_auditor(auditor, self.id.as_str());
        }
        let stored = StoredResults::new().with_threshold(self.config.evict_threshold_tokens);
        let plans = (self.config.enable_planning).then(|| plans(Arc::clone(&kit)));
        Ok(AiChannel {
            parts: Arc::new(Parts {
                runner,
                stored,
                plans,
                revealed: Revealed::default(),
                id: self.id,
                source: Arc::new(source),
                provider: self.provider,
                fallback: self.fallback,
                config: self.config,
                config_provider: self.config_provider,
                memory,
                tools: self.tools,
                human: self.human,
                profile: self.profile,
                pipeline: AiPipeline::new(self.pipeline),
                turns: Arc::new(Turns::default()),
                kit,
            }),
        })
    }
}

/// Plans that listeners and hooks are told of when they change.
fn plans(kit: Arc<OnceLock<WeakKit>>) -> TaskPlans {
    TaskPlans::new().on_updated(move |update| {
        let kit = kit.get().cloned();
        async move {
            let (Some(kit), Some(room)) = (kit, update.room_id.clone()) else {
                return;
            };
            let data = match update.data() {
                Value::Object(data) => Metadata::from(data),
                _ => Metadata::new(),
            };
            let agent = update.channel_id.as_ref().map_or("", |it| it.as_str());
            if let Some(kit) = kit.upgrade()
                && let Err(error) = kit.publish_custom(room.clone(), agent, data).await
            {
                tracing::debug!(room_id = %room, %error, "a changed plan was not published");
            }
            if let Some(Err(error)) = kit.run_hooks(OnPlanUpdated, room.clone(), update).await {
                tracing::error!(room_id = %room, %error, "hooks could not be told of a changed plan");
            }
        }
    })
}

impl fmt::Debug for AiChannelBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiChannelBuilder")
            .field("id", &self.id)
            .field("config", &self.config)
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
