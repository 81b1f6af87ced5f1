//! The built-in stages that ask hooks: before anything is done, and before the model is asked.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::hook::{BoxError, HookVerdict};

use super::{AiPipelineContext, AiStage, PreContextGateStage, PreGenerationStage};
use crate::hooks::{AiGeneration, AiTrigger, BeforeAiContextBuild, BeforeAiGeneration};

/// Position 1: asks the hooks at `BEFORE_AI_CONTEXT_BUILD`.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookGate;

/// Position 5: asks the hooks at `BEFORE_AI_GENERATION`, which may change the context.
#[derive(Debug, Clone, Copy, Default)]
pub struct HookPreGeneration;

impl PreContextGateStage for HookGate {}
impl PreGenerationStage for HookPreGeneration {}

#[async_trait]
impl AiStage for HookGate {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let trigger = AiTrigger {
            source: Arc::clone(&ctx.turn.source),
            event: Arc::clone(&ctx.event),
        };
        if let HookVerdict::Blocked { reason, .. } =
            ctx.turn.hooks(BeforeAiContextBuild, trigger).await
        {
            ctx.abort(reason);
        }
        Ok(())
    }
}

#[async_trait]
impl AiStage for HookPreGeneration {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let provider = ctx.turn.source.provider.clone();
        let generation = AiGeneration {
            source: Arc::clone(&ctx.turn.source),
            event: Arc::clone(&ctx.event),
            provider: provider.unwrap_or_else(|| Arc::from("none")),
            context: ctx.ai_context.take().unwrap_or_default(),
        };
        match ctx.turn.hooks(BeforeAiGeneration, generation).await {
            HookVerdict::Allowed(generation) => ctx.ai_context = Some(generation.context),
            HookVerdict::Blocked { reason, .. } => ctx.abort(reason),
        }
        Ok(())
    }
}
