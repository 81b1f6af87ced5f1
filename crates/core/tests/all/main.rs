//! Every integration test of `roomkit-core`, one module per area, linked once.

mod model;
mod text;
mod turns;
