//! The keys that an `expect` may have: one that the comparison would not look at is refused.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::error::ConformanceError;

/// Refuses an `expect` with a key that the comparison would not look at. What the values are is for
/// the comparison to say.
pub(super) fn check_expect(expect: &Value) -> Result<(), ConformanceError> {
    serde_json::from_value::<Expect>(expect.clone())
        .map(drop)
        .map_err(|error| ConformanceError::malformed(format!("expect: {error}")))
}

macro_rules! shape {
    ($name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "only the keys matter")]
        struct $name {
            $(#[serde(default)] $field: Option<$type>,)+
        }
    };
}

shape!(Expect {
    results: Vec<ResultShape>,
    hooks: Vec<Value>,
    heard: BTreeMap<String, Vec<Value>>,
    deliveries: BTreeMap<String, Vec<DeliveryShape>>,
    frames: BTreeMap<String, Vec<FrameShape>>,
    framework_events: Vec<Value>,
    ephemeral: BTreeMap<String, Vec<EphemeralShape>>,
    rooms: BTreeMap<String, RoomShape>,
});

shape!(ResultShape {
    blocked: Value,
    reason: Value,
    status: Value,
    error: Value,
    cancelled: Value,
    participants: Vec<PersonShape>,
    unread: Value,
    thread: Vec<Value>,
    last_reply: Value,
    top_level: Vec<Value>,
    updated: Value,
    versions: Value,
    deleted: Vec<Value>,
    changed: Vec<Value>,
    state: Value,
    told: Value,
    index: Value,
    items: Vec<ResultShape>,
    category: Value,
    channel: Value,
    content: Value,
    confidence: Value,
    participant: Value,
    failures: Value,
    messages: Value,
    addresses: Vec<Value>,
    identities: Vec<Value>,
});

shape!(PersonShape {
    id: Value,
    display_name: Value,
    role: Value,
    status: Value,
    identification: Value,
    identity: Value,
    candidates: Vec<Value>,
    channels: Vec<Value>,
});

shape!(DeliveryShape {
    room: Value,
    index: Value,
    content: serde_json::Map<String, Value>,
});

shape!(EphemeralShape {
    r#type: Value,
    user: Value,
    channel: Value,
    data: serde_json::Map<String, Value>,
});

shape!(FrameShape {
    frame: Value,
    room: Value,
    index: Value,
    source: Value,
    trigger: Value,
    parent: Value,
    delta: Value,
    end: Value,
    content: serde_json::Map<String, Value>,
    reason: Value,
    blocked_by: Value,
});

shape!(RoomShape {
    status: Value,
    event_count: Value,
    latest_index: Value,
    timeline: Vec<EntryShape>,
    tasks: Vec<Value>,
    observations: Vec<Value>,
});

shape!(EntryShape {
    index: Value,
    r#type: Value,
    status: Value,
    blocked_by: Value,
    source: Value,
    participant: Value,
    chain_depth: Value,
    visibility: Value,
    addressed_to: Value,
    parent: Value,
    superseded_by: Value,
    content: serde_json::Map<String, Value>,
    metadata: serde_json::Map<String, Value>,
});
