//! A schema of its own for each test, gone when the test is over.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use roomkit_store_postgres::{PostgresConfig, PostgresStore};
use sqlx::postgres::PgConnection;
use sqlx::{AssertSqlSafe, Connection, Executor};

/// A schema in the database of the tests.
#[derive(Debug)]
pub(crate) struct TestSchema {
    pub(crate) url: String,
    pub(crate) name: String,
}

impl TestSchema {
    /// A name that no other test has; the store makes the schema.
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let url = roomkit_test_services::database_url().unwrap();
        let nanos = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_nanos();
        let count = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{nanos:x}_{count}", std::process::id());
        Self { url, name }
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        PostgresConfig::new(self.url.as_str())
            .schema(&self.name)
            .max_connections(4)
    }

    pub(crate) async fn open(&self) -> PostgresStore {
        PostgresStore::open(self.config()).await.unwrap()
    }

    /// Runs statements, `{s}` standing for the schema.
    pub(crate) async fn run(&self, sql: &str) {
        let mut connection = PgConnection::connect(&self.url).await.unwrap();
        let sql = sql.replace("{s}", &format!("\"{}\"", self.name));
        let done = connection.execute(sqlx::raw_sql(AssertSqlSafe(sql)));
        done.await.unwrap();
        connection.close().await.unwrap();
    }
}

impl Drop for TestSchema {
    fn drop(&mut self) {
        let url = self.url.clone();
        let drop_it = format!("DROP SCHEMA IF EXISTS \"{}\" CASCADE", self.name);
        // A runtime of its own: the test's may be over, and may not be blocked.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                if let Ok(mut connection) = PgConnection::connect(&url).await {
                    drop(
                        connection
                            .execute(sqlx::raw_sql(AssertSqlSafe(drop_it)))
                            .await,
                    );
                }
            });
        });
        drop(dropped.join());
    }
}
