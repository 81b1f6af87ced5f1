//! What a channel's provider adds to an event.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::metadata::Metadata;

/// What a provider adds to an event (RFC §5.4); costs one pointer when there is nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChannelData(Option<Box<ChannelDataFields>>);

/// The fields of [`ChannelData`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChannelDataFields {
    /// The provider's name.
    pub provider: Option<String>,
    /// The provider's id of the message or conversation.
    pub external_id: Option<String>,
    /// The provider's id of the thread.
    pub thread_id: Option<String>,
    /// Whatever else the provider says, such as the number of segments of a text message.
    pub extra: Metadata,
}

impl ChannelData {
    /// Makes it from its fields; without allocating when they are all empty.
    pub fn new(fields: ChannelDataFields) -> Self {
        Self((fields != ChannelDataFields::default()).then(|| Box::new(fields)))
    }

    /// The provider's name.
    pub fn provider(&self) -> Option<&str> {
        self.0.as_ref()?.provider.as_deref()
    }

    /// The provider's id of the message or conversation.
    pub fn external_id(&self) -> Option<&str> {
        self.0.as_ref()?.external_id.as_deref()
    }

    /// The provider's id of the thread.
    pub fn thread_id(&self) -> Option<&str> {
        self.0.as_ref()?.thread_id.as_deref()
    }

    /// Whatever else the provider says.
    pub fn extra(&self) -> &Metadata {
        static EMPTY: Metadata = Metadata::new();
        self.0.as_ref().map_or(&EMPTY, |fields| &fields.extra)
    }
}

impl Serialize for ChannelData {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(fields) => fields.serialize(serializer),
            None => ChannelDataFields::default().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ChannelData {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        ChannelDataFields::deserialize(deserializer).map(Self::new)
    }
}
