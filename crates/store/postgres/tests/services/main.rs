//! The store against a real PostgreSQL.
#![cfg(test)]

mod append;
mod cancel;
mod conformance;
mod faults;
mod keys;
mod locks;
mod logs;
mod migrations;
mod processes;
mod races;
mod settings;
mod support;
mod texts;
