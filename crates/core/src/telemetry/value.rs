//! Attributes: what is said about a span, a metric or an event. Ids, codes and numbers, never content.

use std::fmt;
use std::sync::Arc;

use crate::model::{ChannelId, EventId, OrganizationId, RoomId};

/// The longest text of an attribute in bytes; what is longer is cut.
const LONGEST_TEXT: usize = 256;

/// How many attributes a span, a metric or an event may have; further ones are left out.
const MOST_ATTRIBUTES: usize = 32;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AttributeValue {
    /// An id, a code or a name.
    Text(Arc<str>),
    /// Whether something is so.
    Bool(bool),
    /// A count.
    Int(i64),
    /// A measure.
    Float(f64),
}

impl fmt::Display for AttributeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Bool(value) => value.fmt(f),
            Self::Int(value) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:.3}"),
        }
    }
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        let end = (0..=text.len().min(LONGEST_TEXT))
            .rev()
            .find(|at| text.is_char_boundary(*at));
        Self::Text(Arc::from(
            text.get(..end.unwrap_or_default()).unwrap_or_default(),
        ))
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<bool> for AttributeValue {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for AttributeValue {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<u32> for AttributeValue {
    fn from(value: u32) -> Self {
        Self::Int(i64::from(value))
    }
}

impl From<u64> for AttributeValue {
    fn from(value: u64) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for AttributeValue {
    fn from(value: usize) -> Self {
        Self::Int(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for AttributeValue {
    fn from(value: f64) -> Self {
        Self::Float(value)
    }
}

macro_rules! from_ids {
    ($($id:ty),+) => {$(
        impl From<&$id> for AttributeValue {
            fn from(id: &$id) -> Self {
                Self::from(id.as_str())
            }
        }
    )+};
}

from_ids!(ChannelId, EventId, OrganizationId, RoomId);

/// Attributes by name; each name once. At most 32, texts at most 256 bytes long.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Attributes(Vec<(&'static str, AttributeValue)>);

impl Attributes {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Sets one. `value` is an id, a code or a number, never what somebody wrote.
    pub fn set(&mut self, name: &'static str, value: impl Into<AttributeValue>) {
        let value = value.into();
        let has_place = self.0.len() < MOST_ATTRIBUTES;
        match self.0.iter_mut().find(|(other, _)| *other == name) {
            Some((_, old)) => *old = value,
            None if has_place => self.0.push((name, value)),
            None => {}
        }
    }

    /// The same with one more.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<AttributeValue>) -> Self {
        self.set(name, value);
        self
    }

    /// The value of one.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AttributeValue> {
        self.iter()
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value)
    }

    /// All of them, in the order in which they were set.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &AttributeValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}
