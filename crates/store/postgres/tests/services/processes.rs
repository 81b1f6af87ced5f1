//! Several kits on one database.

use std::collections::BTreeSet;
use std::sync::Arc;

use roomkit_core::RoomKit;
use roomkit_core::model::{ChannelType, InboundMessage};
use roomkit_core::store::{EventStore, RoomStore};
use roomkit_store_postgres::PostgresLocks;
use roomkit_testkit::MockChannel;

use crate::support::{TestSchema, whole_timeline};

const KITS: usize = 4;
const ROOMS: usize = 16;
const MESSAGES: usize = 6;

async fn kit(schema: &TestSchema, locks: bool) -> RoomKit {
    let builder = RoomKit::builder().store(Arc::new(schema.open().await));
    let builder = if locks {
        builder.locks(Arc::new(
            PostgresLocks::open(schema.config()).await.unwrap(),
        ))
    } else {
        builder.allow_in_process_locks()
    };
    let kit = builder.build().unwrap();
    let channel = MockChannel::builder("a")
        .channel_type(ChannelType::Sms)
        .build();
    kit.register_channel(channel).unwrap();
    kit
}

async fn four_kits_in_sixteen_rooms(locks: bool) {
    let schema = TestSchema::new();
    let mut kits = Vec::new();
    for _ in 0..KITS {
        kits.push(Arc::new(kit(&schema, locks).await));
    }
    for room in 0..ROOMS {
        kits[0].create_room(format!("room-{room}")).await.unwrap();
        kits[0]
            .attach_channel(format!("room-{room}"), "a")
            .await
            .unwrap();
    }
    let mut tasks = Vec::new();
    for (number, kit) in kits.iter().enumerate() {
        for room in 0..ROOMS {
            let kit = Arc::clone(kit);
            tasks.push(tokio::spawn(async move {
                for message in 0..MESSAGES {
                    // The same message reaches every kit, as from a provider that sends it twice.
                    let text = format!("{message} by {number}");
                    let mut inbound = InboundMessage::text("a", format!("sender-{number}"), &text)
                        .in_room(format!("room-{room}"));
                    inbound.idempotency_key = Some(text);
                    // What loses too many races against others says so; that is worth another try.
                    loop {
                        match kit.process_inbound(inbound.clone()).await {
                            Ok(_) => break,
                            Err(error) => assert!(error.is_retryable(), "{error:?}"),
                        }
                    }
                }
            }));
        }
    }
    for task in tasks {
        task.await.unwrap();
    }
    let store = schema.open().await;
    for room in 0..ROOMS {
        let room = format!("room-{room}");
        whole_timeline(&store, &room).await;
        let mut keys = BTreeSet::new();
        let query = roomkit_core::store::EventQuery::first(usize::MAX);
        for event in store.events(&room.as_str().into(), &query).await.unwrap() {
            if let Some(key) = &event.idempotency_key {
                assert!(keys.insert(key.clone()), "{key} is there twice");
            }
        }
        assert_eq!(keys.len(), KITS * MESSAGES);
        assert!(store.room(&room.as_str().into()).await.unwrap().is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kits_without_a_common_lock_give_no_index_twice() {
    four_kits_in_sixteen_rooms(false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kits_with_advisory_locks_give_no_index_twice() {
    four_kits_in_sixteen_rooms(true).await;
}
