//! Tests of the crate through its public API, against a server that plays Ollama.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod answers;
mod chat_wire;
mod conformance;
mod requests;
