//! What a commit, a message and a read cost on SQLite, beside the same statements by hand.
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

mod floor;
mod growth;
mod rows;
mod support;

type Row = fn(&str);

const ALL: &[(&str, Row)] = &[
    ("sqlite_commit", rows::commit),
    ("sqlite_commit_full", rows::commit_full),
    ("sqlite_message", rows::message),
    ("sqlite_16_rooms", rows::sixteen_rooms),
    ("sqlite_cached_room", rows::room),
    ("sqlite_events", growth::events),
    ("sqlite_rooms", growth::rooms),
];

fn main() {
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    for (name, row) in ALL {
        if wanted.is_empty() || wanted.iter().any(|wanted| name.contains(wanted.as_str())) {
            row(name);
        }
    }
}
