//! Both APIs keep every promise of a provider.

use std::sync::Arc;

use roomkit_ai_openai::{OpenAiApi, OpenAiConfig, OpenAiProvider};
use roomkit_testkit::ai::{ChatCompletionsWire, HttpSetup, TestProvider};

use crate::responses_wire::ResponsesWire;

fn config(model: &str, setup: HttpSetup) -> OpenAiConfig {
    OpenAiConfig::new(model)
        .base_url(format!("{}/v1/", setup.base_url))
        .api_key(setup.api_key)
        .http(setup.http)
}

async fn chat() -> TestProvider {
    TestProvider::over_http(ChatCompletionsWire::new(), |setup| {
        let config = config("gpt-4.1", setup).include_stream_usage(true);
        Arc::new(OpenAiProvider::new(config).unwrap())
    })
}

async fn blind() -> TestProvider {
    TestProvider::over_http(ChatCompletionsWire::new(), |setup| {
        let config = config("a-model", setup).include_stream_usage(true);
        Arc::new(OpenAiProvider::new(config).unwrap())
    })
}

async fn responses() -> TestProvider {
    TestProvider::over_http(ResponsesWire, |setup| {
        let config = config("gpt-5.4", setup)
            .api(OpenAiApi::Responses)
            .reasoning_summary("auto");
        Arc::new(OpenAiProvider::new(config).unwrap())
    })
}

roomkit_testkit::ai_provider_conformance!(chat_completions, chat);
roomkit_testkit::ai_provider_conformance!(chat_completions_without_vision, blind);
roomkit_testkit::ai_provider_conformance!(over_responses, responses);
