//! The Messages API keeps every promise of a provider.

use std::sync::Arc;

use roomkit_ai_anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit_testkit::ai::{HttpSetup, TestProvider};

use crate::messages_wire::MessagesWire;

fn config(model: &str, setup: HttpSetup) -> AnthropicConfig {
    AnthropicConfig::new(model)
        .base_url(format!("{}/", setup.base_url))
        .api_key(setup.api_key)
        .http(setup.http)
}

async fn messages() -> TestProvider {
    TestProvider::over_http(MessagesWire, |setup| {
        Arc::new(AnthropicProvider::new(config("claude-sonnet-4-5", setup)).unwrap())
    })
}

async fn adaptive() -> TestProvider {
    TestProvider::over_http(MessagesWire, |setup| {
        let config = config("claude-opus-5-5", setup)
            .use_adaptive_thinking(true)
            .drop_changed_thinking(true)
            .enable_prompt_caching(false);
        Arc::new(AnthropicProvider::new(config).unwrap())
    })
}

async fn blind() -> TestProvider {
    TestProvider::over_http(MessagesWire, |setup| {
        Arc::new(AnthropicProvider::new(config("a-model", setup)).unwrap())
    })
}

roomkit_testkit::ai_provider_conformance!(over_messages, messages);
roomkit_testkit::ai_provider_conformance!(adaptive_and_uncached, adaptive);
roomkit_testkit::ai_provider_conformance!(without_vision, blind);
