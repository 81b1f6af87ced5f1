//! Tests of the crate through its public API, against a server that plays Anthropic's.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod answers;
mod conformance;
mod messages_wire;
mod requests;
mod thinking;
