//! Events as messages: who says them to the model, and in which parts.

use std::sync::Arc;

use roomkit_core::model::{ChannelId, EventContent, EventType, Metadata, RoomEvent};

use crate::{AiMessage, Part, Parts, Role, SharedText};

/// An event of the past as a message; nothing where it says nothing to a model.
pub(super) fn message_of(
    event: &Arc<RoomEvent>,
    agent: &ChannelId,
    sees: bool,
) -> Option<AiMessage> {
    let is_said = matches!(event.event_type, EventType::Message | EventType::System);
    if !is_said || event.is_blocked() || event.is_deleted() || event.is_redacted() {
        return None;
    }
    // Edits and deletions are not of the types above: their target shows what became of it.
    let parts = parts_of(event, sees);
    let is_own = event.source.channel_id == *agent;
    let role = if is_own { Role::Assistant } else { Role::User };
    (!parts.is_empty()).then(|| AiMessage {
        role,
        parts,
        metadata: Metadata::new(),
    })
}

/// What an event says in parts: pictures where the model sees, and words for the rest.
pub(super) fn parts_of(event: &Arc<RoomEvent>, sees: bool) -> Parts {
    // Nearly all is plain text, and stays where it is.
    if let Some(text) = SharedText::of_event(event) {
        if text.chars().all(char::is_whitespace) {
            return Parts::new();
        }
        return Part::Text { text }.into();
    }
    let mut parts = Parts::new();
    add(&event.content, sees, &mut parts);
    parts
}

fn add(content: &EventContent, sees: bool, parts: &mut Parts) {
    let mut say = |text: &str| {
        if !text.trim().is_empty() {
            parts.push(Part::text(text));
        }
    };
    match content {
        EventContent::Text(text) => say(&text.body),
        EventContent::Rich(rich) => say(rich.plain_text.as_deref().unwrap_or(&rich.body)),
        EventContent::Media(media) => {
            let is_picture = media.mime_type.starts_with("image/");
            match &media.caption {
                Some(caption) => say(caption),
                None if sees && is_picture => {}
                None => say(&match &media.filename {
                    Some(name) => format!("[File: {name}]"),
                    None => format!("[File: {}]", media.mime_type),
                }),
            }
            if sees && is_picture {
                parts.push(Part::Image {
                    url: media.url.clone(),
                    mime_type: Some(media.mime_type.clone()),
                });
            }
        }
        EventContent::Audio(audio) => {
            say(audio.transcript.as_deref().unwrap_or("[Voice message]"));
        }
        EventContent::Video(_) => say("[Video]"),
        EventContent::Location(place) => {
            let (latitude, longitude) = (place.latitude, place.longitude);
            match &place.label {
                Some(label) => say(&format!(
                    "[Location: {label} ({latitude:?}, {longitude:?})]"
                )),
                None => say(&format!("[Location: ({latitude:?}, {longitude:?})]")),
            }
        }
        EventContent::Template(template) => say(template.body.as_deref().unwrap_or_default()),
        EventContent::Composite(composite) => {
            for part in &composite.parts {
                add(part, sees, parts);
            }
        }
        EventContent::Edit(edit) => add(&edit.new_content, sees, parts),
        // Notices of programs, deletions and tool calls are no part of a conversation.
        _ => {}
    }
}
