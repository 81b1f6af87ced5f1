//! Metadata: a map that costs nothing when empty.

use std::mem::size_of;

use roomkit_core::model::Metadata;
use serde_json::{Map, Value, json};

#[test]
fn an_empty_one_is_a_pointer_and_an_empty_object() {
    assert_eq!(size_of::<Metadata>(), size_of::<usize>());
    let empty = Metadata::new();
    assert!(empty.is_empty());
    assert_eq!(empty.len(), 0);
    assert_eq!(empty.iter().count(), 0);
    assert_eq!(empty, Metadata::from(Map::new()));
    assert_eq!(serde_json::to_string(&empty).unwrap(), "{}");
    for document in ["{}", "null"] {
        assert_eq!(serde_json::from_str::<Metadata>(document).unwrap(), empty);
    }
    assert!(serde_json::from_str::<Metadata>("[]").is_err());
}

#[test]
fn values_come_and_go() {
    let mut metadata = Metadata::new();
    assert_eq!(metadata.insert("a", 1), None);
    assert_eq!(metadata.insert("a", "b"), Some(json!(1)));
    metadata.insert("null", Value::Null);
    assert!(metadata.contains_key("null"));
    assert_eq!(metadata.keys().collect::<Vec<_>>(), ["a", "null"]);
    assert_eq!(metadata.remove("missing"), None);
    assert_eq!(metadata.remove("a"), Some(json!("b")));
    assert_eq!(metadata.remove("null"), Some(Value::Null));
    assert_eq!(metadata, Metadata::new());
}

#[test]
fn changing_one_leaves_its_clones_alone() {
    let original = Metadata::from_iter([("a", 1)]);
    let mut changed = original.clone();
    changed.insert("a", 2);
    assert_eq!(original.get("a"), Some(&json!(1)));
    let mut emptied = original.clone();
    emptied.remove("a");
    assert!(emptied.is_empty());
    assert_eq!(original.len(), 1);
}

#[test]
fn the_other_wins_a_merge() {
    let mut metadata = Metadata::from_iter([("a", 1), ("b", 1)]);
    metadata.merge(&Metadata::from_iter([("b", 2), ("c", 2)]));
    assert_eq!(
        metadata,
        Metadata::from_iter([("a", 1), ("b", 2), ("c", 2)])
    );
    metadata.merge(&Metadata::new());
    assert_eq!(metadata.len(), 3);
    let mut empty = Metadata::new();
    empty.merge(&metadata);
    assert_eq!(
        Value::Object(empty.into_map()),
        json!({"a": 1, "b": 2, "c": 2})
    );
}

#[test]
fn it_prints_as_a_map() {
    let metadata = Metadata::from_iter([("a", 1)]);
    assert_eq!(format!("{metadata:?}"), r#"{"a": Number(1)}"#);
}
