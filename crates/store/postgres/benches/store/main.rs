//! What PostgreSQL costs: each figure beside a floor measured in the same run, one JSON line a row.
//!
//! The floor is what pgbench does, by the same driver: a transaction of one update and one insert. A
//! floor and its figure take turns, slice by slice, so that a machine whose speed drifts moves both.
//! The rows that end in `_growth` take as floor the same call in the smallest database.

#![allow(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::indexing_slicing,
    missing_docs,
    reason = "a benchmark fails by panicking, and its figures are small"
)]

mod growth;
mod rows;
mod support;

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    for name in [
        "postgres_16_rooms",
        "postgres_one_room",
        "postgres_kit",
        "growth",
    ] {
        if !wanted.is_empty() && !wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            continue;
        }
        match name {
            "postgres_16_rooms" => runtime.block_on(rows::rooms(name, 16)),
            "postgres_one_room" => runtime.block_on(rows::rooms(name, 1)),
            "postgres_kit" => runtime.block_on(rows::kit(name)),
            _ => {
                runtime.block_on(growth::events());
                runtime.block_on(growth::rooms());
            }
        }
    }
}
