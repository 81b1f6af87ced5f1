//! What needs no server: the configuration, and what it refuses.
#![cfg(test)]

use roomkit_core::ErrorKind;
use roomkit_store_postgres::{PostgresConfig, PostgresStore, PostgresUrl};

#[test]
fn nothing_prints_a_password() {
    let config = PostgresConfig::new("postgres://app:s3cret@db.internal:5433/rooms");
    let text = format!(
        "{config:?} {:?}",
        PostgresUrl::new("postgres://x:s3cret@[broken")
    );
    assert!(!text.contains("s3cret"), "{text}");
    assert!(text.contains("db.internal:5433/rooms"), "{text}");
}

#[test]
fn defaults_are_the_documented_ones() {
    let config: PostgresConfig =
        serde_json::from_str(r#"{"url": "postgres://localhost/rooms"}"#).unwrap();
    assert_eq!(config.max_connections, 20);
    assert_eq!(config.min_connections, 0);
    assert_eq!(config.acquire_timeout_ms, 5_000);
    assert_eq!(config.idle_timeout_ms, 600_000);
    assert_eq!(config.statement_timeout_ms, 30_000);
    assert_eq!(config.lock_timeout_ms, 30_000);
    assert_eq!(config.application_name, "roomkit");
    assert!(config.migrate && config.schema.is_none() && config.payload_keys.is_none());
}

#[tokio::test]
async fn a_wrong_field_is_named_before_anything_is_reached() {
    let config = || PostgresConfig::new("postgres://nobody@127.0.0.1:1/none");
    let mut no_time = config();
    no_time.acquire_timeout_ms = 0;
    let wrong = [
        (config().schema(""), "schema"),
        (config().schema("x".repeat(64)), "schema"),
        (config().schema("a\0b"), "schema"),
        (config().schema("pg_own"), "schema"),
        (config().schema("a$body$b"), "schema"),
        (config().application_name("a\0b"), "application_name"),
        (config().max_connections(0), "max_connections"),
        (
            config().max_connections(2).min_connections(3),
            "max_connections",
        ),
        (no_time, "acquire_timeout_ms"),
        (PostgresConfig::new("mysql://app:s3cret@db/rooms"), "url"),
    ];
    for (config, field) in wrong {
        let error = PostgresStore::open(config).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{field}");
        assert!(error.message().starts_with(field), "{error}");
        assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_not_there_is_worth_another_try() {
    let error = PostgresStore::open(PostgresConfig::new("postgres://nobody@127.0.0.1:1/none"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::StoreFailed);
    assert!(error.is_retryable(), "{error:?}");
}
