//! What every store and every lock manager promises.

use std::sync::Arc;

use roomkit_core::store::ConversationStore;
use roomkit_core::sync::RoomLockManager;
use roomkit_store_postgres::PostgresLocks;
use roomkit_testkit::locks::TestLocks;
use roomkit_testkit::store::TestStore;

use crate::support::TestSchema;

async fn make_store() -> TestStore {
    let schema = Arc::new(TestSchema::new());
    let store = schema.open().await;
    let reopened = Arc::clone(&schema);
    TestStore::new(Arc::new(store))
        .reopened_by(move || {
            let schema = Arc::clone(&reopened);
            async move { Arc::new(schema.open().await) as Arc<dyn ConversationStore> }
        })
        .kept(schema)
}

roomkit_testkit::store_conformance!(make_store);

async fn make_locks() -> TestLocks {
    let schema = Arc::new(TestSchema::new());
    let locks = PostgresLocks::open(schema.config()).await.unwrap();
    let others = Arc::clone(&schema);
    TestLocks::new(Arc::new(locks))
        .another_by(move || {
            let config = others.config();
            async move {
                let locks = PostgresLocks::open(config).await.unwrap();
                Arc::new(locks) as Arc<dyn RoomLockManager>
            }
        })
        .kept(schema)
}

roomkit_testkit::lock_conformance!(make_locks);
