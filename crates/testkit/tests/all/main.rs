//! Every integration test of `roomkit-testkit`, one module per area, linked once.

#![cfg(test)]

mod agent;
#[cfg(feature = "ai")]
mod broken_provider;
mod broken_store;
mod channel;
mod clock;
mod comparison;
mod files;
mod identity;
mod refusals;
mod runner;
mod setup;
mod suites;
mod turns;
