//! The rules of the tool loop, in both of its forms: how it ends, and with which reason.

use std::sync::Arc;

use roomkit_ai::{
    AiChannel, AiErrorKind, AiResponse, FinishReason, MockAiProvider, ModelInfo, ToolArguments,
    ToolCall, ToolOutput, Usage,
};
use serde_json::json;

use crate::support::{
    AGENT, Counted, FORMS, Form, Hanging, ROOM, Stage, call, calling, check_requests,
};

fn truncated(mut answer: AiResponse) -> AiResponse {
    answer.finish_reason = Some(FinishReason::Length);
    answer
}

fn saying(text: &str, mut answer: AiResponse) -> AiResponse {
    answer.text = text.to_owned();
    answer
}

async fn run(form: Form, provider: MockAiProvider, tool: &Counted) -> (Stage, Arc<MockAiProvider>) {
    let provider = form.of(provider);
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .tool(tool.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("go").await;
    check_requests(&provider);
    (stage, provider)
}

#[tokio::test]
async fn an_answer_without_tools_is_completed() {
    for form in FORMS {
        let tool = Counted::done("look");
        let (stage, _) = run(form, MockAiProvider::new(["Hello there!"]), &tool).await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["Hello there!".to_owned()], "completed")
        );
    }
}

#[tokio::test]
async fn tools_are_called_until_there_is_an_answer_and_their_parts_are_events() {
    for form in FORMS {
        let script = [
            saying("Let me look.", calling("c1", "look")),
            calling("c2", "look"),
            AiResponse::text("Found it."),
        ];
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(texts, ["Let me look.", "Found it."], "{form:?}");
        assert_eq!(reason, "completed");
        assert_eq!(tool.calls(), 2);
        assert_eq!(provider.calls().len(), 3);
    }
}

#[tokio::test]
async fn rounds_end_at_the_most_that_may_be_and_pending_calls_are_dropped() {
    for form in FORMS {
        let script = (0..9).map(|n| saying("More.", calling(&format!("c{n}"), "look")));
        let tool = Counted::done("look");
        let provider = form.of(MockAiProvider::scripted(script));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .tool(tool.clone())
            .max_tool_rounds(2)
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("go").await;
        assert_eq!(stage.outcome().await.1, "max_rounds", "{form:?}");
        assert_eq!(tool.calls(), 2);
        assert_eq!(provider.calls().len(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_hangs_is_ended_by_the_deadline_and_what_was_said_is_kept() {
    for form in FORMS {
        let script = [
            saying("Wait.", calling("c1", "hang")),
            AiResponse::text("Never."),
        ];
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted(script)))
            .tool(Hanging::new("hang"))
            .tool_loop_timeout_seconds(5.0)
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let heard = stage.ephemeral().await;
        stage.say("go").await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["Wait.".to_owned()], "timeout"),
            "{form:?}"
        );
        let heard = heard.lock().unwrap();
        let last = &heard.last().unwrap().data;
        assert_eq!(last.get("tool_calls").unwrap()[0]["is_error"], json!(true));
    }
}

#[tokio::test]
async fn calls_beyond_32_in_a_round_are_neither_executed_nor_in_the_conversation() {
    for form in FORMS {
        let many = (0..40).map(|n| call(&format!("c{n}"), "look", json!({ "n": n })));
        let script = [AiResponse::calling(many), AiResponse::text("Done.")];
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        assert_eq!(tool.calls(), 32, "{form:?}");
        assert_eq!(stage.outcome().await.1, "completed");
        let asked = &provider.calls()[1].messages;
        let calls: usize = asked.iter().map(|it| it.tool_calls().count()).sum();
        assert_eq!(calls, 32);
    }
}

#[tokio::test]
async fn a_model_that_falls_silent_after_its_tools_is_asked_once_more() {
    for form in FORMS {
        let script = [
            calling("c1", "look"),
            AiResponse::text(""),
            AiResponse::text("Now then."),
        ];
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["Now then.".to_owned()], "completed")
        );
        assert_eq!(provider.calls().len(), 3, "{form:?}");
    }
}

#[tokio::test]
async fn a_model_that_stays_silent_ends_as_an_empty_response() {
    for form in FORMS {
        let script = [
            saying("I look.", calling("c1", "look")),
            AiResponse::text(""),
        ];
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["I look.".to_owned()], "empty_response")
        );
        assert_eq!(provider.calls().len(), 3, "{form:?}");
    }
}

#[tokio::test]
async fn an_answer_without_words_tells_its_reason_to_whoever_asked() {
    for form in FORMS {
        let script = [calling("c1", "look"), AiResponse::text("")];
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted(script)))
            .tool(Counted::done("look"))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let result = stage.say("go").await;
        let told = &result.response_metadata;
        assert_eq!(
            told.get_str("loop_end_reason"),
            Some("empty_response"),
            "{form:?}"
        );
        assert!(stage.answers().await.is_empty());
    }
}

#[tokio::test]
async fn a_round_that_was_cut_before_it_said_anything_is_truncated_and_not_repeated() {
    for form in FORMS {
        let script = [
            saying("I look.", calling("c1", "look")),
            truncated(AiResponse::text("")),
        ];
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        assert_eq!(stage.outcome().await.1, "truncated", "{form:?}");
        assert_eq!(provider.calls().len(), 2);
    }
}

#[tokio::test]
async fn f39_calls_of_an_answer_that_was_cut_are_not_executed_and_the_model_is_told() {
    for form in FORMS {
        let script = [
            truncated(calling("c1", "pay")),
            AiResponse::text("I stop here."),
        ];
        let tool = Counted::done("pay");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        assert_eq!(tool.calls(), 0, "{form:?}");
        let asked = &provider.calls()[1].messages;
        let result = asked.last().unwrap().tool_results().next().unwrap();
        assert!(result.is_error && result.as_text().contains("cut off"));
        assert_eq!(stage.outcome().await.1, "completed");
    }
}

#[tokio::test]
async fn f39_arguments_that_are_no_object_are_never_executed_and_the_model_is_told() {
    for form in FORMS {
        let half = ToolArguments::parse(r#"{"to":"+15550100003","amount":12"#);
        let script = [
            AiResponse::calling([ToolCall::new("c1", "pay", half)]),
            AiResponse::text("Sorry."),
        ];
        let tool = Counted::done("pay");
        let (_, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        assert_eq!(tool.calls(), 0, "{form:?}");
        let asked = &provider.calls()[1].messages;
        let result = asked.last().unwrap().tool_results().next().unwrap();
        assert!(result.is_error);
        assert!(!result.as_text().contains("15550100003"));
    }
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_blocked_and_then_has_to_answer_without_tools() {
    for form in FORMS {
        let again = || AiResponse::calling([call("c", "look", json!({ "q": 1 }))]);
        let mut script: Vec<_> = (0..6).map(|_| again()).collect();
        script.push(AiResponse::text("So far."));
        let tool = Counted::done("look");
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        // The third identical call is the first that is not executed, the sixth the last.
        assert_eq!(tool.calls(), 2, "{form:?}");
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["So far.".to_owned()], "force_stopped")
        );
        let requests = provider.calls();
        assert_eq!(requests.len(), 7);
        assert!(requests[5].tools.len() == 1 && requests[6].tools.is_empty());
    }
}

#[tokio::test]
async fn arguments_in_another_order_are_the_same_call() {
    let once = call("a", "look", json!({ "x": 1, "y": [1, 2] }));
    let other = call("b", "look", json!({ "y": [1, 2], "x": 1 }));
    let script = [once.clone(), other, once]
        .map(|it| AiResponse::calling([it]))
        .into_iter()
        .chain([AiResponse::text("Done.")]);
    let tool = Counted::done("look");
    let (_, _) = run(Form::Whole, MockAiProvider::scripted(script), &tool).await;
    assert_eq!(tool.calls(), 2);
}

#[tokio::test]
async fn a_provider_that_fails_between_rounds_leaves_the_partial_answer_with_the_reason_error() {
    for form in FORMS {
        let script = MockAiProvider::scripted([saying("I look.", calling("c1", "look"))])
            .then_failing(AiErrorKind::Overloaded);
        let tool = Counted::done("look");
        let (stage, _) = run(form, script, &tool).await;
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["I look.".to_owned()], "error"),
            "{form:?}"
        );
        assert_eq!(stage.errors(), ["ai_overloaded"]);
    }
}

#[tokio::test]
async fn a_provider_that_fails_before_anything_is_said_is_told_of_once() {
    for form in FORMS {
        let script = MockAiProvider::scripted([]).then_failing(AiErrorKind::Unauthorized);
        let tool = Counted::done("look");
        let (stage, _) = run(form, script, &tool).await;
        assert!(stage.answers().await.is_empty());
        assert_eq!(stage.errors(), ["ai_unauthorized"], "{form:?}");
    }
}

#[tokio::test]
async fn usage_and_cost_are_those_of_all_rounds() {
    for form in FORMS {
        let mut first = calling("c1", "look");
        first.usage = Usage::new(100, 10).cached(5, 0);
        let mut last = AiResponse::text("Done.");
        last.usage = Usage::new(200, 20);
        let script = MockAiProvider::scripted([first, last]).with_catalog([priced()]);
        let tool = Counted::done("look");
        let (stage, _) = run(form, script, &tool).await;
        let answers = stage.answers().await;
        let usage = answers[0].metadata.get("ai_usage").unwrap();
        assert_eq!(
            usage,
            &json!({ "input_tokens": 300, "output_tokens": 30, "cache_read_input_tokens": 5 }),
            "{form:?}"
        );
        let cost = answers[0].metadata.get("ai_cost").unwrap();
        assert_eq!(cost["currency"], "USD");
        // 300 at 1, 5 at 0.1 and 30 at 2, for a million.
        let amount = cost["amount"].as_f64().unwrap();
        assert!((amount - 360.5e-6).abs() < 1e-9, "{amount}");
    }
}

fn priced() -> ModelInfo {
    serde_json::from_value(json!({
        "id": "mock",
        "pricing": {
            "input_per_million": 1.0,
            "output_per_million": 2.0,
            "cache_read_per_million": 0.1,
            "verified": "2026-01-01",
        },
    }))
    .unwrap()
}

#[tokio::test]
async fn f38_calls_without_ids_or_with_the_same_id_each_get_one() {
    for form in FORMS {
        let script = [
            AiResponse::calling([
                call("", "look", json!({ "n": 1 })),
                call("x", "look", json!({ "n": 2 })),
                call("x", "look", json!({ "n": 3 })),
            ]),
            AiResponse::calling([call("x", "look", json!({ "n": 4 }))]),
            AiResponse::text("Done."),
        ];
        let tool = Counted::done("look");
        // Every request is held to the vendors' rules, which want different ids.
        let (_, _) = run(form, MockAiProvider::scripted(script), &tool).await;
        assert_eq!(tool.calls(), 4, "{form:?}");
    }
}

#[tokio::test]
async fn a_tool_that_panics_fails_its_call_alone() {
    for form in FORMS {
        let script = [
            AiResponse::calling([
                call("c1", "mixed", json!({ "panic": true })),
                call("c2", "mixed", json!({})),
            ]),
            AiResponse::text("Done."),
        ];
        let tool = Counted::new("mixed", |arguments| {
            if arguments.contains_key("panic") {
                std::panic::resume_unwind(Box::new("a scripted panic"));
            }
            Ok(ToolOutput::text("fine"))
        });
        let (stage, provider) = run(form, MockAiProvider::scripted(script), &tool).await;
        let asked = provider.calls()[1].messages.clone();
        let results: Vec<_> = asked.last().unwrap().tool_results().collect();
        assert!(results[0].is_error && !results[1].is_error, "{form:?}");
        assert_eq!(results[1].as_text(), "fine");
        assert_eq!(stage.outcome().await.1, "completed");
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_kit_in_a_turn_ends_the_turn() {
    let tool = Hanging::new("hang");
    let called = Arc::clone(&tool.called);
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::scripted([calling("c1", "hang")]))
        .tool(tool)
        .build()
        .unwrap();
    let stage = Stage::with(agent.clone()).await;
    let kit = stage.kit.clone();
    let asking = tokio::spawn(async move { stage.say("go").await });
    called.notified().await;
    assert!(agent.is_at_work(ROOM));
    asking.abort();
    let _ = asking.await;
    drop(kit);
    crate::support::settle().await;
    assert!(!agent.is_at_work(ROOM));
}
