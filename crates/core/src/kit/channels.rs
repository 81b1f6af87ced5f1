//! Registering channels with the kit. A registered channel may be attached to any number of rooms.
//!
//! Its rules: RFC §6.1.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::{Channels, RoomKit};
use crate::channel::Channel;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ChannelId, FrameworkEventType};
use crate::sync::{read, write};

/// Ids with a meaning of their own in a visibility, or as a source.
const RESERVED: [&str; 6] = [
    "all",
    "none",
    "transport",
    "intelligence",
    "internal",
    "system",
];

impl RoomKit {
    /// Registers a channel under its id.
    ///
    /// # Errors
    /// - [`ChannelAlreadyRegistered`](ErrorKind::ChannelAlreadyRegistered): the id is in use.
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the id is empty, has a comma, or is a word that
    ///   a visibility uses.
    /// - [`KitClosed`](ErrorKind::KitClosed): the kit is closing.
    pub fn register_channel(&self, channel: impl Channel) -> Result<()> {
        self.register_shared(Arc::new(channel))
    }

    /// Registers a channel that the application keeps a handle of.
    ///
    /// # Errors
    /// As [`register_channel`](Self::register_channel).
    pub fn register_shared(&self, channel: Arc<dyn Channel>) -> Result<()> {
        let inner = self.inner();
        inner.closing.check()?;
        let id = channel.id().clone();
        check_id(&id)?;
        let place = Place::take(&inner.channels, &id)?;
        // Before anybody can find it, so that it knows its kit when the first event comes; without
        // a lock, so that it may use its kit.
        channel.registered(self.downgrade());
        place.fill(Arc::clone(&channel));
        inner.greetings.register(&*channel);
        inner.emit(FrameworkEventType::ChannelRegistered, |event| {
            event
                .data
                .insert("channel_type", channel.channel_type().to_string());
            event.channel_id = Some(id);
        });
        Ok(())
    }

    /// Takes a channel out of the registry and returns it, not closed. Its bindings stay.
    pub fn unregister_channel(&self, id: impl Into<ChannelId>) -> Option<Arc<dyn Channel>> {
        let (inner, id) = (self.inner(), id.into());
        let channel = inner.channels.remove(&id)?;
        inner.flow.forget(&id);
        inner.greetings.forget(&id);
        inner.emit(FrameworkEventType::ChannelUnregistered, |event| {
            event.channel_id = Some(id);
        });
        Some(channel)
    }

    /// A registered channel.
    #[must_use]
    pub fn channel(&self, id: impl Into<ChannelId>) -> Option<Arc<dyn Channel>> {
        self.inner().channel(&id.into())
    }

    /// All registered channels, by id.
    #[must_use]
    pub fn channels(&self) -> Vec<Arc<dyn Channel>> {
        let mut channels: Vec<_> = read(&self.inner().channels.0)
            .values()
            .flatten()
            .cloned()
            .collect();
        channels.sort_by(|a, b| a.id().cmp(b.id()));
        channels
    }
}

/// The id of a channel that is being registered; given up where that comes to nothing.
struct Place<'a> {
    channels: &'a Channels,
    id: &'a ChannelId,
}

impl<'a> Place<'a> {
    fn take(channels: &'a Channels, id: &'a ChannelId) -> Result<Self> {
        match write(&channels.0).entry(id.clone()) {
            Entry::Occupied(_) => Err(Error::new(
                ErrorKind::ChannelAlreadyRegistered,
                format!("channel {id} is registered already"),
            )),
            Entry::Vacant(place) => {
                place.insert(None);
                Ok(Self { channels, id })
            }
        }
    }

    fn fill(self, channel: Arc<dyn Channel>) {
        write(&self.channels.0).insert(self.id.clone(), Some(channel));
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut channels = write(&self.channels.0);
        if let Some(None) = channels.get(self.id) {
            channels.remove(self.id);
        }
    }
}

impl Channels {
    /// Takes a channel out; one that is being registered stays.
    fn remove(&self, id: &ChannelId) -> Option<Arc<dyn Channel>> {
        let mut channels = write(&self.0);
        let channel = channels.get_mut(id)?.take()?;
        channels.remove(id);
        Some(channel)
    }
}

fn check_id(id: &ChannelId) -> Result<()> {
    let text = id.as_str();
    let problem = if text.trim().is_empty() {
        "must not be empty"
    } else if text.contains(',') {
        "must not contain a comma, which separates the ids of a visibility"
    } else if text.trim() != text {
        "must not begin or end with white space"
    } else if RESERVED.contains(&text) {
        "is a word with a meaning of its own"
    } else {
        return Ok(());
    };
    Err(Error::new(
        ErrorKind::InvalidInput,
        format!("channel_id: {text:?} {problem}"),
    ))
}
