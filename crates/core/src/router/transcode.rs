//! Content in the form that a channel can show (RFC §6.6): transcoding, then the limit of length.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use super::{limit, plain_text};
use crate::error::Result;
use crate::model::{
    AudioContent, ChannelBinding, ChannelCapabilities, ChannelMediaType, CompositeContent,
    EventContent, LocationContent, MediaContent, Overflow, RichContent, RichFormat, RoomEvent,
    TextContent,
};

/// Turns content into what a channel can show.
#[async_trait]
pub trait ContentTranscoder: Send + Sync + fmt::Debug + 'static {
    /// The content for `target`; `None` skips this delivery.
    ///
    /// # Errors
    /// A failure fails this delivery.
    async fn transcode(
        &self,
        content: &EventContent,
        source: Option<&ChannelBinding>,
        target: &ChannelBinding,
    ) -> Result<Option<EventContent>>;

    /// Whether `content` passes to `target` unchanged, so that [`transcode`](Self::transcode) need
    /// not be asked. Default: never.
    fn passes(&self, _content: &EventContent, _target: &ChannelCapabilities) -> bool {
        false
    }
}

/// The fallbacks of the specification: what a channel cannot show becomes text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DefaultContentTranscoder;

#[async_trait]
impl ContentTranscoder for DefaultContentTranscoder {
    async fn transcode(
        &self,
        content: &EventContent,
        _source: Option<&ChannelBinding>,
        target: &ChannelBinding,
    ) -> Result<Option<EventContent>> {
        Ok(fallback(content, &target.capabilities))
    }

    fn passes(&self, content: &EventContent, target: &ChannelCapabilities) -> bool {
        match content {
            EventContent::Text(_) | EventContent::System(_) | EventContent::ToolCall(_) => true,
            EventContent::Composite(_) => false,
            EventContent::Edit(_) => target.supports_edit,
            EventContent::Delete(_) => target.supports_delete,
            other => other
                .media_type()
                .is_some_and(|media| target.supports(media)),
        }
    }
}

/// The event as `target` gets it; `None` where the transcoder skips it.
pub(crate) async fn adapt(
    transcoder: &dyn ContentTranscoder,
    event: &Arc<RoomEvent>,
    source: Option<&ChannelBinding>,
    target: &ChannelBinding,
) -> Result<Option<Arc<RoomEvent>>> {
    let changed = if transcoder.passes(&event.content, &target.capabilities) {
        None
    } else {
        match transcoder.transcode(&event.content, source, target).await? {
            None => return Ok(None),
            Some(content) => (content != event.content).then_some(content),
        }
    };
    let shortened = shorten(
        changed.as_ref().unwrap_or(&event.content),
        &target.capabilities,
    );
    let Some(content) = shortened.or(changed) else {
        return Ok(Some(Arc::clone(event)));
    };
    let mut adapted = RoomEvent::clone(event);
    adapted.content = content;
    Ok(Some(Arc::new(adapted)))
}

/// The text within the channel's limit; `None` where it is within it already, or the channel splits.
fn shorten(content: &EventContent, target: &ChannelCapabilities) -> Option<EventContent> {
    let EventContent::Text(text) = content else {
        return None;
    };
    let max = target.max_length?;
    if target.overflow == Overflow::Split {
        return None;
    }
    match limit::truncate(&text.body, max, target.max_length_unit) {
        Cow::Borrowed(body) if body.len() == text.body.len() => None,
        body => Some(
            TextContent {
                body: body.into_owned(),
                language: text.language.clone(),
            }
            .into(),
        ),
    }
}

fn fallback(content: &EventContent, target: &ChannelCapabilities) -> Option<EventContent> {
    let shows = |media: ChannelMediaType| target.supports(media);
    let body = match content {
        EventContent::Rich(rich) if !shows(ChannelMediaType::Rich) => rich_text(rich),
        EventContent::Media(media) if !shows(ChannelMediaType::Media) => media_text(media),
        EventContent::Audio(audio) if !shows(ChannelMediaType::Audio) => audio_text(audio),
        EventContent::Video(video) if !shows(ChannelMediaType::Video) => {
            format!("[Video: {}]", video.url)
        }
        EventContent::Location(location) if !shows(ChannelMediaType::Location) => {
            location_text(location)
        }
        EventContent::Template(template) if !shows(ChannelMediaType::Template) => template
            .body
            .clone()
            .unwrap_or_else(|| format!("[Template: {}]", template.template_id)),
        EventContent::Composite(composite) => return parts(composite, target),
        EventContent::Edit(edit) if !target.supports_edit => {
            format!("Correction: {}", in_words(&edit.new_content))
        }
        EventContent::Delete(_) if !target.supports_delete => "[Message deleted]".to_owned(),
        other => return Some(other.clone()),
    };
    Some(EventContent::text(body))
}

/// Each part in the form that the channel can show; one text where all of them are.
fn parts(composite: &CompositeContent, target: &ChannelCapabilities) -> Option<EventContent> {
    let parts: Vec<EventContent> = composite
        .parts
        .iter()
        .filter_map(|part| fallback(part, target))
        .collect();
    let texts: Option<Vec<&str>> = parts.iter().map(EventContent::text_body).collect();
    match texts {
        Some(texts) if texts.is_empty() => None,
        Some(texts) => Some(EventContent::text(texts.join("\n"))),
        None => Some(CompositeContent { parts }.into()),
    }
}

/// What content says where nothing but text can be shown.
///
/// ```
/// use roomkit_core::model::RichContent;
/// use roomkit_core::router::in_words;
///
/// assert_eq!(in_words(&RichContent::new("**Hello**").into()), "Hello");
/// ```
#[must_use]
pub fn in_words(content: &EventContent) -> String {
    if let EventContent::Composite(composite) = content {
        let parts: Vec<String> = composite.parts.iter().map(in_words).collect();
        return parts.join("\n");
    }
    match fallback(content, &ChannelCapabilities::default()) {
        Some(EventContent::Text(text)) => text.body,
        Some(EventContent::System(system)) => system.body,
        Some(EventContent::ToolCall(call)) => format!("[Tool: {}]", call.tool_name),
        _ => String::new(),
    }
}

fn rich_text(rich: &RichContent) -> String {
    match (&rich.plain_text, rich.format) {
        (Some(plain), _) if !plain.is_empty() => plain.clone(),
        (_, RichFormat::Html) => plain_text::from_html(&rich.body),
        (_, _) => plain_text::from_markdown(&rich.body),
    }
}

fn media_text(media: &MediaContent) -> String {
    let name = media
        .caption
        .as_deref()
        .filter(|caption| !caption.is_empty());
    let name = name.or(media
        .filename
        .as_deref()
        .filter(|filename| !filename.is_empty()));
    format!("[Media: {}]", name.unwrap_or(&media.url))
}

fn audio_text(audio: &AudioContent) -> String {
    match audio.transcript.as_deref() {
        Some(transcript) if !transcript.is_empty() => transcript.to_owned(),
        _ => format!("[Voice message: {}]", audio.url),
    }
}

fn location_text(location: &LocationContent) -> String {
    let label = location.label.as_deref().filter(|label| !label.is_empty());
    let label = label.or(location
        .address
        .as_deref()
        .filter(|address| !address.is_empty()));
    let place = format!(
        "({}, {})",
        coordinate(location.latitude),
        coordinate(location.longitude)
    );
    match label {
        Some(label) => format!("[Location: {label} {place}]"),
        None => format!("[Location: {place}]"),
    }
}

/// A coordinate in decimal notation, always with a decimal point.
fn coordinate(degrees: f64) -> String {
    let digits = degrees.to_string();
    if digits.contains('.') {
        digits
    } else {
        format!("{digits}.0")
    }
}
