//! An agent with tools: `cargo run --example ai_tools`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::ai_tools::run(&mut std::io::stdout()).await
}
