//! Two people and an assistant in a moderated room: `cargo run --example quickstart`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::quickstart::run(&mut std::io::stdout()).await
}
