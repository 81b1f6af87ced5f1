//! Tests of the crate through its public API, against a server that plays OpenAI's.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

mod conformance;
mod field_reports;
mod requests;
mod responses_wire;
