//! What of a trace is compared, and in which form: two traces are equal when their normal forms are.
//!
//! - A key of a result, of a participant in one, a delivery, a frame, an ephemeral event, a protocol
//!   trace, a room or a timeline entry that is null counts as absent; in a result, so does an empty list.
//! - A list or map that is absent from the trace, from a room, a result or an ephemeral event counts as
//!   empty, and so does the list of a channel under `heard`, `deliveries` and `frames`, and of a room
//!   under `ephemeral` and `traces`. `heard` and `framework_events` are sorted.
//! - In content, at any depth, a key that is null or empty counts as absent.
//! - A notice of a `channel_*` event is its `type`, its `code` and its `data.channel_id`.
//! - A visibility that lists channels is the set of them.
//! - The `raw_payload` of an entry is absent where it is empty.
//! - Keys of an entry's `metadata` that begin with `_` do not count; without others it is absent.

use serde_json::{Map, Value};

/// The normal form of a whole trace.
pub(super) fn trace(trace: &Value) -> Value {
    let mut trace = trace.clone();
    let Value::Object(map) = &mut trace else {
        return trace;
    };
    for key in ["results", "hooks", "framework_events"] {
        or_empty_list(map, key);
    }
    for key in [
        "heard",
        "deliveries",
        "frames",
        "ephemeral",
        "traces",
        "rooms",
    ] {
        or_empty(map, key, Value::Object(Map::new()));
    }
    for (key, value) in map.iter_mut() {
        match key.as_str() {
            "results" => each(value, result),
            "framework_events" => sort(value),
            "heard" => {
                each(value, sort);
                drop_empty(value);
            }
            "deliveries" | "frames" => {
                each(value, |channel| each(channel, delivery));
                drop_empty(value);
            }
            "ephemeral" | "traces" => {
                each(value, |room| each(room, result));
                drop_empty(value);
            }
            "rooms" => each(value, room),
            _ => {}
        }
    }
    trace
}

/// A result, with those of its items, or an ephemeral event.
fn result(value: &mut Value) {
    drop_nulls(value);
    let Value::Object(map) = value else { return };
    if let Some(items) = map.get_mut("items") {
        each(items, result);
    }
    if let Some(people) = map.get_mut("participants") {
        each(people, drop_nulls);
    }
    for key in ["data", "metadata"] {
        if map.get(key).is_some_and(is_empty) {
            map.remove(key);
        }
    }
    map.retain(|_, value| value.as_array().is_none_or(|list| !list.is_empty()));
}

fn room(room: &mut Value) {
    drop_nulls(room);
    let Value::Object(map) = room else { return };
    for key in ["timeline", "tasks", "observations"] {
        or_empty_list(map, key);
    }
    if let Some(timeline) = map.get_mut("timeline") {
        each(timeline, entry);
    }
}

fn entry(entry: &mut Value) {
    drop_nulls(entry);
    let is_notice = is_channel_notice(entry);
    let Value::Object(map) = entry else { return };
    if let Some(visibility) = map.get_mut("visibility") {
        as_set(visibility);
    }
    if let Some(content) = map.get_mut("content") {
        if is_notice {
            reduce_notice(content);
        }
        drop_empty_deep(content);
    }
    if let Some(Value::Object(metadata)) = map.get_mut("metadata") {
        metadata.retain(|key, _| !is_private(key));
        if metadata.is_empty() {
            map.remove("metadata");
        }
    }
    if map.get("raw_payload").is_some_and(is_empty) {
        map.remove("raw_payload");
    }
}

fn delivery(delivery: &mut Value) {
    drop_nulls(delivery);
    if let Some(content) = delivery.get_mut("content") {
        drop_empty_deep(content);
    }
}

/// Whether a timeline entry is a notice about a channel, of which little is compared.
pub(super) fn is_channel_notice(entry: &Value) -> bool {
    let word = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    word(entry.get("type")).is_some_and(|kind| kind.starts_with("channel_"))
        && word(entry.pointer("/content/type")).is_some_and(|kind| kind == "system")
}

/// Whether a key of an entry's metadata is the implementation's own.
pub(super) fn is_private(key: &str) -> bool {
    key.starts_with('_')
}

/// Whether a value in content counts as absent.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn reduce_notice(content: &mut Value) {
    if let Value::Object(map) = content {
        map.retain(|key, _| matches!(key.as_str(), "type" | "code" | "data"));
        if let Some(Value::Object(data)) = map.get_mut("data") {
            data.retain(|key, _| key == "channel_id");
        }
    }
}

fn as_set(visibility: &mut Value) {
    if let Value::String(list) = visibility
        && list.contains(',')
    {
        let mut names: Vec<_> = list.split(',').map(str::trim).collect();
        names.retain(|name| !name.is_empty());
        names.sort_unstable();
        names.dedup();
        *list = names.join(",");
    }
}

fn drop_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !value.is_null());
    }
}

fn drop_empty(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| !is_empty(value));
    }
}

pub(super) fn drop_empty_deep(value: &mut Value) {
    each(value, drop_empty_deep);
    drop_empty(value);
}

fn each(value: &mut Value, change: impl FnMut(&mut Value)) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(change),
        Value::Object(map) => map.values_mut().for_each(change),
        _ => {}
    }
}

fn or_empty_list(map: &mut Map<String, Value>, key: &str) {
    or_empty(map, key, Value::Array(Vec::new()));
}

fn or_empty(map: &mut Map<String, Value>, key: &str, empty: Value) {
    let value = map.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = empty;
    }
}

/// Sorts by number or text; what is neither comes last, by its JSON.
fn sort(value: &mut Value) {
    if let Value::Array(values) = value {
        values.sort_by_cached_key(|value| match value {
            Value::Number(number) => (number.as_u64().unwrap_or(u64::MAX), String::new()),
            Value::String(text) => (u64::MAX, text.clone()),
            other => (u64::MAX, other.to_string()),
        });
    }
}
