//! The ids of the model: one newtype per kind of thing, cheap to clone.

use std::borrow::Borrow;
use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use uuid::Uuid;

use super::from_text::from_text;

/// Defines an id type over shared text.
macro_rules! id {
    ($( $(#[$meta:meta])* $name:ident: $kind:literal; )+) => {$(
        $(#[$meta])*
        ///
        /// Any text is an id; cloning one only counts a reference. In JSON it is a string.
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Makes a new id that sorts by its time of creation: the text of a version 7 UUID.
            pub fn generate() -> Self {
                let mut buffer = Uuid::encode_buffer();
                let text: &str = Uuid::now_v7().hyphenated().encode_lower(&mut buffer);
                Self(Arc::from(text))
            }

            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.pad(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, formatter)
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<Arc<str>> for $name {
            fn from(text: Arc<str>) -> Self {
                Self(text)
            }
        }

        impl From<&$name> for $name {
            fn from(id: &$name) -> Self {
                id.clone()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, text: &str) -> bool {
                self.as_str() == text
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, text: &&str) -> bool {
                self.as_str() == *text
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer, $kind, |text| Ok::<_, Infallible>(Self::from(text)))
            }
        }
    )+};
}

id! {
    /// Names a room (RFC §5.1).
    RoomId: "a room id";
    /// Names a channel; unique among the channels registered with a kit (RFC §4.2).
    ChannelId: "a channel id";
    /// Names an event of a timeline (RFC §5.2).
    EventId: "an event id";
    /// Names a participant; unique inside its room (RFC §5.5).
    ParticipantId: "a participant id";
    /// Names an identity: one person across rooms and channels (RFC §5.6).
    IdentityId: "an identity id";
    /// Names an organisation, the unit of isolation between tenants (RFC §5.1).
    OrganizationId: "an organization id";
    /// Names a task (RFC §5.10).
    TaskId: "a task id";
    /// Names an observation (RFC §5.11).
    ObservationId: "an observation id";
    /// Names a subscription to ephemeral or framework events (RFC §8.2, §8.4).
    SubscriptionId: "a subscription id";
}
