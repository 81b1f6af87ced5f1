//! Conversations as vendors accept them: calls and results in pairs, whatever was cut or broken off.

use std::sync::Arc;

use proptest::prelude::*;
use roomkit_ai::{
    AiChannel, AiMessage, MemoryProvider, MemoryResult, MockAiProvider, Part, Role, ToolResult,
    async_trait, repair_tool_calls, trim_messages,
};
use roomkit_core::model::{ChannelId, RoomEvent};
use roomkit_core::{Result, RoomContext};
use serde_json::json;

use crate::support::{AGENT, FORMS, Stage, call, check_pairs, check_requests};

fn asks(ids: &[&str]) -> AiMessage {
    let calls = ids
        .iter()
        .map(|id| Part::ToolCall(call(id, "look", json!({}))));
    AiMessage::new(Role::Assistant, calls)
}

fn answers(ids: &[&str]) -> AiMessage {
    AiMessage::tool(
        ids.iter()
            .map(|id| ToolResult::text(&call(id, "look", json!({})), "found")),
    )
}

struct Interrupted;

#[async_trait]
impl MemoryProvider for Interrupted {
    async fn retrieve(
        &self,
        _: &Arc<RoomEvent>,
        _: &RoomContext,
        _: &ChannelId,
    ) -> Result<MemoryResult> {
        let past = [
            AiMessage::user("Find it"),
            asks(&["w1", "w2"]),
            answers(&["w2"]),
        ];
        Ok(MemoryResult::default().with_messages(past))
    }
}

#[tokio::test]
async fn f42_calls_that_were_never_answered_are_cancelled_before_the_model_is_asked() {
    for form in FORMS {
        let provider = form.of(MockAiProvider::new(["Yes."]));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .memory(Interrupted)
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("Never mind").await;
        check_requests(&provider);
        let asked = provider.calls().pop().unwrap();
        assert_eq!(asked.messages.len(), 4, "{form:?}");
        let results: Vec<_> = asked.messages[2].tool_results().collect();
        assert_eq!(
            (results[0].tool_call_id.as_str(), results[0].is_error),
            ("w1", true)
        );
        assert_eq!(
            (results[1].tool_call_id.as_str(), results[1].is_error),
            ("w2", false)
        );
    }
}

#[test]
fn f44_a_cut_never_parts_a_call_from_its_result() {
    let mut messages = vec![
        AiMessage::new(Role::System, [Part::text("Rules")]),
        AiMessage::user("one"),
        asks(&["a", "b"]),
        answers(&["a", "b"]),
        AiMessage::assistant("done"),
        AiMessage::user("two"),
        asks(&["c"]),
        answers(&["c"]),
    ];
    trim_messages(&mut messages, 5);
    let texts: Vec<_> = messages.iter().map(|it| it.text().into_owned()).collect();
    assert_eq!(texts, ["Rules", "two", "", ""]);
    check_pairs(&messages).unwrap();
}

fn history() -> impl Strategy<Value = Vec<AiMessage>> {
    let message = (0_u8..6, proptest::collection::vec(0_u8..12, 0..4)).prop_map(|(kind, ids)| {
        let ids: Vec<String> = ids.iter().map(|id| format!("c{id}")).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        match kind {
            0 => AiMessage::user("hello"),
            1 => AiMessage::assistant("yes"),
            2 | 3 => asks(&ids),
            4 => answers(&ids),
            _ => {
                let mut mixed = asks(&ids);
                mixed.parts.insert(0, Part::text("let me look"));
                mixed
            }
        }
    });
    proptest::collection::vec(message, 0..24)
}

proptest! {
    #[test]
    fn f42_whatever_a_history_is_like_its_repair_is_in_order_and_final(mut messages in history()) {
        let users = messages.iter().filter(|it| it.role == Role::User).count();
        repair_tool_calls(&mut messages);
        prop_assert!(check_pairs(&messages).is_ok(), "{:?}", check_pairs(&messages));
        prop_assert_eq!(messages.iter().filter(|it| it.role == Role::User).count(), users);
        let once = messages.clone();
        repair_tool_calls(&mut messages);
        prop_assert_eq!(once, messages);
    }

    #[test]
    fn f44_whatever_the_budget_a_cut_is_in_order_fits_and_keeps_the_last_question(
        mut messages in history(), most in 1_usize..12,
    ) {
        repair_tool_calls(&mut messages);
        let question = messages.iter().rfind(|it| it.role == Role::User).cloned();
        trim_messages(&mut messages, most);
        prop_assert!(check_pairs(&messages).is_ok());
        if question.is_some() {
            prop_assert!(messages.len() <= most, "{} of {most}", messages.len());
        }
        prop_assert_eq!(messages.iter().rfind(|it| it.role == Role::User).cloned(), question);
        let once = messages.clone();
        trim_messages(&mut messages, most);
        prop_assert_eq!(once, messages);
    }
}
