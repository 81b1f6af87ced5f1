//! Many tools behind a search: `cargo run --example ai_tool_search`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::ai_tool_search::run(&mut std::io::stdout()).await
}
