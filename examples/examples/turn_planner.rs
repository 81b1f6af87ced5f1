//! Agents that take turns: `cargo run --example turn_planner`.

fn main() -> roomkit_examples::Outcome {
    roomkit_examples::turn_planner::run(&mut std::io::stdout())
}
