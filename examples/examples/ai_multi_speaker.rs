//! Several people and one agent: `cargo run --example ai_multi_speaker`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::ai_multi_speaker::run(&mut std::io::stdout()).await
}
