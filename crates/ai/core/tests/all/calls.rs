//! Requests in the middle of a loop: whatever a model calls, each request is one that vendors accept.

use proptest::prelude::*;
use roomkit_ai::{AiChannel, AiResponse, MockAiProvider, ToolArguments, ToolCall};
use serde_json::json;

use crate::support::{AGENT, Counted, FORMS, Stage, check_requests};

/// A call as models make them: with known and unknown tools, good and bad arguments, used ids.
fn any_call() -> impl Strategy<Value = ToolCall> {
    (0_u8..5, 0_u8..3, 0_u8..3, 0_u32..100).prop_map(|(id, name, arguments, number)| {
        let id = if id == 0 {
            String::new()
        } else {
            format!("id{id}")
        };
        let name = ["look", "unknown", "fails"][usize::from(name)];
        let arguments = match arguments {
            0 => ToolArguments::parse("{\"half\":"),
            1 => ToolArguments::parse("[1]"),
            _ => ToolArguments::from_value(json!({ "n": number })),
        };
        ToolCall::new(id, name, arguments)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn f40_every_request_of_a_loop_has_each_call_and_its_result_in_order_once(
        rounds in proptest::collection::vec(proptest::collection::vec(any_call(), 1..5), 0..5),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        for form in FORMS {
            let rounds = rounds.clone();
            runtime.block_on(async move {
                let made: usize = rounds.len();
                let script = rounds.into_iter().map(AiResponse::calling);
                let script = script.chain([AiResponse::text("Done.")]);
                let provider = form.of(MockAiProvider::scripted(script));
                let agent = AiChannel::builder(AGENT)
                    .shared_provider(provider.clone())
                    .tool(Counted::done("look"))
                    .tool(Counted::new("fails", |_| Err(roomkit_ai::ToolError::new("no"))))
                    .build()
                    .unwrap();
                let stage = Stage::with(agent).await;
                stage.say("go").await;
                check_requests(&provider);
                let last = provider.calls().pop().unwrap();
                let calls = last.messages.iter().filter(|it| it.tool_calls().next().is_some());
                assert_eq!(calls.count(), made);
                assert_eq!(stage.outcome().await.0, ["Done."]);
            });
        }
    }
}
