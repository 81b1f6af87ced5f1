//! A short conversation with OpenAI's models, over both APIs; `cargo xtask live openai` runs it.

use roomkit_ai_openai::{OpenAiApi, OpenAiConfig, OpenAiProvider};
use roomkit_testkit::ai::live_conversation;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let key = std::env::var("OPENAI_API_KEY")?;
    let model = std::env::var("OPENAI_MODEL").unwrap_or_else(|_| "gpt-4.1-mini".into());
    for api in [OpenAiApi::ChatCompletions, OpenAiApi::Responses] {
        let config = OpenAiConfig::new(&model).api_key(&*key).api(api);
        let usage = live_conversation(&OpenAiProvider::new(config)?).await?;
        println!("{api:?}: {usage:?}");
    }
    Ok(())
}
