//! Short ways to make content.

use super::{
    AudioContent, CompositeContent, DeleteContent, EditContent, EventContent, LocationContent,
    MediaContent, RichContent, SystemContent, TemplateContent, TextContent, ToolCallContent,
    VideoContent,
};
use crate::model::ids::EventId;

impl EventContent {
    /// Makes plain text.
    pub fn text(body: impl Into<String>) -> Self {
        TextContent::new(body).into()
    }

    /// Makes Markdown text.
    pub fn rich(body: impl Into<String>) -> Self {
        RichContent::new(body).into()
    }

    /// Makes a file.
    pub fn media(url: impl Into<String>, mime_type: impl Into<String>) -> Self {
        MediaContent::new(url, mime_type).into()
    }

    /// Makes audio of the type `audio/ogg`.
    pub fn audio(url: impl Into<String>) -> Self {
        AudioContent::new(url).into()
    }

    /// Makes video of the type `video/mp4`.
    pub fn video(url: impl Into<String>) -> Self {
        VideoContent::new(url).into()
    }

    /// Makes a place of degrees north and east.
    pub fn location(latitude: f64, longitude: f64) -> Self {
        LocationContent::new(latitude, longitude).into()
    }

    /// Makes a message of several parts.
    pub fn composite(parts: impl IntoIterator<Item = Self>) -> Self {
        CompositeContent::new(parts).into()
    }

    /// Makes a notice.
    pub fn system(code: impl Into<String>, body: impl Into<String>) -> Self {
        SystemContent::new(code, body).into()
    }

    /// Makes a message of a template without variables.
    pub fn template(template_id: impl Into<String>) -> Self {
        TemplateContent::new(template_id).into()
    }

    /// Makes a new version of a message.
    pub fn edit(target: impl Into<EventId>, new_content: impl Into<Self>) -> Self {
        EditContent::new(target, new_content).into()
    }

    /// Makes the deletion of a message by its author.
    pub fn delete(target: impl Into<EventId>) -> Self {
        DeleteContent::new(target).into()
    }

    /// Makes a tool call that has just begun.
    pub fn tool_call(tool_name: impl Into<String>, tool_id: impl Into<String>) -> Self {
        ToolCallContent::new(tool_name, tool_id).into()
    }
}

macro_rules! from_content {
    ($( $variant:ident($content:ty) ),+ $(,)?) => {$(
        impl From<$content> for EventContent {
            fn from(content: $content) -> Self {
                Self::$variant(content)
            }
        }
    )+};
}

from_content! {
    Text(TextContent),
    Rich(RichContent),
    Media(MediaContent),
    Audio(AudioContent),
    Video(VideoContent),
    Location(LocationContent),
    Composite(CompositeContent),
    System(SystemContent),
    Template(TemplateContent),
    Edit(EditContent),
    Delete(DeleteContent),
    ToolCall(ToolCallContent),
}

/// Plain text.
impl From<&str> for EventContent {
    fn from(body: &str) -> Self {
        Self::text(body)
    }
}

/// Plain text.
impl From<String> for EventContent {
    fn from(body: String) -> Self {
        Self::text(body)
    }
}
