#![doc = include_str!("../README.md")]

mod append;
mod archive;
mod args;
mod cache;
mod columns;
mod commit;
mod config;
mod db;
mod error;
mod events;
mod history;
mod locks;
#[doc(hidden)]
pub mod migrations;
mod people;
mod pool;
mod restore;
mod rooms;
mod statements;
mod store;
mod text;
mod work;

pub use config::{PostgresConfig, PostgresUrl};
pub use locks::PostgresLocks;
pub use store::PostgresStore;
