//! Who may see an event.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::enums::ChannelCategory;
use super::from_text::from_text;
use super::ids::ChannelId;

/// Which channels of a room see an event, beside the one that wrote it (RFC §7.3).
///
/// In JSON it is a string: one of the words, or the ids of channels separated by commas.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Visibility {
    /// Every channel (`all`). The default.
    #[default]
    All,
    /// No channel (`none`): the event is only in the timeline.
    None,
    /// The transport channels (`transport`).
    Transport,
    /// The intelligence channels (`intelligence`).
    Intelligence,
    /// No channel (`internal`): the framework's own record.
    Internal,
    /// The channels with these ids, comma-separated as they were given; see
    /// [`Visibility::channels`].
    Channels(Arc<str>),
}

impl Visibility {
    /// Makes the visibility of exactly these channels; of none, when the list is empty.
    ///
    /// Ids that contain a comma cannot be told apart in the list. A lone id that is one of the words
    /// is written with a comma behind it, so that it stays an id when it is read again.
    pub fn channels<I>(ids: I) -> Self
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut list = String::new();
        for id in ids {
            if !list.is_empty() {
                list.push(',');
            }
            list.push_str(id.as_ref());
        }
        if list.is_empty() {
            return Self::None;
        }
        match Self::from(list.as_str()) {
            ids @ Self::Channels(_) => ids,
            _word => Self::Channels(format!("{list},").into()),
        }
    }

    /// The ids that are listed, trimmed; nothing for the words.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let list = match self {
            Self::Channels(list) => list,
            _ => "",
        };
        list.split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
    }

    /// Whether a channel of this id and category sees the event.
    pub fn allows(&self, channel: &ChannelId, category: ChannelCategory) -> bool {
        match self {
            Self::All => true,
            Self::None | Self::Internal => false,
            Self::Transport => category == ChannelCategory::Transport,
            Self::Intelligence => category == ChannelCategory::Intelligence,
            Self::Channels(_) => self.names().any(|name| channel == name),
        }
    }

    /// The text that stands for it in JSON.
    pub fn as_str(&self) -> &str {
        match self {
            Self::All => "all",
            Self::None => "none",
            Self::Transport => "transport",
            Self::Intelligence => "intelligence",
            Self::Internal => "internal",
            Self::Channels(list) => list,
        }
    }
}

impl From<&str> for Visibility {
    fn from(text: &str) -> Self {
        match text {
            "all" => Self::All,
            "none" => Self::None,
            "transport" => Self::Transport,
            "intelligence" => Self::Intelligence,
            "internal" => Self::Internal,
            list => Self::Channels(list.into()),
        }
    }
}

impl fmt::Display for Visibility {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl Serialize for Visibility {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Visibility {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, "a visibility", |text| {
            Ok::<_, Infallible>(Self::from(text))
        })
    }
}
