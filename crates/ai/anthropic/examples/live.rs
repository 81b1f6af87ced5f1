//! A short conversation with Anthropic's models; `cargo xtask live anthropic` runs it.

use roomkit_ai_anthropic::{AnthropicConfig, AnthropicProvider};
use roomkit_testkit::ai::live_conversation;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = std::env::var("ANTHROPIC_API_KEY")?;
    let model = std::env::var("ANTHROPIC_MODEL").unwrap_or_else(|_| "claude-haiku-5-5".into());
    let provider = AnthropicProvider::new(AnthropicConfig::new(model).api_key(&*key))?;
    let usage = live_conversation(&provider).await?;
    println!("{usage:?}");
    Ok(())
}
