//! The hook points of agents: each at its stage, with what it may do.

use std::sync::{Arc, Mutex};

use roomkit_ai::{
    AiChannel, AiMessage, AiResponse, BeforeAiContextBuild, BeforeAiGeneration, BeforeToolUse,
    LoopEndReason, MockAiProvider, OnAiResponse, OnAiThinking, OnToolCall, ToolArguments,
    ToolOutput, ToolResult,
};
use roomkit_core::hook::{BoxError, HookResult};
use serde_json::json;

use crate::support::{AGENT, Counted, FORMS, Form, Stage, call, calling, definition};

#[tokio::test]
async fn a_gate_that_blocks_costs_nothing_and_says_nothing() {
    for form in FORMS {
        let provider = form.of(MockAiProvider::new(["Hello."]));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let told = stage.framework("ai_pipeline.aborted");
        stage
            .kit
            .hook(BeforeAiContextBuild, "gate", |trigger, _| async move {
                match trigger.event.text() {
                    Some("stop") => HookResult::block("not now"),
                    _ => HookResult::allow(),
                }
            });
        stage.say("stop").await;
        assert!(
            provider.calls().is_empty() && stage.answers().await.is_empty(),
            "{form:?}"
        );
        assert!(stage.errors().is_empty(), "a block is no failure");
        let told = told.lock().unwrap().clone();
        assert_eq!(told[0].data.get_str("abort_reason"), Some("not now"));
        assert_eq!(told[0].data.get_str("stage_name"), Some("HookGate"));
        stage.say("go").await;
        assert_eq!(stage.outcome().await.0, ["Hello."]);
    }
}

#[tokio::test]
async fn before_generation_hooks_change_all_of_the_context_or_block() {
    for form in FORMS {
        let provider = form.of(MockAiProvider::scripted([
            calling("c1", "added"),
            AiResponse::text("Done."),
        ]));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .tool(Counted::done("taken_away"))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.kit.hook(
            BeforeAiGeneration,
            "change",
            |mut generation, _| async move {
                if generation.event.text() == Some("no") {
                    return HookResult::block("no");
                }
                generation.context.system_prompt = Some("changed".into());
                generation
                    .context
                    .messages
                    .push(AiMessage::user("one more"));
                generation.context.tools = vec![definition("added")];
                generation.context.response_metadata.insert("tag", "x");
                HookResult::modify(generation)
            },
        );
        stage
            .kit
            .hook(OnToolCall, "supply", |mut used, _| async move {
                used.result = Some(ToolResult::text(&used.call, "by the hook"));
                HookResult::modify(used)
            });
        stage.say("no").await;
        assert!(provider.calls().is_empty());
        stage.say("go").await;
        let asked = provider.calls();
        assert_eq!(
            asked[0].system_prompt.as_deref(),
            Some("changed"),
            "{form:?}"
        );
        assert_eq!(asked[0].messages.last().unwrap().text(), "one more");
        let names: Vec<_> = asked[0].tools.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["added"]);
        let results = asked[1].messages.last().unwrap();
        assert_eq!(
            results.tool_results().next().unwrap().as_text(),
            "by the hook"
        );
        let answer = stage.answers().await.pop().unwrap();
        assert_eq!(answer.metadata.get_str("tag"), Some("x"));
    }
}

async fn tool_turn(form: Form, tool: &Counted) -> (Stage, Arc<MockAiProvider>) {
    let script = [
        AiResponse::calling([call("c1", "pay", json!({ "amount": 5 }))]),
        AiResponse::text("Done."),
    ];
    let provider = form.of(MockAiProvider::scripted(script));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .tool(tool.clone())
        .build()
        .unwrap();
    (Stage::with(agent).await, provider)
}

fn result_of(provider: &MockAiProvider) -> ToolResult {
    let asked = provider.calls().pop().unwrap();
    asked
        .messages
        .last()
        .unwrap()
        .tool_results()
        .next()
        .unwrap()
        .clone()
}

#[tokio::test]
async fn before_tool_use_denies_a_call_and_one_that_fails_denies_too() {
    for form in FORMS {
        for fails in [false, true] {
            let tool = Counted::done("pay");
            let (stage, provider) = tool_turn(form, &tool).await;
            stage
                .kit
                .hook(BeforeToolUse, "deny", move |_, _| async move {
                    if fails {
                        Err(BoxError::from("broken"))
                    } else {
                        Ok(HookResult::block("too much"))
                    }
                });
            stage.say("go").await;
            assert_eq!(tool.calls(), 0, "{form:?}");
            let result = result_of(&provider);
            assert!(result.is_error && result.as_text().contains("denied"));
        }
    }
}

#[tokio::test]
async fn before_tool_use_changes_what_a_tool_is_called_with() {
    let seen = Arc::new(Mutex::new(None));
    let sees = Arc::clone(&seen);
    let tool = Counted::new("pay", move |arguments| {
        *sees.lock().unwrap() = arguments.get("amount").cloned();
        Ok(ToolOutput::text("paid"))
    });
    let (stage, _) = tool_turn(Form::Whole, &tool).await;
    stage
        .kit
        .hook(BeforeToolUse, "less", |mut used, _| async move {
            used.call.arguments = ToolArguments::from_value(json!({ "amount": 1 }));
            HookResult::modify(used)
        });
    stage.say("go").await;
    assert_eq!(*seen.lock().unwrap(), Some(json!(1)));
}

#[tokio::test]
async fn on_tool_call_sees_the_result_and_replaces_or_withholds_it() {
    for withhold in [false, true] {
        let tool = Counted::done("pay");
        let (stage, provider) = tool_turn(Form::Streamed, &tool).await;
        stage
            .kit
            .hook(OnToolCall, "after", move |mut used, _| async move {
                assert_eq!(used.result.as_ref().unwrap().as_text(), "done");
                if withhold {
                    return HookResult::block("secret");
                }
                used.result = Some(ToolResult::text(&used.call, "replaced"));
                HookResult::modify(used)
            });
        stage.say("go").await;
        let result = result_of(&provider);
        assert_eq!(result.is_error, withhold);
        let word = if withhold { "withheld" } else { "replaced" };
        assert!(result.as_text().contains(word));
    }
}

#[tokio::test]
async fn the_end_of_a_turn_and_its_thinking_are_told() {
    for form in FORMS {
        let mut answer = AiResponse::text("Four.");
        answer.thinking = Some("Two and two.".to_owned());
        let script = [calling("c1", "look"), answer];
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted(script)))
            .tool(Counted::done("look"))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let heard: Arc<Mutex<Vec<_>>> = Arc::default();
        let (thoughts, ends) = (Arc::clone(&heard), Arc::clone(&heard));
        stage.kit.hook(OnAiThinking, "thinks", move |thinking, _| {
            thoughts
                .lock()
                .unwrap()
                .push(format!("thinks in round {}", thinking.round));
            async {}
        });
        stage.kit.hook(OnAiResponse, "ends", move |ended, _| {
            assert_eq!(ended.reason, LoopEndReason::Completed);
            assert_eq!(ended.streaming, form == Form::Streamed);
            let (text, calls, rounds) = (ended.text, ended.tool_calls, ended.rounds);
            ends.lock()
                .unwrap()
                .push(format!("{text} {calls} {rounds} {}", ended.thinking));
            async {}
        });
        stage.say("2+2?").await;
        assert_eq!(
            *heard.lock().unwrap(),
            ["thinks in round 1", "Four. 1 1 Two and two."],
            "{form:?}"
        );
    }
}
