//! The native API keeps every promise of a provider.

use std::sync::Arc;

use roomkit_ai_ollama::{OllamaConfig, OllamaProvider};
use roomkit_testkit::ai::{HttpSetup, TestProvider};

use crate::chat_wire::ChatWire;

fn config(setup: HttpSetup) -> OllamaConfig {
    OllamaConfig::new("qwen3:8b")
        .base_url(format!("{}/", setup.base_url))
        .api_key(setup.api_key)
        .http(setup.http)
}

async fn chat() -> TestProvider {
    TestProvider::over_http(ChatWire, |setup| {
        Arc::new(OllamaProvider::new(config(setup).think(true)).unwrap())
    })
}

async fn blind() -> TestProvider {
    TestProvider::over_http(ChatWire, |setup| {
        let config = config(setup).supports_vision(false);
        Arc::new(OllamaProvider::new(config).unwrap())
    })
}

roomkit_testkit::ai_provider_conformance!(over_chat, chat);
roomkit_testkit::ai_provider_conformance!(without_vision, blind);
