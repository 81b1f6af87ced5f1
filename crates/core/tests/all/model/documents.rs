//! The documents that the Python package wrote.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use roomkit_core::model::{
    ChannelBinding, Identity, Observation, Participant, Room, RoomEvent, Task,
};
use serde_json::Value;

use super::rewrite;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance/models")
}

fn documents() -> Vec<(String, Value)> {
    let mut documents: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(path).unwrap();
            (name, serde_json::from_str(&text).unwrap())
        })
        .collect();
    documents.sort_by(|(one, _), (other, _)| one.cmp(other));
    documents
}

#[test]
fn every_document_is_written_as_it_was_read() {
    let documents = documents();
    assert_eq!(documents.len(), 19);
    for (name, document) in documents {
        let original = document.clone();
        let written = match name.as_str() {
            "binding" => rewrite::<ChannelBinding>(document),
            "identity" => rewrite::<Identity>(document),
            "observation" => rewrite::<Observation>(document),
            "participant" => rewrite::<Participant>(document),
            "room" => rewrite::<Room>(document),
            "task" => rewrite::<Task>(document),
            event if event.starts_with("event_") => rewrite::<RoomEvent>(document),
            other => panic!("no model for {other}.json"),
        };
        assert_eq!(written, original, "{name}");
    }
}

#[test]
fn the_fields_of_a_document_keep_their_order() {
    let text = fs::read_to_string(folder().join("binding.json")).unwrap();
    let binding: ChannelBinding = serde_json::from_str(&text).unwrap();
    let written = serde_json::to_string(&binding).unwrap();
    assert_eq!(written, text.split_whitespace().collect::<String>());
}

#[test]
fn there_is_a_document_for_every_type_of_content() {
    let types: BTreeSet<_> = documents()
        .iter()
        .filter_map(|(_, document)| document["content"]["type"].as_str().map(str::to_owned))
        .collect();
    let expected = [
        "audio",
        "composite",
        "delete",
        "edit",
        "location",
        "media",
        "rich",
        "system",
        "template",
        "text",
        "tool_call",
        "video",
    ];
    assert_eq!(types, expected.map(str::to_owned).into());
}
