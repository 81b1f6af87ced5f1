//! What is done about a provider that fails: again, shorter, or by another one; never twice in view of
//! the room.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{StreamExt, stream};
use roomkit_ai::{
    AiChannel, AiError, AiErrorKind, AiMessage, AiResponse, MemoryProvider, MemoryResult,
    MockAiProvider, StreamEvent, async_trait,
};
use roomkit_core::model::{ChannelId, RetryPolicy, RoomEvent};
use roomkit_core::{Result, RoomContext};

use crate::support::{AGENT, FORMS, Stage, Streaming, check_requests};

fn policy(max_retries: u32) -> RetryPolicy {
    RetryPolicy {
        max_retries,
        ..RetryPolicy::default()
    }
}

#[tokio::test(start_paused = true)]
async fn a_failure_that_may_pass_is_tried_again_before_anything_was_shown() {
    for form in FORMS {
        let provider = MockAiProvider::scripted([])
            .then_failing(AiErrorKind::Overloaded)
            .then_failing(AiErrorKind::RateLimited)
            .then(AiResponse::text("Hello."));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(provider))
            .retry_policy(policy(2))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("hi").await;
        assert_eq!(
            stage.outcome().await,
            (vec!["Hello.".to_owned()], "completed".to_owned())
        );
        assert!(stage.errors().is_empty(), "{form:?}");
    }
}

#[tokio::test]
async fn the_other_provider_answers_where_the_first_cannot_and_its_failure_is_not_the_one_told() {
    for form in FORMS {
        let failing = || MockAiProvider::scripted([]).then_failing(AiErrorKind::Unauthorized);
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(failing()))
            .fallback_provider(form.of(MockAiProvider::new(["From the other."])))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("hi").await;
        assert_eq!(stage.outcome().await.0, ["From the other."], "{form:?}");

        let broken = MockAiProvider::scripted([]).then_failing(AiErrorKind::NotFound);
        let agent = AiChannel::builder(AGENT)
            .shared_provider(form.of(failing()))
            .fallback_provider(form.of(broken))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("hi").await;
        assert_eq!(stage.errors(), ["ai_unauthorized"], "{form:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn f45_an_answer_that_breaks_off_is_never_begun_again_in_view_of_the_room() {
    let words = ["The ", "answer ", "is ", "4"];
    for broken_at in 0..=words.len() {
        let attempts = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&attempts);
        let provider = Streaming::new(move |_| {
            let is_first = counted.fetch_add(1, Ordering::SeqCst) == 0;
            let said = words.map(|it| Ok(StreamEvent::Text(it.to_owned())));
            let kept = if is_first { broken_at } else { words.len() };
            let mut events: Vec<_> = said.into_iter().take(kept).collect();
            events.push(if is_first {
                Err(AiError::new(AiErrorKind::Unreachable, "test", "reset"))
            } else {
                Ok(StreamEvent::of(AiResponse::text("")).pop().unwrap())
            });
            Ok(stream::iter(events).boxed())
        });
        let agent = AiChannel::builder(AGENT)
            .provider(provider)
            .retry_policy(policy(3))
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("hi").await;
        let (texts, reason) = stage.outcome().await;
        let (expected, ended, tried) = match broken_at {
            0 => (words.concat(), "completed", 2),
            _ => (words[..broken_at].concat(), "error", 1),
        };
        assert_eq!(texts, [expected], "broken at {broken_at}");
        assert_eq!(reason, ended);
        assert_eq!(attempts.load(Ordering::SeqCst), tried);
        if broken_at > 0 {
            assert_eq!(stage.errors(), ["ai_unreachable"]);
            let answer = stage.answers().await.pop().unwrap();
            assert_eq!(answer.metadata.get_str("stream_end"), Some("failed"));
        }
    }
}

#[tokio::test]
async fn f35_a_stream_that_ends_without_its_last_piece_is_a_failure_and_not_an_answer() {
    let provider = Streaming::new(|_| {
        let events = vec![Ok(StreamEvent::Text("Half".into()))];
        Ok(stream::iter(events).boxed())
    });
    let agent = AiChannel::builder(AGENT)
        .provider(provider)
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("hi").await;
    assert_eq!(
        stage.outcome().await,
        (vec!["Half".to_owned()], "error".to_owned())
    );
    assert_eq!(stage.errors(), ["ai_invalid_response"]);
}

struct LongPast;

#[async_trait]
impl MemoryProvider for LongPast {
    async fn retrieve(
        &self,
        _: &Arc<RoomEvent>,
        _: &RoomContext,
        _: &ChannelId,
    ) -> Result<MemoryResult> {
        let past = (0..20).map(|n| AiMessage::user(format!("Message {n}")));
        Ok(MemoryResult::default().with_messages(past))
    }
}

#[tokio::test]
async fn f44_a_conversation_that_is_too_large_is_shortened_once_and_asked_again() {
    for form in FORMS {
        let provider = form.of(MockAiProvider::scripted([])
            .then_failing(AiErrorKind::ContextOverflow)
            .then(AiResponse::text("Short.")));
        let agent = AiChannel::builder(AGENT)
            .shared_provider(provider.clone())
            .memory(LongPast)
            .build()
            .unwrap();
        let stage = Stage::with(agent).await;
        stage.say("And now?").await;
        assert_eq!(stage.outcome().await.0, ["Short."], "{form:?}");
        let requests = provider.calls();
        assert_eq!(requests[0].messages.len(), 21);
        assert!(requests[1].messages.len() < 15);
        assert_eq!(requests[1].messages.last().unwrap().text(), "And now?");
        check_requests(&provider);
    }
}

#[tokio::test]
async fn a_provider_that_panics_fails_its_turn_alone() {
    let provider = Streaming::new(|context| {
        if context.messages.len() == 1 {
            std::panic::resume_unwind(Box::new("a scripted panic"));
        }
        let events = StreamEvent::of(AiResponse::text("Fine."));
        Ok(stream::iter(events.into_iter().map(Ok)).boxed())
    });
    let agent = AiChannel::builder(AGENT)
        .provider(provider)
        .build()
        .unwrap();
    let stage = Stage::with(agent).await;
    stage.say("one").await;
    assert_eq!(stage.errors(), ["ai_invalid_response"]);
    stage.say("two").await;
    assert_eq!(stage.outcome().await.0, ["Fine."]);
}
