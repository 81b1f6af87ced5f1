//! What a model is given of the past: a window that ends before the event it answers.

use std::sync::Arc;

use roomkit_ai::{
    AiChannel, AiMessage, MemoryProvider, MemoryResult, MockAiProvider, Role, async_trait,
};
use roomkit_core::model::{ChannelId, RoomEvent};
use roomkit_core::{Error, Result, RoomContext};

use crate::support::{AGENT, ROOM, Stage, shared};

#[tokio::test]
async fn the_window_holds_the_last_events_and_roles_by_who_said_them() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .max_context_events(3)
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    for text in ["One", "Two", "Three"] {
        stage.say(text).await;
    }
    let asked = provider.calls().pop().unwrap();
    let seen: Vec<_> = asked
        .messages
        .iter()
        .map(|it| (it.role, it.text().into_owned()))
        .collect();
    let said = |role, text: &str| (role, text.to_owned());
    assert_eq!(
        seen,
        [
            said(Role::Assistant, "Yes."),
            said(Role::User, "Two"),
            said(Role::Assistant, "Yes."),
            said(Role::User, "Three"),
        ]
    );
}

#[tokio::test]
async fn what_was_said_after_the_event_is_no_past_of_it() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    tokio::join!(stage.say("One"), stage.say("Two"), stage.say("Three"));
    for asked in provider.calls() {
        let last = asked.messages.last().unwrap().text().into_owned();
        let texts: Vec<_> = asked
            .messages
            .iter()
            .map(|it| it.text().into_owned())
            .collect();
        let later = ["One", "Two", "Three"]
            .into_iter()
            .skip_while(|it| **it != last)
            .skip(1);
        for text in later {
            assert!(!texts.contains(&text.to_owned()), "{texts:?}");
        }
    }
}

#[tokio::test]
async fn deleted_and_blocked_words_do_not_reach_the_model_again() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    let said = stage.say("secret").await;
    let id = said.event.unwrap().id.clone();
    let delete = roomkit_core::model::DeleteContent::new(id);
    let mut message = roomkit_core::model::InboundMessage::text("web", "alice", "").in_room(ROOM);
    message.event_type = roomkit_core::model::EventType::Delete;
    message.content = delete.into();
    stage.kit.process_inbound(message).await.unwrap();
    stage.say("next").await;
    let asked = provider.calls().pop().unwrap();
    assert!(
        asked
            .messages
            .iter()
            .all(|it| !it.text().contains("secret"))
    );
}

struct Summary;

#[async_trait]
impl MemoryProvider for Summary {
    async fn retrieve(
        &self,
        event: &Arc<RoomEvent>,
        context: &RoomContext,
        _: &ChannelId,
    ) -> Result<MemoryResult> {
        if event.text() == Some("fail") {
            return Err(Error::channel("no memory"));
        }
        let events = context.events_before(event.index, 1).await?.events;
        Ok(MemoryResult::events(events).with_messages([AiMessage::user("[Summary]")]))
    }

    async fn ingest(&self, _: &Arc<RoomEvent>, _: &RoomContext, _: &ChannelId) -> Result<()> {
        Err(Error::channel("not taken"))
    }
}

#[tokio::test]
async fn a_memory_of_ones_own_gives_messages_first_then_events_and_its_failure_is_told() {
    let provider = shared(MockAiProvider::new(["Yes."]));
    let agent = AiChannel::builder(AGENT)
        .shared_provider(provider.clone())
        .memory(Summary)
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("One").await;
    stage.say("Two").await;
    let asked = provider.calls().pop().unwrap();
    let texts: Vec<_> = asked
        .messages
        .iter()
        .map(|it| it.text().into_owned())
        .collect();
    assert_eq!(texts, ["[Summary]", "Yes.", "Two"]);
    stage.say("fail").await;
    assert_eq!(stage.errors(), ["channel_failed"]);
    assert_eq!(provider.calls().len(), 2);
}
