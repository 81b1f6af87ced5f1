//! The short forms of the proofs, and a check of what checks them.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod audit;
mod crash;
mod processes;
