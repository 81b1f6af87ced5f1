//! What every store promises.

use std::sync::Arc;

use roomkit_core::store::ConversationStore;
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
