//! A short conversation with a model on an Ollama server; `cargo xtask live ollama` runs it.

use roomkit_ai::AiProvider;
use roomkit_ai_ollama::{OllamaConfig, OllamaProvider};
use roomkit_testkit::ai::live_conversation;

/// A provider for a model of the server that `OLLAMA_HOST` names, else of the one on this machine.
fn provider(model: &str) -> roomkit_ai::Result<OllamaProvider> {
    let mut config = OllamaConfig::new(model);
    if let Ok(host) = std::env::var("OLLAMA_HOST") {
        config = config.base_url(host);
    }
    OllamaProvider::new(config)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = match std::env::var("OLLAMA_MODEL") {
        Ok(model) => model,
        // The first that it has.
        Err(_) => {
            let models = provider("any")?.list_models().await?;
            models.first().ok_or("the server has no model")?.id.clone()
        }
    };
    let usage = live_conversation(&provider(&model)?).await?;
    println!("{usage:?}");
    Ok(())
}
