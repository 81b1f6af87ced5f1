#![doc = include_str!("../README.md")]

mod error;
mod find;
mod folder;
mod port;
mod postgres;
mod process;
mod redis;
mod server;
mod service;
mod shared;
mod watchdog;

pub use error::{Error, Result};
pub use postgres::{Postgres, PostgresOptions};
pub use redis::{AppendFsync, Redis, RedisOptions};
pub use service::Service;
pub use shared::{database_url, redis_url};
