//! Every integration test of `roomkit-websocket`, one module per area, linked once.
#![cfg(test)]

mod chat;
mod churn;
mod fan_out;
mod lifecycle;
mod options;
mod slow;
mod socket;
mod streaming;
mod support;
mod wire;
