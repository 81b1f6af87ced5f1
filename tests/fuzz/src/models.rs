//! Every document of the model: any text is read or refused, and what was read is written so that it
//! is read as the same.

use std::fmt::Debug;

use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelData, DeliveryResult, DeliveryStatus,
    EphemeralEvent, EventContent, EventFilter, EventSource, FrameworkEvent, Identity,
    IdentityResult, InboundMessage, InboundResult, Metadata, Observation, Participant,
    PersistencePolicy, ProtocolTrace, RateLimit, ReadMarker, RetryPolicy, Room, RoomEvent,
    SourceHealth, StatusOutcome, Task, ThreadSummary, Visibility,
};
use roomkit_core::store::RoomPart;
use roomkit_core::turns::{RoundRobinRoomPlanner, Transcript};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::corpus::documents;

/// A kind of document: its name, and the check of a text that may be one.
type Kind = (&'static str, fn(&str));

macro_rules! kinds {
    ($($kind:ident),* $(,)?) => {
        &[$((stringify!($kind), |text| {
            comes_back::<$kind>(text);
        })),*]
    };
}

/// The first character of an input says which one the rest may be.
const KINDS: &[Kind] = &[
    ("RoomEvent", |text| {
        if let Some(event) = comes_back::<RoomEvent>(text) {
            assert_eq!(event.content.validate(), Ok(()), "read, and not acceptable");
        }
    }),
    ("InboundMessage", |text| {
        if let Some(message) = comes_back::<InboundMessage>(text) {
            assert_eq!(message.validate(), Ok(()), "read, and not acceptable");
        }
    }),
    ("EventContent", |text| {
        if let Some(content) = comes_back::<EventContent>(text) {
            assert_eq!(content.validate(), Ok(()), "read, and not acceptable");
        }
    }),
];

const MORE: &[Kind] = kinds![
    ChannelBinding,
    ChannelCapabilities,
    ChannelData,
    DeliveryResult,
    DeliveryStatus,
    EphemeralEvent,
    EventFilter,
    EventSource,
    FrameworkEvent,
    Identity,
    IdentityResult,
    InboundResult,
    Metadata,
    Observation,
    Participant,
    PersistencePolicy,
    ProtocolTrace,
    RateLimit,
    ReadMarker,
    RetryPolicy,
    Room,
    RoomPart,
    RoundRobinRoomPlanner,
    SourceHealth,
    StatusOutcome,
    Task,
    ThreadSummary,
    Transcript,
    Visibility,
];

fn kinds() -> impl Iterator<Item = &'static Kind> {
    KINDS.iter().chain(MORE)
}

pub(crate) fn run(input: &str) {
    let mut characters = input.chars();
    let Some(first) = characters.next() else {
        return;
    };
    let which = u32::from(first).wrapping_sub(u32::from('A'));
    let kind = usize::try_from(which).ok().and_then(|at| kinds().nth(at));
    if let Some((_, check)) = kind {
        check(characters.as_str());
    }
}

/// The value that `text` is, after it was written and read again; `None` where it is none.
fn comes_back<T: DeserializeOwned + Serialize + PartialEq + Debug>(text: &str) -> Option<T> {
    let first: T = serde_json::from_str(text).ok()?;
    let written = serde_json::to_string(&first).expect("what was read can be written");
    let again: T = serde_json::from_str(&written)
        .unwrap_or_else(|error| panic!("{error}: {written} came of {text}"));
    assert_eq!(again, first, "another value: {written} came of {text}");
    let repeated = serde_json::to_string(&again).expect("what was read can be written");
    assert_eq!(repeated, written, "written in another way the second time");
    // What comes out of a database was read into a tree before. What is made up where a field is
    // absent, an id or the time, differs from one reading to the next.
    let tree = |text: &str| {
        let tree: Value = serde_json::from_str(text).expect("what was read is JSON");
        serde_json::from_value::<T>(tree)
            .unwrap_or_else(|error| panic!("{error}: from a tree only, {text}"))
    };
    tree(text);
    assert_eq!(
        tree(&written),
        first,
        "another value from a tree: {written}"
    );
    Some(first)
}

pub(crate) fn seeds() -> Vec<String> {
    let mut seeds = Vec::new();
    for (at, (kind, _)) in kinds().enumerate() {
        let at = u32::try_from(at).unwrap_or_default();
        let Some(first) = char::from_u32(u32::from('A') + at) else {
            continue;
        };
        seeds.push(format!("{first}{{}}"));
        for (name, document) in documents() {
            let is_of_it = match *kind {
                "RoomEvent" => name.starts_with("event_"),
                "EventContent" | "InboundMessage" => false,
                kind => kind.to_lowercase().ends_with(&name),
            };
            if is_of_it {
                seeds.push(format!("{first}{document}"));
            }
            let content = document
                .get("content")
                .filter(|content| content.is_object());
            match (*kind, content) {
                ("EventContent", Some(content)) => seeds.push(format!("{first}{content}")),
                ("InboundMessage", Some(content)) => seeds.push(format!(
                    r#"{first}{{"channel_id":"c","sender_id":"s","content":{content}}}"#
                )),
                _ => {}
            }
        }
    }
    seeds
}
