//! Every integration test of `roomkit-store-sqlite`, one module per area, linked once.
#![cfg(test)]

mod conformance;
mod model;
mod support;
