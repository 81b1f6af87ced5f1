//! A feed that comes into a room and finds its way back: `cargo run --example sources`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::sources::run(&mut std::io::stdout()).await
}
