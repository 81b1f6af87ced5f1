//! Free-form data that integrators attach to almost everything.

use std::fmt;
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// A JSON object that costs one pointer when empty and one reference count to clone.
///
/// Changing a shared one copies it first. In JSON it is an object, `{}` when empty; null reads as empty.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata(Option<Arc<Map<String, Value>>>);

impl Metadata {
    /// Makes an empty one, without allocating.
    pub const fn new() -> Self {
        Self(None)
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// Whether there is a value for a key, null included.
    pub fn contains_key(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    /// The value under a key, where it is a text.
    pub fn get_str(&self, key: &str) -> Option<&str> {
        self.get(key).and_then(Value::as_str)
    }

    /// The same with one more entry.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.insert(key, value);
        self
    }

    /// Sets the value of a key and returns the one it had.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        Arc::make_mut(self.0.get_or_insert_default()).insert(key.into(), value.into())
    }

    /// Removes a key and returns its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        if !self.contains_key(key) {
            return None;
        }
        let map = Arc::make_mut(self.0.as_mut()?);
        let value = map.remove(key);
        if map.is_empty() {
            self.0 = None;
        }
        value
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The number of keys.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |map| map.len())
    }

    /// The keys and their values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0
            .iter()
            .flat_map(|map| map.iter())
            .map(|(key, value)| (key.as_str(), value))
    }

    /// The keys.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }

    /// Takes over every key of another one; where both have a key, the other's value wins.
    pub fn merge(&mut self, other: &Self) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        for (key, value) in other.iter() {
            self.insert(key, value.clone());
        }
    }

    /// The plain JSON object; copies it only when it is shared.
    pub fn into_map(self) -> Map<String, Value> {
        self.0.map(Arc::unwrap_or_clone).unwrap_or_default()
    }
}

impl From<Map<String, Value>> for Metadata {
    fn from(map: Map<String, Value>) -> Self {
        Self((!map.is_empty()).then(|| Arc::new(map)))
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.into(), value.into()));
        Self::from(entries.collect::<Map<_, _>>())
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_map().entries(self.iter()).finish()
    }
}

impl Serialize for Metadata {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(map) => map.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = Option::<Map<String, Value>>::deserialize(deserializer)?;
        Ok(map.map(Self::from).unwrap_or_default())
    }
}
