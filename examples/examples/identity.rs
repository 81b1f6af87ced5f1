//! A sender whom nobody knows is asked who they are: `cargo run --example identity`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::identity::run(&mut std::io::stdout()).await
}
