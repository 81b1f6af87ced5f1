//! Nothing of what is said or sealed is logged, whatever thread of the store logs it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use roomkit::RoomKit;
use roomkit::model::{InboundMessage, Metadata};
use roomkit_store::{PayloadKey, PayloadKeys};
use roomkit_store_sqlite::{SqliteConfig, SqliteStore};
use roomkit_testkit::MockChannel;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

use crate::support::Place;

/// In every text and payload of this test, and of no other.
const SENTINEL: &str = "okapi";

/// Keeps what all threads of the process log.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn note(&self, line: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(line);
    }
}

struct Line(BTreeMap<&'static str, String>);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}

impl Subscriber for Ear {
    fn enabled(&self, _metadata: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut line = Line(BTreeMap::new());
        attributes.record(&mut line);
        self.note(format!("{:?}", line.0));
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, values: &Record<'_>) {
        let mut line = Line(BTreeMap::new());
        values.record(&mut line);
        self.note(format!("{:?}", line.0));
    }

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(BTreeMap::new());
        event.record(&mut line);
        self.note(format!("{:?}", line.0));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

async fn kit(config: SqliteConfig) -> RoomKit {
    let store = SqliteStore::open(config).await.unwrap();
    let kit = RoomKit::builder().store(Arc::new(store)).build().unwrap();
    for channel in ["a", "b"] {
        kit.register_channel(MockChannel::new(channel)).unwrap();
    }
    kit
}

fn message(what: &str) -> InboundMessage {
    let text = format!("{SENTINEL} {what}");
    let mut message = InboundMessage::text("a", format!("{SENTINEL}-sender"), text).in_room("r");
    message.raw_payload = Metadata::new().with("token", format!("{SENTINEL}-payload"));
    message
}

#[tokio::test]
async fn sealed_payloads_and_texts_are_in_no_log() {
    let ear = Ear::default();
    tracing::subscriber::set_global_default(ear.clone()).unwrap();
    let place = Place::new();
    let keys = PayloadKeys::new(PayloadKey::new(1, [7; 32]));
    let with_keys = kit(place.config().payload_keys(keys)).await;
    let mut edited = message("hello");
    edited.idempotency_key = Some(format!("{SENTINEL}-key"));
    let event = with_keys
        .process_inbound(edited)
        .await
        .unwrap()
        .event
        .unwrap();
    with_keys.attach_channel("r", "b").await.unwrap();
    with_keys.process_inbound(message("again")).await.unwrap();
    with_keys
        .close(std::time::Duration::from_secs(60))
        .await
        .unwrap();

    // With another key, and with a row that is damaged, what fails is told without its words.
    let other = PayloadKeys::new(PayloadKey::new(2, [9; 32]));
    let without = kit(place.config().payload_keys(other)).await;
    let unread = without.event("r", event.id.clone()).await.unwrap_err();
    assert!(!unread.to_string().contains(SENTINEL), "{unread}");
    let db = rusqlite::Connection::open(place.config().path).unwrap();
    db.execute("UPDATE events SET data = replace(data, '{', '[')", [])
        .unwrap();
    let damaged = without.timeline("r", 0, 9).await.unwrap_err();
    assert!(!format!("{damaged:?}").contains(SENTINEL), "{damaged:?}");
    let _ = without.process_inbound(message("once more")).await;
    without
        .close(std::time::Duration::from_secs(60))
        .await
        .unwrap();

    let lines = ear.0.lock().unwrap();
    assert!(lines.iter().any(|line| line.contains("event stored")));
    assert!(lines.iter().any(|line| line.contains("database opened")));
    for line in lines.iter() {
        assert!(!line.contains(SENTINEL), "{line}");
    }
}
