//! Every integration test of `roomkit-testkit`, one module per area, linked once.

#![cfg(test)]

mod agent;
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
