//! Tools that ask a person: answered at any time, never for ever, and never a deadlock.

use std::time::Duration;

use roomkit_ai::{
    AiChannel, AiResponse, HumanInput, HumanInputError, InputOutcome, MockAiProvider,
    OnUserInputRequired, PendingInput, Steering,
};
use roomkit_core::hook::HookResult;

use crate::support::{
    AGENT, FORMS, Form, ROOM, Stage, calling, check_requests, definition, settle,
};

fn asking() -> HumanInput {
    HumanInput::new().tool(definition("ask"))
}

fn agent(form: Form, human: &HumanInput) -> (AiChannel, std::sync::Arc<MockAiProvider>) {
    let script = [
        calling("c1", "ask"),
        AiResponse::text("Thanks."),
        AiResponse::text("Next."),
    ];
    let provider = form.of(MockAiProvider::scripted(script));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .human_input(human.clone())
        .build()
        .unwrap();
    (agent, provider)
}

async fn pending(human: &HumanInput) -> PendingInput {
    loop {
        if let Some(pending) = human.pending().pop() {
            return pending;
        }
        tokio::task::yield_now().await;
    }
}

fn answer_given(provider: &MockAiProvider) -> String {
    let asked = provider.calls()[1].messages.clone();
    let result = asked.last().unwrap().tool_results().next().unwrap().clone();
    result.as_text().into_owned()
}

#[tokio::test(start_paused = true)]
async fn an_answer_through_the_handle_ends_the_wait() {
    for form in FORMS {
        let human = asking();
        let (agent, provider) = agent(form, &human);
        let stage = Stage::with(agent).await;
        let (_, ()) = tokio::join!(stage.say("go"), async {
            let request = pending(&human).await;
            assert_eq!(request.tool_name, "ask");
            assert_eq!(request.participant_id.as_ref().unwrap().as_str(), "alice");
            human.answer(&request.id, "blue").unwrap();
            assert_eq!(
                human.answer(&request.id, "red"),
                Err(HumanInputError::Settled)
            );
            assert_eq!(human.answer("other", "red"), Err(HumanInputError::NotFound));
            assert_eq!(
                human.outcome(&request.id),
                Some(InputOutcome::Answered("blue".into()))
            );
        });
        assert_eq!(answer_given(&provider), "blue", "{form:?}");
        assert_eq!(stage.outcome().await.0, ["Thanks."]);
        check_requests(&provider);
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_in_the_room_is_the_answer_while_the_turn_still_runs() {
    for form in FORMS {
        let human = asking().answered_by_messages();
        let (agent, provider) = agent(form, &human);
        let stage = Stage::with(agent).await;
        let (_, ()) = tokio::join!(stage.say("go"), async {
            pending(&human).await;
            // Somebody else's message is no answer, and waits for its own turn.
            let other = stage.say_as("bob", "me too");
            let answer = async {
                settle().await;
                stage.say("green").await;
            };
            tokio::join!(other, answer);
        });
        assert_eq!(answer_given(&provider), "green", "{form:?}");
        // The answer asks for no turn of its own; bob's message does.
        assert_eq!(stage.outcome().await.0, ["Thanks.", "Next."]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_comes_while_the_notice_still_runs_counts() {
    let human = asking();
    let (agent, provider) = agent(Form::Streamed, &human);
    let stage = Stage::with(agent).await;
    let answers = human.clone();
    stage
        .kit
        .hook(OnUserInputRequired, "slow", move |required, _| {
            let answers = answers.clone();
            async move {
                answers.answer(&required.pending.id, "at once").unwrap();
                std::future::pending::<()>().await;
                HookResult::block("too late")
            }
        });
    stage.say("go").await;
    assert_eq!(answer_given(&provider), "at once");
}

#[tokio::test(start_paused = true)]
async fn a_hook_that_blocks_rejects_the_request() {
    let human = asking();
    let (agent, provider) = agent(Form::Whole, &human);
    let stage = Stage::with(agent).await;
    stage.kit.hook(OnUserInputRequired, "deny", |_, _| async {
        HookResult::block("not now")
    });
    stage.say("go").await;
    assert!(answer_given(&provider).contains("not now"));
    assert!(human.pending().is_empty());
}

#[tokio::test(start_paused = true)]
async fn nobody_answering_is_bounded_by_the_requests_limit_and_by_the_turns_deadline() {
    for form in FORMS {
        let human = asking().timeout(Duration::from_secs(10));
        let (agent, provider) = agent(form, &human);
        let stage = Stage::with(agent).await;
        stage.say("go").await;
        assert!(
            answer_given(&provider).contains("Nobody answered"),
            "{form:?}"
        );
        assert_eq!(stage.outcome().await.0, ["Thanks."]);

        let human = asking();
        let script = [calling("c1", "ask")];
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted(script)))
            .human_input(human.clone())
            .tool_loop_timeout_seconds(3.0)
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let result = stage.say("go").await;
        let reason = result
            .response_metadata
            .get_str("loop_end_reason")
            .map(str::to_owned);
        assert_eq!(reason.as_deref(), Some("timeout"), "{form:?}");
        assert!(human.pending().is_empty(), "the request ends with its turn");
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_the_turn_cancels_the_request() {
    let human = asking();
    let (agent, _) = agent(Form::Streamed, &human);
    let steers = agent.clone();
    let stage = Stage::with(agent).await;
    tokio::join!(stage.say("go"), async {
        let request = pending(&human).await;
        assert!(steers.steer(ROOM, Steering::Cancel));
        settle().await;
        assert_eq!(human.outcome(&request.id), Some(InputOutcome::Cancelled));
    });
}
