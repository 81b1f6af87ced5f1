//! The pipeline of a turn (RFC §12.9): eight stages in an order that nobody changes. Each can be
//! replaced; gates, and what looks at the answer before it is given, can be added.

mod convert;
mod gates;
mod generation;
mod memory;
mod prompt;
mod target;

use std::any::type_name;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use roomkit_core::channel::DeltaStream;
use roomkit_core::hook::BoxError;
use roomkit_core::model::{ChannelBinding, ChannelId, FrameworkEventType, Metadata, RoomEvent};
use roomkit_core::{ChannelOutput, RoomContext, RoomKit};

pub use self::gates::{HookGate, HookPreGeneration};
pub use self::generation::{ToolLoopGeneration, WholeOrStreamedEmission};
pub use self::memory::ProviderMemory;
pub use self::prompt::{ChannelPrompt, ChannelTools};

use crate::channel::TurnConfig;
use crate::turn::{Toolbox, Turn, caught};
use crate::{AiContext, AiError, AiResponse};

/// One step of a turn.
///
/// What is wrong and final for the turn is [`abort`](AiPipelineContext::abort)ed; an error or a panic
/// is an abort with the reason `stage exception`, told at `ON_ERROR`.
#[async_trait]
pub trait AiStage: Send + Sync + 'static {
    /// What it is called in framework events. Default: its type's name.
    fn name(&self) -> &str {
        let name = type_name::<Self>();
        // By the byte: it is asked for at each stage of each turn.
        let after = name.rfind(':').and_then(|at| name.get(at + 1..));
        after.unwrap_or(name)
    }

    /// Does its part of the turn.
    ///
    /// # Errors
    /// Whatever kept it from that; the turn is given up.
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError>;

    /// Lets go of what it holds; called when the agent's channel is closed. Default: nothing.
    async fn close(&self) {}
}

macro_rules! positions {
    ($($(#[$doc:meta])* $name:ident;)+) => {$(
        $(#[$doc])*
        pub trait $name: AiStage {}
    )+};
}

positions! {
    /// Position 1: may stop a turn before anything is spent on it.
    PreContextGateStage;
    /// Position 2: sets [`AiPipelineContext::ai_context`] with the messages of the conversation.
    MemoryRetrievalStage;
    /// Position 3: sets the tools of the context.
    ToolResolutionStage;
    /// Position 4: sets the system prompt of the context, and how the model is to answer.
    PromptAssemblyStage;
    /// Position 5: the last that sees the context before the model does.
    PreGenerationStage;
    /// Position 6: sets [`AiPipelineContext::response`], or [`AiPipelineContext::stream`].
    GenerationStage;
    /// Position 7: looks at the response before it is given, and may change it.
    PostGenerationStage;
    /// Position 8: sets [`AiPipelineContext::output`].
    EmissionStage;
}

/// The stages of an agent's turns. What is not set is the built-in stage.
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct AiPipelineConfig {
    /// Run after the built-in gate, in this order.
    pub gates: Vec<Arc<dyn PreContextGateStage>>,
    /// Default: [`ProviderMemory`].
    pub memory: Option<Arc<dyn MemoryRetrievalStage>>,
    /// Default: [`ChannelTools`].
    pub tool_resolution: Option<Arc<dyn ToolResolutionStage>>,
    /// Default: [`ChannelPrompt`].
    pub prompt_assembly: Option<Arc<dyn PromptAssemblyStage>>,
    /// Default: [`HookPreGeneration`].
    pub pre_generation: Option<Arc<dyn PreGenerationStage>>,
    /// Default: [`ToolLoopGeneration`].
    pub generation: Option<Arc<dyn GenerationStage>>,
    /// Run in this order. Where there are any, answers are whole: what is to be looked at before it is
    /// given cannot be given as it comes.
    pub post_generation: Vec<Arc<dyn PostGenerationStage>>,
    /// Default: [`WholeOrStreamedEmission`].
    pub emission: Option<Arc<dyn EmissionStage>>,
}

macro_rules! slots {
    ($($(#[$doc:meta])* $slot:ident: $stage:ident;)+) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $slot(mut self, stage: impl $stage) -> Self {
            self.$slot = Some(Arc::new(stage));
            self
        }
    )+};
}

impl AiPipelineConfig {
    /// The built-in stages.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a gate.
    #[must_use]
    pub fn gate(mut self, stage: impl PreContextGateStage) -> Self {
        self.gates.push(Arc::new(stage));
        self
    }

    /// Adds what looks at the response before it is given.
    #[must_use]
    pub fn post_generation(mut self, stage: impl PostGenerationStage) -> Self {
        self.post_generation.push(Arc::new(stage));
        self
    }

    slots! {
        /// Replaces what gives the past.
        memory: MemoryRetrievalStage;
        /// Replaces what gives the tools.
        tool_resolution: ToolResolutionStage;
        /// Replaces what puts the prompt together.
        prompt_assembly: PromptAssemblyStage;
        /// Replaces what is asked before the model is.
        pre_generation: PreGenerationStage;
        /// Replaces the model and its tools.
        generation: GenerationStage;
        /// Replaces what gives the answer.
        emission: EmissionStage;
    }
}

/// What flows through the stages of a turn (RFC §12.9.5).
pub struct AiPipelineContext {
    /// What the agent is asked about.
    pub event: Arc<RoomEvent>,
    /// The agent's place in the room.
    pub binding: ChannelBinding,
    /// The room as the agent may know it.
    pub room_context: RoomContext,
    /// The agent.
    pub channel_id: ChannelId,
    /// What the model is asked with, from position 2 on.
    pub ai_context: Option<AiContext>,
    /// The answer, from position 6 on, where it is whole.
    pub response: Option<AiResponse>,
    /// The answer as it comes, from position 6 on, where it is not whole.
    pub stream: Option<DeltaStream>,
    /// What the channel gives back, from position 8 on.
    pub output: Option<ChannelOutput>,
    /// What stages tell each other.
    pub stage_metadata: Metadata,
    aborted: Option<Aborted>,
    pub(crate) turn: Arc<Turn>,
    /// The tools of the turn, where the built-in stage resolved them.
    pub(crate) tools: Option<Toolbox>,
    /// The parts of the response, one for each round that said something.
    pub(crate) said: Vec<String>,
    /// Whether the answer has to be whole.
    pub(crate) whole: bool,
    settings: Option<TurnConfig>,
}

/// Why a turn was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Aborted {
    /// The reason, for people.
    pub reason: String,
    /// The name of the stage.
    pub stage: String,
}

impl AiPipelineContext {
    pub(crate) fn new(turn: Arc<Turn>, binding: ChannelBinding) -> Self {
        Self {
            event: Arc::clone(&turn.event),
            binding,
            room_context: turn.context.clone(),
            channel_id: turn.source.channel_id.clone(),
            ai_context: None,
            response: None,
            stream: None,
            output: None,
            stage_metadata: Metadata::new(),
            aborted: None,
            turn,
            tools: None,
            said: Vec::new(),
            whole: false,
            settings: None,
        }
    }

    /// Gives the turn up: no later stage runs, and nothing is said. The stage that calls it is named by
    /// the pipeline.
    pub fn abort(&mut self, reason: impl Into<String>) {
        self.aborted.get_or_insert(Aborted {
            reason: reason.into(),
            stage: String::new(),
        });
    }

    /// Whether the turn was given up.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.aborted.is_some()
    }

    /// Why the turn was given up, where it was.
    #[must_use]
    pub fn aborted(&self) -> Option<&Aborted> {
        self.aborted.as_ref()
    }

    /// What holds for this turn: what the room sets, else the turn, else the agent's configuration. It
    /// is asked for once.
    pub(crate) async fn settings(&mut self) -> Result<TurnConfig, BoxError> {
        if let Some(settings) = &self.settings {
            return Ok(settings.clone());
        }
        let parts = &self.turn.parts;
        let mut settings = TurnConfig::of_binding(&self.binding.metadata)?;
        if let Some(provider) = &parts.config_provider {
            settings = settings.or(provider.config(&self.binding, &self.room_context).await?);
        }
        let settings = settings.or(TurnConfig::from(&parts.config));
        settings.validate()?;
        Ok(self.settings.insert(settings).clone())
    }

    /// What the model is asked with, which the built-in stages fill.
    pub(crate) fn context(&mut self) -> &mut AiContext {
        self.ai_context.get_or_insert_default()
    }
}

/// The stages in their order.
pub(crate) struct AiPipeline {
    stages: Vec<Arc<dyn AiStage>>,
    whole: bool,
    /// Made once: they are told of at each stage of each turn.
    stage_complete: FrameworkEventType,
    aborted: FrameworkEventType,
    completed: FrameworkEventType,
}

impl AiPipeline {
    pub(crate) fn new(config: AiPipelineConfig) -> Self {
        let whole = !config.post_generation.is_empty();
        let mut stages: Vec<Arc<dyn AiStage>> = vec![Arc::new(HookGate)];
        stages.extend(config.gates.into_iter().map(|it| it as Arc<dyn AiStage>));
        stages.push(match config.memory {
            Some(stage) => stage,
            None => Arc::new(ProviderMemory),
        });
        stages.push(match config.tool_resolution {
            Some(stage) => stage,
            None => Arc::new(ChannelTools),
        });
        stages.push(match config.prompt_assembly {
            Some(stage) => stage,
            None => Arc::new(ChannelPrompt),
        });
        stages.push(match config.pre_generation {
            Some(stage) => stage,
            None => Arc::new(HookPreGeneration),
        });
        stages.push(match config.generation {
            Some(stage) => stage,
            None => Arc::new(ToolLoopGeneration),
        });
        let post = config.post_generation.into_iter();
        stages.extend(post.map(|it| it as Arc<dyn AiStage>));
        stages.push(match config.emission {
            Some(stage) => stage,
            None => Arc::new(WholeOrStreamedEmission),
        });
        Self {
            stages,
            whole,
            stage_complete: "ai_pipeline.stage_complete".into(),
            aborted: "ai_pipeline.aborted".into(),
            completed: "ai_pipeline.completed".into(),
        }
    }

    /// Runs a turn through the stages. It never fails: what goes wrong aborts.
    pub(crate) async fn process(&self, ctx: &mut AiPipelineContext) {
        ctx.whole = self.whole;
        let turn = Arc::clone(&ctx.turn);
        let mut began = turn.age();
        for stage in &self.stages {
            let name = stage.name();
            let failure = run(&**stage, ctx).await;
            if let Some(failure) = failure {
                ctx.aborted = Some(Aborted {
                    reason: "stage exception".to_owned(),
                    stage: name.to_owned(),
                });
                Box::pin(tell_failure(&turn, name, &failure)).await;
            }
            if let Some(aborted) = &mut ctx.aborted {
                aborted.stage = name.to_owned();
            }
            let ended = turn.age();
            self.report(ctx, name, ended.saturating_sub(began), ended);
            began = ended;
            if ctx.is_aborted() {
                ctx.output = None;
                ctx.stream = None;
                return;
            }
        }
    }

    pub(crate) async fn close(&self) {
        for stage in &self.stages {
            if caught(|| stage.close()).await.is_err() {
                tracing::error!(stage = stage.name(), "a stage panicked when it was closed");
            }
        }
    }

    /// Tells the listeners that a stage is done, and at the end that the turn is (RFC §12.9.10).
    fn report(&self, ctx: &AiPipelineContext, stage: &str, took: Duration, age: Duration) {
        let turn = &ctx.turn;
        let Some(kit) = turn.kit.as_ref().and_then(|kit| kit.upgrade()) else {
            return;
        };
        let reason = ctx.aborted.as_ref().map(|it| it.reason.as_str());
        emit(&kit, turn, &self.stage_complete, || {
            let done = Metadata::new()
                .with("stage_name", stage)
                .with("latency_ms", fractional_millis(took))
                .with("aborted", reason.is_some());
            match reason {
                Some(reason) => done.with("abort_reason", reason),
                None => done,
            }
        });
        let total = fractional_millis(age);
        if let Some(reason) = reason {
            emit(&kit, turn, &self.aborted, || {
                Metadata::new()
                    .with("stage_name", stage)
                    .with("abort_reason", reason)
                    .with("total_latency_ms", total)
            });
        } else if ctx.output.is_some() {
            emit(&kit, turn, &self.completed, || {
                Metadata::new()
                    .with("stage_count", self.stages.len())
                    .with("total_latency_ms", total)
            });
        }
    }
}

/// Tells the listeners, where there are any.
fn emit(
    kit: &RoomKit,
    turn: &Turn,
    event_type: &FrameworkEventType,
    data: impl FnOnce() -> Metadata,
) {
    kit.emit_with(event_type.clone(), |event| {
        event.room_id = Some(turn.room_id().clone());
        event.channel_id = Some(turn.source.channel_id.clone());
        event.event_id = Some(turn.event.id.clone());
        event.data = data();
    });
}

fn fractional_millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// Why a stage did not do its part.
enum Failure {
    Error(BoxError),
    Panicked,
}

async fn run(stage: &dyn AiStage, ctx: &mut AiPipelineContext) -> Option<Failure> {
    match caught(|| stage.process(ctx)).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(Failure::Error(error)),
        Err(_panic) => Some(Failure::Panicked),
    }
}

async fn tell_failure(turn: &Turn, stage: &str, failure: &Failure) {
    let (code, message) = match failure {
        Failure::Panicked => ("ai_stage_panicked", format!("stage {stage} panicked")),
        Failure::Error(error) => match error.downcast_ref::<AiError>() {
            Some(error) => (error.code(), error.to_string()),
            None => match error.downcast_ref::<roomkit_core::Error>() {
                Some(error) => (error.code(), error.to_string()),
                None => ("ai_stage_failed", format!("stage {stage} failed: {error}")),
            },
        },
    };
    tracing::error!(
        room_id = %turn.room_id(), channel_id = %turn.source.channel_id, stage, code,
        "a turn was given up"
    );
    turn.tell_error(code, &message, "ai_pipeline").await;
}

impl fmt::Debug for AiPipelineConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiPipelineConfig")
            .field("gates", &self.gates.len())
            .field("post_generation", &self.post_generation.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for AiPipelineContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AiPipelineContext")
            .field("event", &self.event.id)
            .field("channel_id", &self.channel_id)
            .field("ai_context", &self.ai_context)
            .field("aborted", &self.aborted)
            .finish_non_exhaustive()
    }
}
