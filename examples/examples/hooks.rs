//! Hooks that block, change, add and observe: `cargo run --example hooks`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::hooks::run(&mut std::io::stdout()).await
}
