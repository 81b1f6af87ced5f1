//! A short conversation with a model on an Ollama server; `cargo xtask live ollama` runs it.

use roomkit_ai_ollama::{OllamaConfig, OllamaProvider};
use roomkit_testkit::ai::live_conversation;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut config = OllamaConfig::new(std::env::var("OLLAMA_MODEL")?);
    if let Ok(host) = std::env::var("OLLAMA_HOST") {
        config = config.base_url(host);
    }
    let usage = live_conversation(&OllamaProvider::new(config)?).await?;
    println!("{usage:?}");
    Ok(())
}
