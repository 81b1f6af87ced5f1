//! Addresses for tests that leave the server alone.

use std::sync::Mutex;

use crate::error::Result;
use crate::postgres::{Postgres, PostgresOptions};
use crate::redis::{Redis, RedisOptions};
use crate::service::Service;

/// Never dropped; their watchdogs stop them when the process ends.
static POSTGRES: Mutex<Option<Postgres>> = Mutex::new(None);
static REDIS: Mutex<Option<Redis>> = Mutex::new(None);

/// The PostgreSQL server of `DATABASE_URL`; where that is not set, one that this process starts once.
///
/// Tests of other crates use the same server: make a database or a schema of your own in it.
///
/// # Errors
///
/// As for [`Postgres::start`].
pub fn database_url() -> Result<String> {
    url(
        Service::Postgres,
        &POSTGRES,
        || Postgres::start(&PostgresOptions::default()),
        Postgres::url,
    )
}

/// The Redis server of `REDIS_URL`; where that is not set, one that this process starts once.
///
/// Tests of other crates use the same server: begin your keys with something of your own.
///
/// # Errors
///
/// As for [`Redis::start`].
pub fn redis_url() -> Result<String> {
    url(
        Service::Redis,
        &REDIS,
        || Redis::start(&RedisOptions::default()),
        Redis::url,
    )
}

fn url<S>(
    service: Service,
    kept: &Mutex<Option<S>>,
    start: impl FnOnce() -> Result<S>,
    url: impl FnOnce(&S) -> String,
) -> Result<String> {
    if let Ok(given) = std::env::var(service.url_variable())
        && !given.is_empty()
    {
        return Ok(given);
    }
    // A start that panicked left nothing behind that a second one could stumble over.
    let mut kept = kept
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    let server = match kept.take() {
        Some(server) => server,
        None => start()?,
    };
    Ok(url(kept.insert(server)))
}
