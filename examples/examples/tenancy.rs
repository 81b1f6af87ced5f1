//! Two organisations on one kit: `cargo run --example tenancy`.

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    roomkit_examples::tenancy::run(&mut std::io::stdout()).await
}
