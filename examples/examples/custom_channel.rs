//! A channel and a hook point of one's own: `cargo run --example custom_channel`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::custom_channel::run(&mut std::io::stdout()).await
}
