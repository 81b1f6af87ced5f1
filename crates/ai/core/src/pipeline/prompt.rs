//! The built-in stages that give the tools and put the prompt together.

use std::sync::Arc;

use async_trait::async_trait;
use roomkit_core::hook::BoxError;

use super::memory::SEVERAL_SPEAKERS;
use super::{AiPipelineContext, AiStage, PromptAssemblyStage, ToolResolutionStage, target};
use crate::TOOL_SEARCH_PROMPT;
use crate::channel::{invalid, language_of};
use crate::turn::Toolbox;

/// What the model is told where the messages name who says them.
const SPEAKERS_NOTE: &str = "Several people take part in this conversation. Their messages are \
     prefixed with the sender's name (\"Name: message\"). The prefix is transcript metadata, not text \
     they typed: rely on it to know who said what, and never prefix your own replies with a name.";

/// Position 3: the tools of the room or the turn, then the agent's own.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelTools;

/// Position 4: what the agent is told, and how the model is to answer: what the room sets wins over the
/// turn's [`ConfigProvider`](crate::ConfigProvider), and that over the agent's configuration.
#[derive(Debug, Clone, Copy, Default)]
pub struct ChannelPrompt;

impl ToolResolutionStage for ChannelTools {}
impl PromptAssemblyStage for ChannelPrompt {}

#[async_trait]
impl AiStage for ChannelTools {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let defined = ctx.settings().await?.tools.unwrap_or_default();
        let tools = Toolbox::new(Arc::clone(&ctx.turn), defined).await;
        let tools = tools.map_err(|problem| invalid("tools", &problem.to_string()))?;
        ctx.context().tools = tools.shown();
        ctx.tools = Some(tools);
        Ok(())
    }
}

#[async_trait]
impl AiStage for ChannelPrompt {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let settings = ctx.settings().await?;
        let mut blocks: Vec<String> = settings.system_prompt.into_iter().collect();
        let parts = &ctx.turn.parts;
        if let Some(profile) = &parts.profile {
            let language = language_of(ctx.room_context.room());
            blocks.extend(profile.identity(language));
        }
        let plans = parts.plans.as_ref();
        blocks.extend(plans.and_then(|it| it.prompt(Some(ctx.turn.room_id()))));
        if ctx.tools.as_ref().is_some_and(Toolbox::is_searched) {
            blocks.push(TOOL_SEARCH_PROMPT.to_owned());
        }
        if ctx.stage_metadata.contains_key(SEVERAL_SPEAKERS) {
            blocks.push(SPEAKERS_NOTE.to_owned());
        }
        let targets = target::common(&ctx.room_context, &ctx.channel_id);
        let context = ctx.context();
        context.system_prompt = (!blocks.is_empty()).then(|| blocks.join("\n\n"));
        context.temperature = settings.temperature;
        context.max_tokens = settings.max_tokens;
        context.thinking_budget = settings.thinking_budget;
        context.enable_thinking = settings.enable_thinking;
        context.reasoning_effort = settings.reasoning_effort;
        if let Some(targets) = targets {
            context.target_media_types.clone_from(&targets.media_types);
            context.target_capabilities = Some(targets);
        }
        Ok(())
    }
}
