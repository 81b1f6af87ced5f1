//! The content of a step, in which an event may be named by its index.

use std::collections::BTreeSet;

use roomkit_core::model::EventContent;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::strict;

/// How a file names an event by its place in the room.
const BY_INDEX: &str = "target_index";
/// How the core names it.
const BY_ID: &str = "target_event_id";

/// Content as it stands in the file.
#[derive(Debug, Clone)]
pub(super) struct Content(Value);

impl Content {
    /// The indexes of the events that it names.
    pub(super) fn targets(&self) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        collect(&self.0, &mut found);
        found
    }

    /// The content, with the ids that `id_of` has for the indexes in it. An error says what the core
    /// does not accept.
    pub(super) fn resolve(&self, id_of: impl Fn(u64) -> String) -> Result<EventContent, String> {
        let mut value = self.0.clone();
        name_by_id(&mut value, &id_of);
        serde_json::from_value(value).map_err(|error| error.to_string())
    }
}

impl<'de> Deserialize<'de> for Content {
    /// Refuses keys that the core would ignore. Content that the core does not accept is taken: how it
    /// is refused may be what a scenario is about.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let content = Self(Value::deserialize(deserializer)?);
        let mut named = content.0.clone();
        name_by_id(&mut named, &|index| index.to_string());
        if named.get(BY_INDEX).is_some() {
            let problem = format!("`{BY_INDEX}` must be an index");
            return Err(serde::de::Error::custom(problem));
        }
        if serde_json::from_value::<EventContent>(named.clone()).is_ok() {
            strict::model::<EventContent>(&named).map_err(serde::de::Error::custom)?;
        }
        Ok(content)
    }
}

fn collect(value: &Value, found: &mut BTreeSet<u64>) {
    match value {
        Value::Object(map) => {
            found.extend(map.get(BY_INDEX).and_then(Value::as_u64));
            map.values().for_each(|value| collect(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}

fn name_by_id(value: &mut Value, id_of: &impl Fn(u64) -> String) {
    match value {
        Value::Object(map) => {
            if let Some(index) = map.get(BY_INDEX).and_then(Value::as_u64) {
                map.remove(BY_INDEX);
                map.insert(BY_ID.to_owned(), Value::String(id_of(index)));
            }
            map.values_mut().for_each(|value| name_by_id(value, id_of));
        }
        Value::Array(values) => {
            values.iter_mut().for_each(|value| name_by_id(value, id_of));
        }
        _ => {}
    }
}
