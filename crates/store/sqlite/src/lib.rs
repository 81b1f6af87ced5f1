#![doc = include_str!("../README.md")]

mod cache;
mod commit;
mod connection;
mod dump;
mod error;
mod event;
mod lock;
mod migrate;
mod options;
mod readers;
mod restore;
mod retention;
mod room;
mod search;
mod sql;
mod store;
mod txn;
mod writer;

pub use options::{SqliteOptions, Synchronous};
pub use store::SqliteStore;
