//! Every integration test of `roomkit`, one module per area, linked once.
#![cfg(test)]

mod prelude;
mod root;
