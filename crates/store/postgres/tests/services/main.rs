//! The store against a real PostgreSQL.

mod conformance;
mod support;
