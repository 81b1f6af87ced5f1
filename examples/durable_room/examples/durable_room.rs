//! A room that goes on where it was: `cargo run --example durable_room`.

#[tokio::main]
async fn main() -> roomkit_example_durable_room::Outcome {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("rooms.db");
    roomkit_example_durable_room::run(&mut std::io::stdout(), &file).await
}
