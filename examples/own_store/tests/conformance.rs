//! The suite of the testkit, from a crate outside it.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use roomkit_core::RoomKit;
use roomkit_core::store::{MemoryStore, RoomStore};
use roomkit_example_own_store::{Calls, CountingStore};
use roomkit_testkit::store::TestStore;

fn counting() -> CountingStore {
    CountingStore::new(Arc::new(MemoryStore::new()))
}

async fn make_store() -> TestStore {
    TestStore::new(Arc::new(counting()))
}

roomkit_testkit::store_conformance!(make_store);

#[tokio::test]
async fn the_calls_of_a_kit_are_counted() {
    let store = Arc::new(counting());
    let kit = RoomKit::builder().store(store.clone()).build().unwrap();
    kit.create_room("r").await.unwrap();
    assert!(kit.create_room("r").await.is_err());
    assert!(store.room(&"r".into()).await.unwrap().is_some());
    let calls = store.calls();
    let created = Calls { all: 2, failed: 1 };
    assert_eq!(calls.get("create_room"), Some(&created));
    assert!(calls["room"].all >= 1);
    assert_eq!(calls["room"].failed, 0);
}
