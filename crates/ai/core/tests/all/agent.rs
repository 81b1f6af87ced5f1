//! Agents with a person's traits: who they are, how they greet, and without a provider.

use roomkit_ai::{Agent, MockAiProvider};
use roomkit_core::Channel;
use roomkit_core::model::InboundMessage;

use crate::support::{AGENT, ROOM, Stage, shared};

#[tokio::test]
async fn the_model_is_told_who_it_is_behind_its_prompt() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let shared = provider.clone();
    let agent = Agent::builder(AGENT)
        .channel(|channel| channel.shared_provider(shared))
        .system_prompt("Be kind.")
        .role("Triage")
        .description("Routes callers")
        .scope("Billing")
        .language("French")
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("hi").await;
    let asked = provider.calls().pop().unwrap();
    assert_eq!(
        asked.system_prompt.unwrap(),
        "Be kind.\n\n--- Agent Identity ---\nRole: Triage\nDescription: Routes callers\n\
         Scope: Billing\nLanguage: Always respond in French"
    );
}

#[test]
fn without_traits_there_is_no_block_and_a_language_takes_the_place_of_the_own() {
    let plain = Agent::builder("a").build().unwrap();
    assert_eq!(plain.build_identity_block(None), None);
    let french = Agent::builder("a").language("French").build().unwrap();
    let block = french.build_identity_block(Some("German")).unwrap();
    assert!(block.ends_with("Always respond in German"));
}

#[tokio::test]
async fn an_agent_without_provider_holds_its_traits_and_says_nothing() {
    let agent = Agent::builder(AGENT)
        .voice("Aoede")
        .greeting("Hello!")
        .build()
        .unwrap();
    assert!(agent.is_config_only());
    assert_eq!(
        (agent.voice(), agent.greeting_text()),
        (Some("Aoede"), Some("Hello!"))
    );
    let stage = Stage::with(agent).await;
    stage.say("hi").await;
    assert!(stage.answers().await.is_empty() && stage.errors().is_empty());
}

#[tokio::test]
async fn an_agent_greets_when_it_is_asked_to_and_only_once() {
    let agent = Agent::builder(AGENT)
        .provider(MockAiProvider::new(["Yes."]))
        .greeting("Hello! How can I help?")
        .build()
        .unwrap();
    assert!(agent.auto_greet() && agent.greets_by_itself());
    let stage = Stage::with(agent).await;
    stage.kit.send_greeting(ROOM).await.unwrap();
    stage.kit.send_greeting(ROOM).await.unwrap();
    let answers = stage.answers().await;
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].text(), Some("Hello! How can I help?"));
}

#[tokio::test]
async fn an_agent_greets_by_itself_in_a_room_that_a_message_makes_before_it_answers() {
    use roomkit_core::RoomKit;
    use roomkit_core::hook::OnRoomCreated;
    use roomkit_core::model::ChannelCategory;
    use roomkit_testkit::MockChannel;

    let agent = Agent::builder(AGENT)
        .provider(MockAiProvider::new(["Sure."]))
        .greeting("Hello!")
        .build()
        .unwrap();
    let kit = RoomKit::new();
    kit.register_channel(MockChannel::new("web")).unwrap();
    kit.register_channel(agent).unwrap();
    let weak = kit.downgrade();
    kit.hook(OnRoomCreated, "attach", move |event, _| {
        let kit = weak.upgrade().unwrap();
        async move {
            let attach = kit.attach_channel(event.room_id.clone(), AGENT);
            attach
                .category(ChannelCategory::Intelligence)
                .await
                .unwrap();
        }
    });
    let message = InboundMessage::text("web", "alice", "hi").in_room("new");
    kit.process_inbound(message).await.unwrap();
    let said: Vec<String> = kit
        .timeline("new", 0, 100)
        .await
        .unwrap()
        .iter()
        .filter_map(|it| it.text().map(str::to_owned))
        .collect();
    assert_eq!(said, ["Hello!", "hi", "Sure."]);
}

#[tokio::test]
async fn an_agent_that_is_not_to_greet_by_itself_greets_when_it_is_asked_to() {
    let agent = |greets| {
        Agent::builder(AGENT)
            .provider(MockAiProvider::new(["Yes."]))
            .greeting("Hello!")
            .auto_greet(greets)
            .build()
            .unwrap()
    };
    let silent = agent(false);
    assert!(!silent.auto_greet() && !silent.greets_by_itself());
    assert_eq!(silent.greeting().as_deref(), Some("Hello!"));
    let stage = Stage::with(silent).await;
    stage.say("hi").await;
    assert_eq!(stage.answers().await.len(), 1, "it only answers");
    stage.kit.send_greeting(ROOM).await.unwrap();
    let answers = stage.answers().await;
    let texts: Vec<_> = answers.iter().map(|it| it.text().unwrap()).collect();
    assert_eq!(texts, ["Yes.", "Hello!"]);
    // One that has nothing to say does not greet, nor one without a provider.
    let mute = Agent::builder(AGENT)
        .provider(MockAiProvider::new(["Yes."]))
        .build()
        .unwrap();
    let traits = Agent::builder(AGENT).greeting("Hello!").build().unwrap();
    assert!(!mute.greets_by_itself() && !traits.greets_by_itself());
}
