//! Steering: cancelling, telling more, and putting messages in while an agent is at work.

use roomkit_ai::{AiChannel, AiMessage, AiResponse, MockAiProvider, Steering};

use crate::support::{AGENT, FORMS, Hanging, ROOM, Stage, calling, check_requests, kinds};
use roomkit_core::model::EphemeralEventType::{ToolCallEnd, ToolCallStart};

#[tokio::test(start_paused = true)]
async fn f42_cancelling_in_a_tool_ends_the_turn_and_answers_every_call() {
    for form in FORMS {
        let mut first = calling("c1", "hang");
        first.text = "One moment.".to_owned();
        let tool = Hanging::new("hang");
        let called = tool.called.clone();
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted([first])))
            .tool(tool)
            .build()
            .unwrap();
        assert!(!agent.steer(ROOM, Steering::Cancel), "nothing is under way");
        let stage = Stage::with(agent.clone()).await;
        let heard = stage.ephemeral().await;
        tokio::join!(stage.say("go"), async {
            called.notified().await;
            assert!(agent.steer(ROOM, Steering::Cancel));
        });
        let (texts, reason) = stage.outcome().await;
        assert_eq!(
            (texts, reason.as_str()),
            (vec!["One moment.".to_owned()], "cancelled")
        );
        assert_eq!(kinds(&heard), [ToolCallStart, ToolCallEnd], "{form:?}");
        assert!(!agent.is_at_work(ROOM));
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_to_an_agent_at_work_holds_from_its_next_round_on() {
    for form in FORMS {
        let script = [calling("c1", "ask"), AiResponse::text("Done.")];
        let provider = form.of(MockAiProvider::scripted(script));
        let human = roomkit_ai::HumanInput::new().tool(crate::support::definition("ask"));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .system_prompt("Base.")
            .human_input(human.clone())
            .build()
            .unwrap();
        let stage = Stage::with(agent.clone()).await;
        tokio::join!(stage.say("go"), async {
            let request = loop {
                match human.pending().pop() {
                    Some(request) => break request,
                    None => tokio::task::yield_now().await,
                }
            };
            let append = " Be brief.".to_owned();
            assert!(agent.steer(ROOM, Steering::UpdateSystemPrompt { append }));
            let injected = AiMessage::user("From the supervisor.");
            assert!(agent.steer(ROOM, Steering::InjectMessage(injected)));
            human.answer(&request.id, "yes").unwrap();
        });
        let asked = provider.calls();
        assert_eq!(asked[0].system_prompt.as_deref(), Some("Base."), "{form:?}");
        assert_eq!(asked[1].system_prompt.as_deref(), Some("Base. Be brief."));
        assert_eq!(
            asked[1].messages.last().unwrap().text(),
            "From the supervisor."
        );
        check_requests(&provider);
        stage.say("again").await;
        let asked = provider.calls().pop().unwrap();
        assert_eq!(
            asked.system_prompt.as_deref(),
            Some("Base."),
            "it held for that turn"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_than_64_directives_wait_for_a_turn() {
    let tool = Hanging::new("hang");
    let called = tool.called.clone();
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::scripted([calling("c1", "hang")]))
        .tool(tool)
        .build()
        .unwrap();
    let stage = Stage::with(agent.clone()).await;
    tokio::join!(stage.say("go"), async {
        called.notified().await;
        let say = || agent.steer(ROOM, Steering::InjectMessage(AiMessage::user("x")));
        assert_eq!((0..100).filter(|_| say()).count(), 64);
        assert!(agent.steer(ROOM, Steering::Cancel));
    });
}
