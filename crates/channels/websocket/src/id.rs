//! The name of a connection.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// Names a connection; unique inside its channel. Any text is an id, and cloning one only counts a
/// reference.
///
/// The application chooses it: the id of a socket, or that of a device, so that a device which
/// connects again [replaces](crate::CloseReason::Replaced) its former connection.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConnectionId(Arc<str>);

impl ConnectionId {
    /// The text of the id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(&self.0)
    }
}

impl fmt::Debug for ConnectionId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, formatter)
    }
}

impl AsRef<str> for ConnectionId {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ConnectionId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<&str> for ConnectionId {
    fn from(text: &str) -> Self {
        Self(Arc::from(text))
    }
}

impl From<String> for ConnectionId {
    fn from(text: String) -> Self {
        Self(Arc::from(text))
    }
}

impl From<&ConnectionId> for ConnectionId {
    fn from(id: &ConnectionId) -> Self {
        id.clone()
    }
}

impl PartialEq<str> for ConnectionId {
    fn eq(&self, text: &str) -> bool {
        self.as_str() == text
    }
}

impl PartialEq<&str> for ConnectionId {
    fn eq(&self, text: &&str) -> bool {
        self.as_str() == *text
    }
}
