//! A text of a part: its own, or the words of an event, which are shared with the room and not copied.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use roomkit_core::model::{EventContent, RoomEvent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that many conversations may hold at once.
///
/// It reads as a `str`. Made of a `String` it is that string; made of an event it is the event's own words,
/// so that a window of fifty events costs fifty counted references.
#[derive(Clone)]
pub struct SharedText(Held);

#[derive(Clone)]
enum Held {
    Own(String),
    /// An event whose content is text.
    Said(Arc<RoomEvent>),
}

impl SharedText {
    /// The words of an event, where its content is plain text.
    #[must_use]
    pub fn of_event(event: &Arc<RoomEvent>) -> Option<Self> {
        let is_text = matches!(event.content, EventContent::Text(_));
        is_text.then(|| Self(Held::Said(Arc::clone(event))))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match &self.0 {
            Held::Own(text) => text,
            Held::Said(event) => match &event.content {
                EventContent::Text(text) => &text.body,
                _ => "",
            },
        }
    }
}

impl Deref for SharedText {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for SharedText {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for SharedText {
    fn from(text: String) -> Self {
        Self(Held::Own(text))
    }
}

impl From<&str> for SharedText {
    fn from(text: &str) -> Self {
        Self(Held::Own(text.to_owned()))
    }
}

impl From<SharedText> for String {
    fn from(text: SharedText) -> Self {
        match text.0 {
            Held::Own(text) => text,
            Held::Said(_) => text.as_str().to_owned(),
        }
    }
}

impl PartialEq for SharedText {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for SharedText {}

impl PartialEq<str> for SharedText {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for SharedText {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl Serialize for SharedText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

impl<'de> Deserialize<'de> for SharedText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

impl fmt::Display for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// Its length alone: what people said does not belong into logs.
impl fmt::Debug for SharedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedText({} bytes)", self.len())
    }
}
