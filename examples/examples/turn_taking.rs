//! A room that runs its agents: `cargo run --example turn_taking`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::turn_taking::run(&mut std::io::stdout()).await
}
