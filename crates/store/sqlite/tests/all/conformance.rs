//! The suite that every store passes, each test on a database of its own.

use std::sync::Arc;

use roomkit_store_sqlite::SqliteStore;
use roomkit_testkit::store::TestStore;

use crate::support::Place;

async fn make_store() -> TestStore {
    let place = Place::new();
    let config = place.config();
    let store = Arc::new(SqliteStore::open(config.clone()).await.unwrap());
    TestStore::new(store).kept(place).reopened_by(move || {
        let config = config.clone();
        async move { Arc::new(SqliteStore::open(config).await.unwrap()) as _ }
    })
}

roomkit_testkit::store_conformance!(make_store);
