//! What is seen of a kit from outside: spans, logs, telemetry, protocol traces, payloads.

mod documents;
mod leaks;
mod payloads;
mod spans;
mod subscriber;
mod telemetry;
mod traces;
mod warnings;
