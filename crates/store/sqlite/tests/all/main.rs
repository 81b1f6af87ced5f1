//! Every integration test of `roomkit-store-sqlite`, one module per area, linked once.
#![cfg(test)]

mod conformance;
mod damaged;
mod faults;
mod keys;
mod logs;
mod model;
mod opening;
mod processes;
mod python;
mod restoring;
mod searching;
mod support;
mod versions;
