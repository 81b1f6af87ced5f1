//! Every integration test of `roomkit-ai`, one module per area, linked once.
#![cfg(test)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod agent;
mod attribution;
mod calls;
mod configuration;
mod ephemeral;
mod fallback;
mod hooks;
mod human;
mod loops;
mod memory;
mod messages;
mod pipeline;
mod steering;
mod streams;
mod support;
mod toolbox;
mod tools;
mod transcript;
mod vision;
