//! What a channel can carry.

use serde::Serialize;

use super::enums::{ChannelMediaType, DeliveryMode, LengthUnit, Overflow};
use super::fields::{Fields, FromFields, deserialize_from_fields};
use super::metadata::Metadata;
use super::validate::ValidationError;

/// What a channel can carry and show (RFC §5.8).
///
/// The default carries plain text of any length and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChannelCapabilities {
    /// The kinds of content that reach the channel as they are. Default: text.
    pub media_types: Vec<ChannelMediaType>,
    /// How long a text may be, in [`max_length_unit`](Self::max_length_unit); greater than 0.
    /// Default: no limit.
    pub max_length: Option<usize>,
    /// Whether messages can belong to a thread.
    pub supports_threading: bool,
    /// Whether messages can have reactions.
    pub supports_reactions: bool,
    /// Whether a message can be edited after it was sent.
    pub supports_edit: bool,
    /// Whether a message can be deleted after it was sent.
    pub supports_delete: bool,
    /// Whether it tells when a message was read.
    pub supports_read_receipts: bool,
    /// Whether it shows that someone is typing.
    pub supports_typing: bool,
    /// Whether it sends approved templates.
    pub supports_templates: bool,
    /// Whether it shows formatted text.
    pub supports_rich_text: bool,
    /// Whether it shows buttons.
    pub supports_buttons: bool,
    /// How many buttons a message may have; greater than 0. Default: no limit.
    pub max_buttons: Option<u32>,
    /// Whether it shows cards.
    pub supports_cards: bool,
    /// Whether it suggests answers.
    pub supports_quick_replies: bool,
    /// Whether it carries files.
    pub supports_media: bool,
    /// The MIME types of files it carries; empty for any.
    pub supported_media_types: Vec<String>,
    /// How large a file may be, in bytes; greater than 0. Default: no limit.
    pub max_media_size_bytes: Option<u64>,
    /// Whether it carries audio.
    pub supports_audio: bool,
    /// How long audio may be, in seconds; greater than 0. Default: no limit.
    pub max_audio_duration_seconds: Option<u64>,
    /// The MIME types of audio it carries; empty for any.
    pub supported_audio_formats: Vec<String>,
    /// Whether it carries video.
    pub supports_video: bool,
    /// How long video may be, in seconds; greater than 0. Default: no limit.
    pub max_video_duration_seconds: Option<u64>,
    /// The MIME types of video it carries; empty for any.
    pub supported_video_formats: Vec<String>,
    /// Which of its recipients get a message. Default: all.
    pub delivery_mode: DeliveryMode,
    /// What else the channel can do, in its own words.
    pub custom: Metadata,
    /// What `max_length` counts. Default: characters.
    #[serde(skip_serializing_if = "is_default")]
    pub max_length_unit: LengthUnit,
    /// What becomes of a text that is too long. Default: it is cut.
    #[serde(skip_serializing_if = "is_default")]
    pub overflow: Overflow,
}

impl ChannelCapabilities {
    /// Whether this kind of content reaches the channel as it is.
    pub fn supports(&self, media_type: ChannelMediaType) -> bool {
        self.media_types.contains(&media_type)
    }

    /// The same with these kinds of content in place of its own.
    #[must_use]
    pub fn with_media_types(
        mut self,
        media_types: impl IntoIterator<Item = ChannelMediaType>,
    ) -> Self {
        self.media_types = media_types.into_iter().collect();
        self
    }

    /// The same with a limit to the length of text, in its unit.
    #[must_use]
    pub fn with_max_length(mut self, max_length: usize) -> Self {
        self.max_length = Some(max_length);
        self
    }

    /// The same with messages that can be edited.
    #[must_use]
    pub fn with_edit(mut self) -> Self {
        self.supports_edit = true;
        self
    }

    /// The same with messages that can be deleted.
    #[must_use]
    pub fn with_delete(mut self) -> Self {
        self.supports_delete = true;
        self
    }

    /// Checks the limits.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when a limit is 0.
    pub fn validate(&self) -> Result<(), ValidationError> {
        let zero = [
            ("max_length", self.max_length == Some(0)),
            ("max_buttons", self.max_buttons == Some(0)),
            ("max_media_size_bytes", self.max_media_size_bytes == Some(0)),
            (
                "max_audio_duration_seconds",
                self.max_audio_duration_seconds == Some(0),
            ),
            (
                "max_video_duration_seconds",
                self.max_video_duration_seconds == Some(0),
            ),
        ];
        match zero.into_iter().find(|(_, is_zero)| *is_zero) {
            Some((field, _)) => Err(ValidationError::new(field, "must be greater than 0")),
            None => Ok(()),
        }
    }
}

impl Default for ChannelCapabilities {
    fn default() -> Self {
        Self {
            media_types: vec![ChannelMediaType::Text],
            max_length: None,
            supports_threading: false,
            supports_reactions: false,
            supports_edit: false,
            supports_delete: false,
            supports_read_receipts: false,
            supports_typing: false,
            supports_templates: false,
            supports_rich_text: false,
            supports_buttons: false,
            max_buttons: None,
            supports_cards: false,
            supports_quick_replies: false,
            supports_media: false,
            supported_media_types: Vec::new(),
            max_media_size_bytes: None,
            supports_audio: false,
            max_audio_duration_seconds: None,
            supported_audio_formats: Vec::new(),
            supports_video: false,
            max_video_duration_seconds: None,
            supported_video_formats: Vec::new(),
            delivery_mode: DeliveryMode::default(),
            custom: Metadata::new(),
            max_length_unit: LengthUnit::default(),
            overflow: Overflow::default(),
        }
    }
}

impl FromFields for ChannelCapabilities {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let capabilities = Self {
            media_types: fields.or("media_types", vec![ChannelMediaType::Text])?,
            max_length: fields.optional("max_length")?,
            supports_threading: fields.or_default("supports_threading")?,
            supports_reactions: fields.or_default("supports_reactions")?,
            supports_edit: fields.or_default("supports_edit")?,
            supports_delete: fields.or_default("supports_delete")?,
            supports_read_receipts: fields.or_default("supports_read_receipts")?,
            supports_typing: fields.or_default("supports_typing")?,
            supports_templates: fields.or_default("supports_templates")?,
            supports_rich_text: fields.or_default("supports_rich_text")?,
            supports_buttons: fields.or_default("supports_buttons")?,
            max_buttons: fields.optional("max_buttons")?,
            supports_cards: fields.or_default("supports_cards")?,
            supports_quick_replies: fields.or_default("supports_quick_replies")?,
            supports_media: fields.or_default("supports_media")?,
            supported_media_types: fields.or_default("supported_media_types")?,
            max_media_size_bytes: fields.optional("max_media_size_bytes")?,
            supports_audio: fields.or_default("supports_audio")?,
            max_audio_duration_seconds: fields.optional("max_audio_duration_seconds")?,
            supported_audio_formats: fields.or_default("supported_audio_formats")?,
            supports_video: fields.or_default("supports_video")?,
            max_video_duration_seconds: fields.optional("max_video_duration_seconds")?,
            supported_video_formats: fields.or_default("supported_video_formats")?,
            delivery_mode: fields.or_default("delivery_mode")?,
            custom: fields.or_default("custom")?,
            max_length_unit: fields.or_default("max_length_unit")?,
            overflow: fields.or_default("overflow")?,
        };
        capabilities.validate()?;
        Ok(capabilities)
    }
}

deserialize_from_fields!(ChannelCapabilities);

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
