//! What an event says.

mod build;
mod composite;
mod edit;
mod location;
mod media;
mod nesting;
pub(in crate::model) mod parse;
mod rich;
mod system;
mod template;
mod text;
mod tool_call;
mod words;

use serde::Serialize;

pub use self::composite::CompositeContent;
pub use self::edit::{DeleteContent, EditContent};
pub use self::location::LocationContent;
pub use self::media::{AudioContent, MediaContent, VideoContent};
pub use self::nesting::MAX_COMPOSITE_DEPTH;
pub use self::rich::RichContent;
pub use self::system::SystemContent;
pub use self::template::TemplateContent;
pub use self::text::TextContent;
pub use self::tool_call::ToolCallContent;

use self::nesting::Nesting;
use super::enums::ChannelMediaType;
use super::event_type::EventType;
use super::validate::ValidationError;

/// The content of an event: exactly one kind (RFC §5.3).
///
/// In JSON it is an object whose `type` names the kind.
///
/// ```
/// use roomkit_core::model::EventContent;
///
/// let place: EventContent =
///     serde_json::from_str(r#"{"type": "location", "latitude": 45.5, "longitude": -73.6}"#)?;
/// assert_eq!(place, EventContent::location(45.5, -73.6));
///
/// let parts = [EventContent::text("Here:"), EventContent::location(91.0, 0.0)];
/// let error = EventContent::composite(parts).validate().unwrap_err();
/// assert_eq!(error.to_string(), "parts[1].latitude: must be between -90 and 90");
/// # Ok::<_, serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventContent {
    /// Plain text (`text`).
    Text(TextContent),
    /// Formatted text with interactive elements (`rich`).
    Rich(RichContent),
    /// A file (`media`).
    Media(MediaContent),
    /// Audio (`audio`).
    Audio(AudioContent),
    /// Video (`video`).
    Video(VideoContent),
    /// A place (`location`).
    Location(LocationContent),
    /// Several parts (`composite`).
    Composite(CompositeContent),
    /// A notice made by a program (`system`).
    System(SystemContent),
    /// An approved template (`template`).
    Template(TemplateContent),
    /// A new version of an earlier message (`edit`).
    Edit(EditContent),
    /// The deletion of an earlier message (`delete`).
    Delete(DeleteContent),
    /// A tool call (`tool_call`).
    ToolCall(ToolCallContent),
}

impl EventContent {
    /// The word for the kind, as in the field `type`.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Rich(_) => "rich",
            Self::Media(_) => "media",
            Self::Audio(_) => "audio",
            Self::Video(_) => "video",
            Self::Location(_) => "location",
            Self::Composite(_) => "composite",
            Self::System(_) => "system",
            Self::Template(_) => "template",
            Self::Edit(_) => "edit",
            Self::Delete(_) => "delete",
            Self::ToolCall(_) => "tool_call",
        }
    }

    /// The body of plain text; nothing for any other kind. [`texts`](Self::texts) finds all text,
    /// also that of an edit.
    pub fn text_body(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.body),
            _ => None,
        }
    }

    /// What a channel must be able to carry to show it as it is.
    ///
    /// Nothing for composites, which go by their parts, and for notices, edits, deletions and tool
    /// calls, which every channel treats in its own way.
    pub const fn media_type(&self) -> Option<ChannelMediaType> {
        match self {
            Self::Text(_) => Some(ChannelMediaType::Text),
            Self::Rich(_) => Some(ChannelMediaType::Rich),
            Self::Media(_) => Some(ChannelMediaType::Media),
            Self::Audio(_) => Some(ChannelMediaType::Audio),
            Self::Video(_) => Some(ChannelMediaType::Video),
            Self::Location(_) => Some(ChannelMediaType::Location),
            Self::Template(_) => Some(ChannelMediaType::Template),
            Self::Composite(_)
            | Self::System(_)
            | Self::Edit(_)
            | Self::Delete(_)
            | Self::ToolCall(_) => None,
        }
    }

    /// The type of an event with this content that states no other: edit, delete, else message.
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::Edit(_) => EventType::Edit,
            Self::Delete(_) => EventType::Delete,
            _ => EventType::Message,
        }
    }

    /// Checks the rules of the kind, and of all that lies inside.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] for the first field that breaks a rule, by its path, such as
    /// `parts[1].url` or `new_content.latitude`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        self.check(Nesting::default())
    }

    fn check(&self, nesting: Nesting) -> Result<(), ValidationError> {
        match self {
            Self::Media(media) => media.validate(),
            Self::Audio(audio) => audio.validate(),
            Self::Video(video) => video.validate(),
            Self::Location(location) => location.validate(),
            Self::Composite(composite) => composite.check(nesting),
            Self::Edit(edit) => edit.check(nesting),
            Self::Delete(_) => nesting.delete(),
            Self::Text(_)
            | Self::Rich(_)
            | Self::System(_)
            | Self::Template(_)
            | Self::ToolCall(_) => Ok(()),
        }
    }
}
