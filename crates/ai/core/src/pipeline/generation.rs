//! The built-in stages that ask the model and give its answer: as it comes where the provider streams,
//! else whole.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::{FutureExt, StreamExt, stream};
use roomkit_core::channel::{DeltaStream, Response};
use roomkit_core::hook::BoxError;
use roomkit_core::model::Metadata;
use roomkit_core::{ChannelOutput, Reply};

use super::{AiPipelineContext, AiStage, EmissionStage, GenerationStage};
use crate::hooks::OnAiResponse;
use crate::turn::{Loop, LoopOutcome, Outlet, Pieces, Toolbox, Turn, lock};
use crate::{AiContext, AiResponse, FinishReason};

/// Position 6: the tool loop.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolLoopGeneration;

/// Position 8: gives the answer, and tells the hooks at `ON_AI_RESPONSE` once it is complete.
#[derive(Debug, Clone, Copy, Default)]
pub struct WholeOrStreamedEmission;

impl GenerationStage for ToolLoopGeneration {}
impl EmissionStage for WholeOrStreamedEmission {}

#[async_trait]
impl AiStage for ToolLoopGeneration {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        // It may be large: it is lent to the loop, and what the later stages read stays.
        let context = std::mem::take(ctx.context());
        ctx.context().response_metadata = context.response_metadata.clone();
        let turn = Arc::clone(&ctx.turn);
        let tools = ctx.tools.take();
        let tools = tools.unwrap_or_else(|| Toolbox::empty(Arc::clone(&turn)));
        let provider = turn.parts.provider.as_ref();
        let streams = provider.is_some_and(|it| it.capabilities().streaming);
        if streams && !ctx.whole {
            ctx.stream = Some(pieces(turn, tools, context));
            return Ok(());
        }
        let outcome = Loop::new(turn, tools, context, Outlet::default())
            .run()
            .await;
        let LoopOutcome {
            error,
            context,
            said,
            thinking,
            usage,
            facts,
            tasks,
            observations,
        } = outcome;
        ctx.ai_context = Some(context);
        if let Some(error) = error
            && said.is_empty()
        {
            return Err(error.into());
        }
        let mut response = AiResponse::text(said.join("\n"));
        response.thinking = (!thinking.is_empty()).then_some(thinking);
        response.finish_reason = Some(FinishReason::Stop);
        response.usage = usage;
        response.metadata = facts;
        response.tasks = tasks;
        response.observations = observations;
        ctx.said = said;
        ctx.response = Some(response);
        Ok(())
    }
}

/// The answer as it comes. Nothing is asked before the first piece is.
fn pieces(turn: Arc<Turn>, tools: Toolbox, context: AiContext) -> DeltaStream {
    let work = move |outlet: Outlet| {
        async move {
            let given = outlet.clone();
            let outcome = Loop::new(turn, tools, context, outlet).run().await;
            if let Some(error) = outcome.error {
                given.send(Err(error.into())).await;
            }
        }
        .boxed()
    };
    Pieces::of(work).boxed()
}

#[async_trait]
impl AiStage for WholeOrStreamedEmission {
    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        let of_host = ctx.context().response_metadata.clone();
        if let Some(pieces) = ctx.stream.take() {
            let turn = Arc::clone(&ctx.turn);
            let told =
                stream::once(async move { tell(&turn).await }).filter_map(|()| async { None });
            let mut output = ChannelOutput::stream(pieces.chain(told).boxed());
            output.response_metadata = of_host;
            ctx.output = Some(output);
            return Ok(());
        }
        let Some(response) = ctx.response.take() else {
            ctx.output = Some(ChannelOutput::none());
            return Ok(());
        };
        ctx.output = Some(whole(response, &ctx.said, of_host));
        tell(&ctx.turn).await;
        Ok(())
    }
}

/// The answer as events: a part for each round that said something, unless it was changed since.
fn whole(response: AiResponse, said: &[String], mut metadata: Metadata) -> ChannelOutput {
    let is_as_said = response.text == said.join("\n");
    let texts = if is_as_said {
        said.to_vec()
    } else {
        vec![response.text]
    };
    let replies = texts.into_iter().filter(|text| !text.is_empty());
    metadata.merge(&response.metadata);
    ChannelOutput {
        response: Response::Replies(replies.map(Reply::text).collect()),
        tasks: response.tasks,
        observations: response.observations,
        metadata_updates: Metadata::new(),
        response_metadata: metadata,
    }
}

/// Tells of a turn that the loop has ended; one of another generation stage is that stage's to tell.
async fn tell(turn: &Turn) {
    let summary = lock(&turn.summary).take();
    if let Some(summary) = summary {
        turn.hooks(OnAiResponse, summary).await;
    }
}
