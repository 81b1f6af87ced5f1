//! Tests of the crate through its public API.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod messages;
mod tools;
