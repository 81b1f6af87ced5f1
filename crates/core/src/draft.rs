//! An event before it is committed: what hooks and channels may still change, and what they may not.

use std::ops::Deref;
use std::sync::Arc;

use crate::context::RoomContext;
use crate::model::{
    ChannelData, ChannelDataFields, ChannelDirection, ChannelId, ChannelType, EventContent,
    EventSource, InboundMessage, Metadata, RoomEvent, TextContent, Visibility,
};

/// An event on its way to the commit.
///
/// Every field can be read, as of a [`RoomEvent`]; content, addressing, visibility and metadata
/// can be changed. Id, room, source, creation time and chain depth cannot, and the index is given
/// at the commit. A clone is a reference count until one of the two is changed.
#[derive(Debug, Clone, PartialEq)]
pub struct EventDraft(Arc<RoomEvent>);

impl EventDraft {
    pub(crate) fn new(event: RoomEvent) -> Self {
        Self(Arc::new(event))
    }

    /// The event that a message becomes: its content and addressing as they came, its source the
    /// channel, its participant the sender, its time the room's clock. A sender whose id is blank is
    /// nobody in particular.
    #[must_use]
    pub fn inbound(
        message: InboundMessage,
        channel_type: ChannelType,
        provider: Option<Arc<str>>,
        context: &RoomContext,
    ) -> Self {
        let is_somebody = !message.sender_id.as_str().trim().is_empty();
        let source = EventSource {
            channel_id: message.channel_id,
            channel_type,
            direction: ChannelDirection::Inbound,
            participant_id: is_somebody.then_some(message.sender_id),
            external_id: message.external_id,
            provider,
            raw_payload: message.raw_payload,
            provider_message_id: message.provider_message_id,
        };
        let room = context.room_id().clone();
        let mut event = RoomEvent::new(room, source, message.content, context.now());
        event.event_type = message.event_type;
        event.parent_event_id = message.parent_event_id;
        event.correlation_id = message.correlation_id;
        event.idempotency_key = message.idempotency_key;
        event.metadata = message.metadata;
        if message.is_bot {
            event.metadata.insert("is_bot", true);
        }
        event.chain_depth = message.chain_depth;
        event.visibility = message.visibility;
        event.addressed_to = message.addressed_to;
        event.response_visibility = message.response_visibility;
        if message.thread_id.is_some() {
            let fields = ChannelDataFields {
                thread_id: message.thread_id,
                ..Default::default()
            };
            event.channel_data = ChannelData::new(fields);
        }
        Self::new(event)
    }

    pub(crate) fn from_shared(event: Arc<RoomEvent>) -> Self {
        Self(event)
    }

    /// The event as it stands, shared with this draft until the draft is changed.
    pub(crate) fn share(&self) -> Arc<RoomEvent> {
        Arc::clone(&self.0)
    }

    /// Whether this is a draft of the same event: all that may not be changed is the same.
    pub(crate) fn is_draft_of(&self, event: &RoomEvent) -> bool {
        self.id == event.id
            && self.room_id == event.room_id
            && self.index == event.index
            && self.chain_depth == event.chain_depth
            && self.created_at == event.created_at
            && self.source == event.source
    }

    /// Changes any field; for the pipeline alone.
    pub(crate) fn edit(&mut self) -> &mut RoomEvent {
        Arc::make_mut(&mut self.0)
    }

    /// Replaces the content. It is validated when the hook returns the draft.
    pub fn set_content(&mut self, content: impl Into<EventContent>) {
        self.edit().content = content.into();
    }

    /// Replaces the content by plain text; the language of a text is kept.
    pub fn set_text(&mut self, body: impl Into<String>) {
        let language = match &self.0.content {
            EventContent::Text(text) => text.language.clone(),
            _ => None,
        };
        self.set_content(TextContent {
            body: body.into(),
            language,
        });
    }

    /// Replaces each text that people read for which `change` returns another, wherever the content
    /// has it: also captions, parts and the new content of an edit
    /// ([`EventContent::texts`]). Returns whether anything was replaced.
    pub fn map_texts(&mut self, change: impl FnMut(&str) -> Option<String>) -> bool {
        let replacements: Vec<_> = self.content.texts().into_iter().map(change).collect();
        if replacements.iter().all(Option::is_none) {
            return false;
        }
        let mut replacements = replacements.into_iter();
        self.edit()
            .content
            .map_texts(|_| replacements.next().flatten())
    }

    /// Sets who may see the event.
    pub fn set_visibility(&mut self, visibility: impl Into<Visibility>) {
        self.edit().visibility = visibility.into();
    }

    /// Sets which agents are asked to act; `None` leaves that to the room's policy (RFC §19.3).
    pub fn set_addressed_to(&mut self, channels: Option<Vec<ChannelId>>) {
        self.edit().addressed_to = channels;
    }

    /// Sets where the answers to this event may go.
    pub fn set_response_visibility(&mut self, visibility: Option<Visibility>) {
        self.edit().response_visibility = visibility;
    }

    /// Sets one entry of the metadata.
    pub fn insert_metadata(&mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) {
        self.edit().metadata.insert(key, value);
    }

    /// Replaces the metadata.
    pub fn set_metadata(&mut self, metadata: Metadata) {
        self.edit().metadata = metadata;
    }
}

impl Deref for EventDraft {
    type Target = RoomEvent;

    fn deref(&self) -> &RoomEvent {
        &self.0
    }
}
