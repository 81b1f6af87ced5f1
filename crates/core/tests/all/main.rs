//! Every integration test of `roomkit-core`, one module per area, linked once.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, in its helpers too"
)]

mod model;
mod observe;
mod pipeline;
mod store;
mod sync;
mod text;
mod time_zones;
mod turns;
