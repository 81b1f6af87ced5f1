//! What those who look on are told of a turn: thinking, and tools.

use futures_util::StreamExt;
use roomkit_ai::{AiChannel, AiResponse, FinishReason, MockAiProvider, StreamEvent, Usage};
use roomkit_core::model::EphemeralEventType::{
    ThinkingDelta, ThinkingEnd, ThinkingStart, ToolCallDelta, ToolCallEnd, ToolCallStart,
};
use serde_json::json;

use crate::support::{AGENT, Counted, FORMS, Form, Stage, Streaming, calling, kinds};

fn done(finish_reason: FinishReason) -> StreamEvent {
    StreamEvent::Done {
        finish_reason: Some(finish_reason),
        usage: Usage::default(),
        metadata: Default::default(),
    }
}

#[tokio::test]
async fn a_tool_round_is_told_with_its_calls_and_then_with_their_results() {
    for form in FORMS {
        let script = [calling("c1", "look"), AiResponse::text("Done.")];
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted(script)))
            .tool(Counted::new("look", |_| Ok("x".repeat(900).into())))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let heard = stage.ephemeral().await;
        stage.say("go").await;
        assert_eq!(kinds(&heard), [ToolCallStart, ToolCallEnd], "{form:?}");
        let heard = heard.lock().unwrap();
        let (start, end) = (&heard[0].data, &heard[1].data);
        assert_eq!(
            start.get("tool_calls").unwrap(),
            &json!([{ "id": "c1", "name": "look", "arguments": { "id": "c1" } }])
        );
        assert_eq!(start.get("round"), Some(&json!(0)));
        assert_eq!(start.get_str("channel_id"), Some(AGENT));
        let result = &end.get("tool_calls").unwrap()[0];
        assert_eq!(result["result"].as_str().unwrap().len(), 500);
        assert!(end.contains_key("duration_ms"));
    }
}

#[tokio::test]
async fn arguments_that_are_large_do_not_silence_the_event() {
    let large = crate::support::call("c1", "look", json!({ "blob": "x".repeat(100_000) }));
    let script = [AiResponse::calling([large]), AiResponse::text("Done.")];
    let agent = AiChannel::builder(AGENT)
        .provider(MockAiProvider::scripted(script))
        .tool(Counted::done("look"))
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    let heard = stage.ephemeral().await;
    stage.say("go").await;
    let heard = heard.lock().unwrap();
    let call = &heard[0].data.get("tool_calls").unwrap()[0];
    assert_eq!(call["arguments_truncated"], json!(true));
}

#[tokio::test]
async fn a_call_that_is_being_written_is_told_by_its_size_alone_and_ends_with_an_empty_list() {
    let provider = Streaming::new(|context| {
        let delta = |id: &str, size| StreamEvent::ToolCallDelta {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments_bytes: size,
        };
        let events = if context.messages.len() == 1 {
            vec![
                delta("c1", 5),
                delta("c1", 50),
                StreamEvent::ToolCall(crate::support::call("c1", "look", json!({ "q": "secret" }))),
                done(FinishReason::ToolCalls),
            ]
        } else {
            vec![StreamEvent::Text("Done.".into()), done(FinishReason::Stop)]
        };
        Ok(futures_util::stream::iter(events.into_iter().map(Ok)).boxed())
    });
    let agent = AiChannel::builder(AGENT)
        .provider(provider)
        .tool(Counted::done("look"))
        .config(serde_json::from_value(json!({ "thinking_coalesce_ms": 0 })).unwrap())
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    let heard = stage.ephemeral().await;
    stage.say("go").await;
    let expected = [
        ToolCallDelta,
        ToolCallDelta,
        ToolCallDelta,
        ToolCallStart,
        ToolCallEnd,
    ];
    assert_eq!(kinds(&heard), expected);
    let heard = heard.lock().unwrap();
    let calls: Vec<_> = heard[..3]
        .iter()
        .map(|it| it.data.get("tool_calls").unwrap())
        .collect();
    assert_eq!(
        calls[0],
        &json!([{ "id": "c1", "name": "look", "arguments_chars": 5 }])
    );
    assert_eq!(calls[1][0]["arguments_chars"], json!(50));
    assert_eq!(calls[2], &json!([]));
    assert!(
        heard[..3]
            .iter()
            .all(|it| !format!("{:?}", it.data).contains("secret"))
    );
}

#[tokio::test]
async fn thinking_is_told_when_it_begins_as_it_goes_on_and_whole_at_the_end() {
    for form in FORMS {
        let mut answer = AiResponse::text("Four.");
        answer.thinking = Some("Two and two".to_owned());
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(MockAiProvider::scripted([answer])))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        let heard = stage.ephemeral().await;
        stage.say("2+2?").await;
        let expected = match form {
            Form::Whole => vec![ThinkingStart, ThinkingEnd],
            Form::Streamed => vec![ThinkingStart, ThinkingDelta, ThinkingEnd],
        };
        assert_eq!(kinds(&heard), expected);
        let heard = heard.lock().unwrap().clone();
        assert_eq!(
            heard.last().unwrap().data.get_str("thinking"),
            Some("Two and two")
        );
        assert_eq!(stage.outcome().await.0, ["Four."]);
    }
}

#[tokio::test(start_paused = true)]
async fn many_small_pieces_of_thinking_are_told_together() {
    let provider = Streaming::new(|_| {
        let pieces = (0..1_000).map(|_| StreamEvent::Thinking {
            thinking: "hm".into(),
            signature: None,
        });
        let end = [StreamEvent::Text("Yes.".into()), done(FinishReason::Stop)];
        Ok(futures_util::stream::iter(pieces.chain(end).map(Ok).collect::<Vec<_>>()).boxed())
    });
    let agent = AiChannel::builder(AGENT)
        .provider(provider)
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    let heard = stage.ephemeral().await;
    stage.say("go").await;
    let heard = heard.lock().unwrap();
    let deltas: Vec<_> = heard
        .iter()
        .filter(|it| it.event_type == ThinkingDelta)
        .collect();
    // 2,000 bytes in windows of 256.
    assert_eq!(deltas.len(), 8);
    let told: usize = deltas
        .iter()
        .map(|it| it.data.get_str("thinking").unwrap().len())
        .sum();
    assert_eq!(told, 2_000);
}
