//! The eight stages: their order, replacing them, adding to them, and giving a turn up.

use std::sync::{Arc, Mutex};

use roomkit_ai::pipeline::{
    AiPipelineConfig, AiPipelineContext, AiStage, EmissionStage, GenerationStage,
    MemoryRetrievalStage, PostGenerationStage, PreContextGateStage, PreGenerationStage,
    PromptAssemblyStage, ToolResolutionStage,
};
use roomkit_ai::{AiChannel, AiContext, AiMessage, AiResponse, MockAiProvider, async_trait};
use roomkit_core::ChannelOutput;
use roomkit_core::hook::BoxError;

use crate::support::{AGENT, FORMS, Stage, settle, shared};

type Log = Arc<Mutex<Vec<&'static str>>>;

type Work = dyn Fn(&mut AiPipelineContext) -> Result<(), BoxError> + Send + Sync;

/// A stage for any place.
struct Step(&'static str, Log, Box<Work>);

impl Step {
    fn new(
        name: &'static str,
        log: &Log,
        work: impl Fn(&mut AiPipelineContext) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self(name, Arc::clone(log), Box::new(work))
    }

    fn idle(name: &'static str, log: &Log) -> Self {
        Self::new(name, log, |_| Ok(()))
    }
}

#[async_trait]
impl AiStage for Step {
    fn name(&self) -> &str {
        self.0
    }

    async fn process(&self, ctx: &mut AiPipelineContext) -> Result<(), BoxError> {
        self.1.lock().unwrap().push(self.0);
        (self.2)(ctx)
    }
}

impl PreContextGateStage for Step {}
impl MemoryRetrievalStage for Step {}
impl ToolResolutionStage for Step {}
impl PromptAssemblyStage for Step {}
impl PreGenerationStage for Step {}
impl GenerationStage for Step {}
impl PostGenerationStage for Step {}
impl EmissionStage for Step {}

async fn stage_of(provider: &Arc<MockAiProvider>, pipeline: AiPipelineConfig) -> Stage {
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .pipeline(pipeline)
        .build()
        .unwrap();
    Stage::with(agent).await
}

#[tokio::test]
async fn stages_run_in_their_order_and_lists_in_that_of_their_registration() {
    let log = Log::default();
    let pipeline = AiPipelineConfig::new()
        .post_generation(Step::idle("post 1", &log))
        .emission(Step::new("emission", &log, |ctx| {
            let text = ctx.response.take().unwrap().text;
            ctx.output = Some(ChannelOutput::text(text));
            Ok(())
        }))
        .generation(Step::new("generation", &log, |ctx| {
            ctx.response = Some(AiResponse::text("By hand."));
            Ok(())
        }))
        .gate(Step::idle("gate 1", &log))
        .pre_generation(Step::idle("pre", &log))
        .prompt_assembly(Step::idle("prompt", &log))
        .tool_resolution(Step::idle("tools", &log))
        .memory(Step::new("memory", &log, |ctx| {
            ctx.ai_context = Some(AiContext::new([AiMessage::user("x")]));
            Ok(())
        }))
        .gate(Step::idle("gate 2", &log))
        .post_generation(Step::idle("post 2", &log));
    let provider = shared(MockAiProvider::new(["unused"]));
    let stage = stage_of(&provider, pipeline).await;
    let told = stage.framework("ai_pipeline.");
    stage.say("go").await;
    assert_eq!(
        *log.lock().unwrap(),
        [
            "gate 1",
            "gate 2",
            "memory",
            "tools",
            "prompt",
            "pre",
            "generation",
            "post 1",
            "post 2",
            "emission"
        ]
    );
    assert_eq!(stage.answers().await[0].text(), Some("By hand."));
    assert!(provider.calls().is_empty());
    settle().await;
    let told = told.lock().unwrap();
    let last = told.last().unwrap();
    assert_eq!(last.event_type.as_str(), "ai_pipeline.completed");
    // The built-in gate comes first of all.
    assert_eq!(last.data.get("stage_count").unwrap(), 11);
    assert_eq!(told.len(), 12);
}

#[tokio::test]
async fn a_stage_that_aborts_fails_or_panics_ends_the_turn_and_later_stages_do_not_run() {
    for (how, errors) in [
        ("abort", vec![]),
        ("error", vec!["ai_stage_failed"]),
        ("panic", vec!["ai_stage_panicked"]),
    ] {
        let log = Log::default();
        let pipeline = AiPipelineConfig::new()
            .prompt_assembly(Step::new("prompt", &log, move |ctx| match how {
                "abort" => {
                    ctx.abort("enough");
                    Ok(())
                }
                "error" => Err("broken".into()),
                _ => std::panic::resume_unwind(Box::new("a scripted panic")),
            }))
            .pre_generation(Step::idle("pre", &log))
            .emission(Step::idle("emission", &log));
        let provider = shared(MockAiProvider::new(["Hello."]));
        let stage = stage_of(&provider, pipeline).await;
        let told = stage.framework("ai_pipeline.aborted");
        let result = stage.say("go").await;
        assert_eq!(*log.lock().unwrap(), ["prompt"], "{how}");
        assert_eq!(stage.errors(), errors, "{how}");
        assert!(provider.calls().is_empty() && stage.answers().await.is_empty());
        assert_eq!(result.error, None, "nothing leaves the pipeline");
        settle().await;
        let told = told.lock().unwrap();
        let reason = if how == "abort" {
            "enough"
        } else {
            "stage exception"
        };
        assert_eq!(told[0].data.get_str("abort_reason"), Some(reason));
        assert_eq!(told[0].data.get_str("stage_name"), Some("prompt"));
    }
}

#[tokio::test]
async fn a_gate_of_ones_own_stops_a_turn_before_anything_is_spent() {
    let log = Log::default();
    let pipeline = AiPipelineConfig::new()
        .gate(Step::new("gate", &log, |ctx| {
            ctx.abort("closed");
            Ok(())
        }))
        .memory(Step::idle("memory", &log));
    let provider = shared(MockAiProvider::new(["Hello."]));
    let stage = stage_of(&provider, pipeline).await;
    stage.say("go").await;
    assert_eq!(*log.lock().unwrap(), ["gate"]);
}

#[tokio::test]
async fn what_looks_at_an_answer_before_it_is_given_sees_it_whole_and_may_change_it() {
    for form in FORMS {
        let log = Log::default();
        let pipeline = AiPipelineConfig::new().post_generation(Step::new("filter", &log, |ctx| {
            let response = ctx.response.as_mut().ok_or("no response")?;
            response.text = response.text.replace("damn", "****");
            Ok(())
        }));
        let provider = form.of(MockAiProvider::new(["Well, damn it."]));
        let stage = stage_of(&provider, pipeline).await;
        stage.say("go").await;
        assert_eq!(stage.outcome().await.0, ["Well, **** it."], "{form:?}");
        assert!(stage.web.frames().is_empty(), "nothing was shown before");
    }
}
