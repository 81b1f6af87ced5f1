//! Tools within turns: who may call them, how many of them are shown, what of a result is.

use std::sync::{Arc, Mutex};

use roomkit_ai::{
    AiChannel, AiChannelBuilder, AiContext, AiResponse, ConsoleToolAuditor, MockAiProvider,
    OnPlanUpdated, READ_STORED_RESULT, ToolPolicy, ToolSearch,
};
use roomkit_core::model::EphemeralEventType;
use serde_json::json;

use crate::support::{AGENT, Counted, FORMS, Form, Stage, call, calling, check_requests};

fn names(context: &AiContext) -> Vec<&str> {
    context.tools.iter().map(|it| it.name.as_str()).collect()
}

async fn stage_of(
    form: Form,
    script: impl IntoIterator<Item = AiResponse>,
    build: impl FnOnce(AiChannelBuilder) -> AiChannelBuilder,
) -> (Stage, Arc<MockAiProvider>) {
    let provider = form.of(MockAiProvider::scripted(script));
    let builder = AiChannel::builder(AGENT).shared_provider(provider.clone());
    (Stage::with(build(builder).build().unwrap()).await, provider)
}

fn result_of(context: &AiContext) -> String {
    let results = context.messages.last().unwrap().tool_results();
    results.map(|it| it.as_text().into_owned()).collect()
}

#[tokio::test]
async fn a_tool_that_the_policy_denies_is_neither_shown_nor_executed() {
    for form in FORMS {
        let (allowed, denied) = (Counted::done("get_page"), Counted::done("drop_page"));
        let script = [calling("c1", "drop_page"), AiResponse::text("Done.")];
        let auditor = Arc::new(ConsoleToolAuditor::new());
        let (stage, provider) = stage_of(form, script, |builder| {
            builder
                .tool(allowed)
                .tool(denied.clone())
                .tool_policy(ToolPolicy::new().deny(["drop_*"]))
                .tool_auditor(auditor.clone())
        })
        .await;
        stage.say("go").await;
        let asked = provider.calls();
        assert_eq!(names(&asked[0]), ["get_page"], "{form:?}");
        assert!(result_of(&asked[1]).contains("no such tool"));
        assert_eq!(denied.calls(), 0);
        assert_eq!(auditor.entries().len(), 1, "a refused call is recorded");
        check_requests(&provider);
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_the_schema_are_told_to_the_model() {
    let mut definition = crate::support::definition("pay");
    definition.parameters = json!({
        "type": "object", "properties": { "amount": { "type": "integer" } }, "required": ["amount"],
    });
    let tool = Counted::done("pay").with(definition);
    let script = [calling("c1", "pay"), AiResponse::text("Done.")];
    let (stage, provider) =
        stage_of(Form::Streamed, script, |builder| builder.tool(tool.clone())).await;
    stage.say("go").await;
    assert_eq!(tool.calls(), 0);
    assert!(result_of(&provider.calls()[1]).contains("amount"));
}

#[tokio::test]
async fn many_tools_are_hidden_behind_a_search_and_found_ones_are_shown_also_in_the_next_turn() {
    for form in FORMS {
        let find = call("c1", "find_tools", json!({ "query": "tool number_7" }));
        let script = [
            AiResponse::calling([find]),
            calling("c2", "number_7"),
            AiResponse::text("Done."),
        ];
        let (stage, provider) = stage_of(form, script, |builder| {
            let tools = (0..30).map(|n| Counted::done(&format!("number_{n}")));
            let search = ToolSearch::new().pinned(["number_0"]);
            tools.fold(builder.tool_search(search), AiChannelBuilder::tool)
        })
        .await;
        stage.say("go").await;
        let asked = provider.calls();
        assert_eq!(
            names(&asked[0]),
            ["find_tools", "list_tools", "number_0"],
            "{form:?}"
        );
        assert!(
            asked[0]
                .system_prompt
                .as_ref()
                .unwrap()
                .contains("find_tools")
        );
        assert!(
            names(&asked[1]).contains(&"number_7"),
            "{:?}",
            names(&asked[1])
        );
        assert_eq!(result_of(&asked[2]), "done");
        stage.say("again").await;
        assert!(names(provider.calls().last().unwrap()).contains(&"number_7"));
    }
}

#[tokio::test]
async fn a_large_result_is_kept_aside_and_read_in_the_same_turn() {
    for form in FORMS {
        let script = [calling("c1", "dump"), AiResponse::text("Done.")];
        let (stage, provider) = stage_of(form, script, |builder| {
            let dump = |_| {
                Ok((0..5_000)
                    .map(|n| format!("line {n}\n"))
                    .collect::<String>()
                    .into())
            };
            builder.tool(Counted::new("dump", dump))
        })
        .await;
        stage.say("go").await;
        let asked = provider.calls();
        assert_eq!(names(&asked[0]), ["dump"], "{form:?}");
        assert_eq!(names(&asked[1]), ["dump", READ_STORED_RESULT]);
        let shown = result_of(&asked[1]);
        assert!(shown.len() < 2_000 && shown.contains("line 0") && shown.contains("line 4999"));
    }
}

#[tokio::test]
async fn a_plan_is_told_and_shown_to_the_model_in_its_next_turn() {
    for form in FORMS {
        let plan = json!({ "tasks": [{ "title": "Look", "status": "in_progress" }] });
        let script = [
            AiResponse::calling([call("c1", "plan_tasks", plan)]),
            AiResponse::text("Done."),
        ];
        let (stage, provider) = stage_of(form, script, |it| it.enable_planning(true)).await;
        let told = Arc::new(Mutex::new(0));
        let tells = Arc::clone(&told);
        stage.kit.hook(OnPlanUpdated, "plans", move |update, _| {
            *tells.lock().unwrap() += update.tasks.len();
            async {}
        });
        let heard = stage.ephemeral().await;
        stage.say("go").await;
        stage.say("and now?").await;
        let asked = provider.calls();
        assert_eq!(asked[0].system_prompt, None, "{form:?}");
        assert!(
            asked
                .last()
                .unwrap()
                .system_prompt
                .as_ref()
                .unwrap()
                .contains("Look")
        );
        assert_eq!(*told.lock().unwrap(), 1);
        let heard = heard.lock().unwrap();
        let custom = heard
            .iter()
            .find(|it| it.event_type == EphemeralEventType::Custom);
        assert_eq!(custom.unwrap().data.get_str("type"), Some("plan_updated"));
    }
}
