//! Nothing of what is said or sealed is logged, by the store or by what it talks to the server with.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use roomkit_core::RoomKit;
use roomkit_core::model::{ChannelType, InboundMessage, Metadata};
use roomkit_store::{PayloadKey, PayloadKeys};
use roomkit_store_postgres::{PostgresConfig, PostgresStore};
use roomkit_testkit::MockChannel;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};

use crate::support::TestSchema;

/// In every text and payload of this test, and of no other.
const SENTINEL: &str = "okapi";

/// What has to be heard, so that it is known that the ear hears.
const HEARD: [&str; 3] = ["event stored", "migrated", "sqlx::query"];

/// Keeps of what all threads of the process log what this test looks for: other tests log too.
#[derive(Clone, Default)]
struct Ear(Arc<Mutex<Vec<String>>>);

impl Ear {
    fn note(&self, line: String) {
        let is_looked_for = |word: &&str| line.contains(*word);
        if [SENTINEL].iter().chain(&HEARD).any(is_looked_for) {
            let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            lines.push(line);
        }
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
        self.note(format!("{}: {:?}", event.metadata().target(), line.0));
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

async fn kit(config: PostgresConfig) -> RoomKit {
    let store = PostgresStore::open(config).await.unwrap();
    let builder = RoomKit::builder().store(Arc::new(store));
    let kit = builder.allow_in_process_locks().build().unwrap();
    for channel in ["a", "b"] {
        let channel = MockChannel::builder(channel).channel_type(ChannelType::Sms);
        kit.register_channel(channel.build()).unwrap();
    }
    kit
}

fn message(what: &str) -> InboundMessage {
    let text = format!("{SENTINEL} {what}");
    let mut message = InboundMessage::text("a", format!("{SENTINEL}-sender"), text).in_room("r");
    message.raw_payload = Metadata::new().with("token", format!("{SENTINEL}-payload"));
    message
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sealed_payloads_and_texts_are_in_no_log() {
    let ear = Ear::default();
    tracing::subscriber::set_global_default(ear.clone()).unwrap();
    let schema = TestSchema::new();
    let keys = PayloadKeys::new(PayloadKey::new(1, [7; 32]));
    let with_keys = kit(schema.config().payload_keys(keys)).await;
    let mut first = message("hello");
    first.idempotency_key = Some(format!("{SENTINEL}-key"));
    let result = with_keys.process_inbound(first).await.unwrap();
    let event = result.event.unwrap();
    with_keys.attach_channel("r", "b").await.unwrap();
    with_keys.process_inbound(message("again")).await.unwrap();
    with_keys.close(Duration::from_secs(60)).await.unwrap();

    // With another key, and with rows that are damaged, what fails is told without its words.
    let other = PayloadKeys::new(PayloadKey::new(2, [9; 32]));
    let without = kit(schema.config().payload_keys(other)).await;
    let unread = without.event("r", event.id.clone()).await.unwrap_err();
    assert!(!unread.to_string().contains(SENTINEL), "{unread}");
    schema
        .run("UPDATE {s}.events SET data = replace(data, '{', '[')")
        .await;
    let damaged = without.timeline("r", 0, 9).await.unwrap_err();
    assert!(!format!("{damaged:?}").contains(SENTINEL), "{damaged:?}");
    // The server refuses what is written: its message has the row that it refuses.
    schema
        .run("ALTER TABLE {s}.events ADD CONSTRAINT refuses CHECK (index < 0) NOT VALID")
        .await;
    let refused = without.process_inbound(message("once more")).await;
    assert!(!format!("{refused:?}").contains(&format!("{SENTINEL}-payload")));
    without.close(Duration::from_secs(60)).await.unwrap();

    let lines = ear.0.lock().unwrap();
    for heard in HEARD {
        assert!(lines.iter().any(|line| line.contains(heard)), "{heard}");
    }
    for line in lines.iter() {
        assert!(!line.contains(SENTINEL), "{line}");
    }
}
