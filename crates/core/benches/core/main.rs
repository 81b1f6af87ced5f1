//! What a message costs: each figure beside a floor measured in the same run, one JSON line a row.
//!
//! A floor and its figure take turns, round by round, so that a machine whose speed drifts moves
//! both. Quoted is the median of the rounds; what binds is the ratio.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    missing_docs,
    reason = "a benchmark fails by panicking, and its figures are small"
)]

mod rows;
mod support;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    for (name, row) in rows::ALL {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            row(name);
        }
    }
}
