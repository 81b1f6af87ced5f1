//! A chat with a model: `cargo run --example ai_chat`, or with questions of your own behind `--`.

use roomkit_examples::ai_chat::{QUESTIONS, from_environment, run};

#[tokio::main]
async fn main() -> roomkit_examples::Outcome {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    let mut questions: Vec<&str> = asked.iter().map(String::as_str).collect();
    if questions.is_empty() {
        questions.extend(QUESTIONS);
    }
    run(&mut std::io::stdout(), from_environment()?, &questions).await
}
