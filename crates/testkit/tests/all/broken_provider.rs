//! The suite of AI providers notices: a provider that breaks one promise fails one of its tests.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt, stream};
use roomkit_ai::chat_completions::{ChatCompletions, Dialect, refusal};
use roomkit_ai::http::{Framing, HttpClient};
use roomkit_ai::{
    AiCapabilities, AiContext, AiError, AiErrorKind, AiProvider, AiResponse, AiStream, ModelInfo,
    Result, StreamEvent,
};
use roomkit_testkit::ai::{
    Ability, Asked, ChatCompletionsWire, HttpSetup, Quirk, TestProvider, Told, Wire, WireFrame,
    suite,
};
use serde_json::Value;

/// What a provider may get wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    TakesABreakForTheEnd,
    BeginsAnewAmidTheAnswer,
    GivesAllCallsOneId,
    TellsAnUnfinishedCall,
    ForgetsWhyItStopped,
    MixesReasoningIn,
    HidesTheVendorsWords,
    ShowsTheVendorsWords,
    NeverTriesAgain,
    ForgetsTheTurnsKey,
    ForgetsHistory,
    ClaimsToSee,
    OffersToolsThatItDenies,
    DeclaresWhatTheWireCannotSay,
}

struct Provider {
    fault: Fault,
    chat: ChatCompletions,
}

impl Provider {
    fn new(fault: Fault, setup: HttpSetup) -> Self {
        let mut http = setup.http;
        if fault == Fault::NeverTriesAgain {
            http.max_attempts = 1;
        }
        let client = HttpClient::builder("acme", setup.base_url)
            .config(http)
            .refusal(refusal)
            .build()
            .unwrap();
        let dialect = Dialect::new("acme", "m").stream_usage(true);
        let chat = ChatCompletions::new(client, dialect).key(Some(setup.api_key));
        Self { fault, chat }
    }

    fn asks(&self, context: &AiContext) -> AiContext {
        let mut context = context.clone();
        match self.fault {
            Fault::ForgetsTheTurnsKey => context.api_key = None,
            Fault::ForgetsHistory => {
                context.messages.drain(..context.messages.len() - 1);
            }
            _ => {}
        }
        context
    }

    fn told(&self, error: AiError) -> AiError {
        let kind = error.kind();
        match self.fault {
            Fault::HidesTheVendorsWords => AiError::new(kind, "acme", "asking"),
            Fault::ShowsTheVendorsWords => {
                let words = error.body().unwrap_or_default().to_owned();
                let told = AiError::new(kind, "acme", words.clone()).with_body(words);
                match error.status() {
                    Some(status) => told.with_status(status),
                    None => told,
                }
            }
            _ => error,
        }
    }

    fn event(&self, event: StreamEvent) -> StreamEvent {
        match event {
            StreamEvent::Thinking { thinking, .. } if self.fault == Fault::MixesReasoningIn => {
                StreamEvent::Text(thinking)
            }
            StreamEvent::ToolCall(mut call) if self.fault == Fault::GivesAllCallsOneId => {
                call.id = "1".into();
                StreamEvent::ToolCall(call)
            }
            StreamEvent::ToolCallDelta { id, name, .. }
                if self.fault == Fault::TellsAnUnfinishedCall =>
            {
                let arguments = roomkit_ai::ToolArguments::default();
                StreamEvent::ToolCall(roomkit_ai::ToolCall::new(id, name, arguments))
            }
            StreamEvent::Done {
                usage, metadata, ..
            } if self.fault == Fault::ForgetsWhyItStopped => StreamEvent::Done {
                finish_reason: None,
                usage,
                metadata,
            },
            other => other,
        }
    }
}

#[async_trait]
impl AiProvider for Provider {
    fn name(&self) -> &str {
        "acme"
    }

    fn model_name(&self) -> &str {
        "m"
    }

    fn capabilities(&self) -> AiCapabilities {
        AiCapabilities::none()
            .streaming(true)
            .tools(self.fault != Fault::OffersToolsThatItDenies)
            .thinking(true)
            .vision(self.fault == Fault::ClaimsToSee)
            .model_listing(true)
    }

    async fn generate(&self, context: &AiContext) -> Result<AiResponse> {
        let answer = self.chat.generate(&self.asks(context)).await;
        answer.map_err(|error| self.told(error))
    }

    async fn generate_stream(&self, context: &AiContext) -> Result<AiStream> {
        let context = self.asks(context);
        let events = self.chat.stream(&context).await;
        let events = events.map_err(|error| self.told(error))?;
        if self.fault == Fault::None {
            return Ok(events);
        }
        let events: Vec<_> = events
            .map(|event| event.map(|event| self.event(event)))
            .collect()
            .await;
        let failed = events.last().is_some_and(Result::is_err);
        let mut all = events;
        match self.fault {
            Fault::TakesABreakForTheEnd if failed => {
                *all.last_mut().unwrap() = Ok(StreamEvent::Done {
                    finish_reason: None,
                    usage: roomkit_ai::Usage::default(),
                    metadata: roomkit_core::model::Metadata::new(),
                });
            }
            Fault::BeginsAnewAmidTheAnswer if failed => {
                all.pop();
                let again: Vec<_> = self.chat.stream(&context).await?.collect().await;
                all.extend(again);
            }
            _ => {}
        }
        Ok(stream::iter(all).boxed())
    }

    async fn list_models(&self) -> Result<Vec<ModelInfo>> {
        self.chat.models().await
    }
}

/// A wire that cannot say what a test of tools needs.
struct WithoutTools(ChatCompletionsWire);

impl Wire for WithoutTools {
    fn framing(&self) -> Framing {
        self.0.framing()
    }

    fn whole(&self, answer: &AiResponse) -> Value {
        self.0.whole(answer)
    }

    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>> {
        self.0.streamed(answer, quirk)
    }

    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value) {
        self.0.refusal(kind, message)
    }

    fn failure(&self) -> Option<WireFrame> {
        self.0.failure()
    }

    fn models(&self, ids: &[&str]) -> Option<Value> {
        self.0.models(ids)
    }

    fn request_id_header(&self) -> Option<&str> {
        self.0.request_id_header()
    }

    fn credential(&self, asked: &Asked) -> Option<String> {
        self.0.credential(asked)
    }

    fn conversation(&self, body: &Value) -> Vec<Told> {
        self.0.conversation(body)
    }

    fn tools(&self, body: &Value) -> Vec<String> {
        self.0.tools(body)
    }

    fn knows(&self, ability: Ability) -> bool {
        ability != Ability::Tools
    }
}

fn provider(fault: Fault) -> TestProvider {
    let make = move |setup| -> Arc<dyn AiProvider> { Arc::new(Provider::new(fault, setup)) };
    match fault {
        Fault::DeclaresWhatTheWireCannotSay => {
            TestProvider::over_http(WithoutTools(ChatCompletionsWire::new()), make)
        }
        _ => TestProvider::over_http(ChatCompletionsWire::new(), make),
    }
}

async fn sound() -> TestProvider {
    provider(Fault::None)
}

roomkit_testkit::ai_provider_conformance!(sound);

type Test = fn(TestProvider) -> BoxFuture<'static, ()>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_fault_fails_its_test() {
    let cases: [(Fault, Test); 14] = [
        (Fault::TakesABreakForTheEnd, |test| {
            suite::a_call_is_made_again_until_something_was_told(test).boxed()
        }),
        (Fault::BeginsAnewAmidTheAnswer, |test| {
            suite::a_call_is_made_again_until_something_was_told(test).boxed()
        }),
        (Fault::GivesAllCallsOneId, |test| {
            suite::calls_are_told_apart_whatever_a_server_leaves_out(test).boxed()
        }),
        (Fault::TellsAnUnfinishedCall, |test| {
            suite::a_call_is_made_again_until_something_was_told(test).boxed()
        }),
        (Fault::ForgetsWhyItStopped, |test| {
            suite::why_it_stopped_is_told(test).boxed()
        }),
        (Fault::MixesReasoningIn, |test| {
            suite::reasoning_is_told_apart_from_the_answer(test).boxed()
        }),
        (Fault::HidesTheVendorsWords, |test| {
            suite::a_refusal_keeps_what_the_vendor_said(test).boxed()
        }),
        (Fault::ShowsTheVendorsWords, |test| {
            suite::a_refusal_keeps_what_the_vendor_said(test).boxed()
        }),
        (Fault::NeverTriesAgain, |test| {
            suite::attempts_are_bounded_and_wait_as_asked(test).boxed()
        }),
        (Fault::ForgetsTheTurnsKey, |test| {
            suite::the_credential_of_the_turn_is_sent(test).boxed()
        }),
        (Fault::ForgetsHistory, |test| {
            suite::a_conversation_is_sent_whole_and_in_order(test).boxed()
        }),
        (Fault::ClaimsToSee, |test| {
            suite::pictures_are_sent_to_models_that_see(test).boxed()
        }),
        (Fault::OffersToolsThatItDenies, |test| {
            suite::tools_are_offered(test).boxed()
        }),
        (Fault::DeclaresWhatTheWireCannotSay, |test| {
            suite::tools_are_called_with_what_the_model_wrote(test).boxed()
        }),
    ];
    for (fault, test) in cases {
        let outcome = AssertUnwindSafe(test(provider(fault))).catch_unwind().await;
        assert!(outcome.is_err(), "{fault:?} goes unnoticed");
    }
}
