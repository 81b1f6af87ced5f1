//! The options of a WebSocket channel, each with its default.

use roomkit_core::model::{ChannelCapabilities, ChannelId, ChannelMediaType};
use roomkit_core::{Error, ErrorKind, Result};

use crate::channel::WebSocketChannel;

/// The most frames that may wait for one connection.
const MOST_QUEUED: usize = 65_536;

/// Puts a [`WebSocketChannel`] together; made by [`WebSocketChannel::builder`].
#[derive(Debug, Clone)]
#[must_use]
pub struct WebSocketBuilder {
    id: ChannelId,
    capabilities: ChannelCapabilities,
    queue_capacity: usize,
}

impl WebSocketBuilder {
    /// How many frames wait for a connection by default.
    pub const DEFAULT_QUEUE_CAPACITY: usize = 256;

    pub(crate) fn new(id: ChannelId) -> Self {
        Self {
            id,
            capabilities: everything(),
            queue_capacity: Self::DEFAULT_QUEUE_CAPACITY,
        }
    }

    /// What the clients can show. Default: text, rich text, media, audio, video and locations
    /// without a limit of length, buttons, cards, quick replies, threads, edits, deletions,
    /// reactions, typing and read receipts (RFC §A.8). Templates reach them as text.
    pub fn capabilities(mut self, capabilities: ChannelCapabilities) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// How many frames may wait for one connection; at the next one it is
    /// [cut](crate::CloseReason::Slow). From 1 to 65,536. Default: 256.
    pub fn queue_capacity(mut self, frames: usize) -> Self {
        self.queue_capacity = frames;
        self
    }

    /// Puts the channel together.
    ///
    /// # Errors
    /// [`InvalidInput`](ErrorKind::InvalidInput): the queue's capacity or a limit of the capabilities
    /// is not acceptable; it names the field.
    pub fn build(self) -> Result<WebSocketChannel> {
        if !(1..=MOST_QUEUED).contains(&self.queue_capacity) {
            return Err(Error::new(
                ErrorKind::InvalidInput,
                "queue_capacity: must be from 1 to 65,536",
            ));
        }
        self.capabilities.validate()?;
        Ok(self.assemble())
    }

    /// Puts a channel of valid options together.
    pub(crate) fn assemble(self) -> WebSocketChannel {
        WebSocketChannel::assemble(self.id, self.capabilities, self.queue_capacity)
    }
}

fn everything() -> ChannelCapabilities {
    ChannelCapabilities {
        media_types: vec![
            ChannelMediaType::Text,
            ChannelMediaType::Rich,
            ChannelMediaType::Media,
            ChannelMediaType::Audio,
            ChannelMediaType::Video,
            ChannelMediaType::Location,
        ],
        supports_threading: true,
        supports_reactions: true,
        supports_edit: true,
        supports_delete: true,
        supports_read_receipts: true,
        supports_typing: true,
        supports_rich_text: true,
        supports_buttons: true,
        supports_cards: true,
        supports_quick_replies: true,
        supports_media: true,
        supports_audio: true,
        supports_video: true,
        ..ChannelCapabilities::default()
    }
}
