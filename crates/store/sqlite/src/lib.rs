#![doc = include_str!("../README.md")]

mod cache;
mod commit;
mod config;
mod connection;
mod dump;
mod error;
mod event;
mod lock;
mod migrate;
pub mod python;
mod readers;
mod restore;
mod retention;
mod room;
mod search;
mod sql;
mod store;
mod transaction;
mod txn;
mod writer;

pub use config::{SqliteConfig, Synchronous};
pub use store::SqliteStore;
