//! Files, audio and video, each by its address.

use serde::Serialize;

use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::validate::{self, ValidationError};

/// An image, a document or another file (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MediaContent {
    /// Where the file is: an `http:`, `https:` or `data:` address.
    pub url: String,
    /// Its MIME type, such as `image/jpeg`.
    pub mime_type: String,
    /// Its original name.
    pub filename: Option<String>,
    /// Its size in bytes.
    pub size_bytes: Option<u64>,
    /// The text that goes with it.
    pub caption: Option<String>,
}

impl MediaContent {
    /// Makes a file of nothing but its address and type.
    pub fn new(url: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            mime_type: mime_type.into(),
            filename: None,
            size_bytes: None,
            caption: None,
        }
    }

    /// Checks the address.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `url` has another scheme than `http`, `https` or `data`.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::url("url", &self.url)
    }
}

impl FromFields for MediaContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let media = Self {
            url: fields.required("url")?,
            mime_type: fields.required("mime_type")?,
            filename: fields.optional("filename")?,
            size_bytes: fields.optional("size_bytes")?,
            caption: fields.optional("caption")?,
        };
        media.validate()?;
        Ok(media)
    }
}

/// A piece of audio, such as a voice note (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AudioContent {
    /// Where the audio is: an `http:`, `https:` or `data:` address.
    pub url: String,
    /// Its MIME type. Default: `audio/ogg`.
    pub mime_type: String,
    /// How long it is, in seconds; not negative.
    pub duration_seconds: Option<f64>,
    /// What is said in it.
    pub transcript: Option<String>,
}

impl AudioContent {
    /// The MIME type of audio that states none.
    pub const DEFAULT_MIME_TYPE: &str = "audio/ogg";

    /// Makes audio of the default type and unknown length.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            mime_type: Self::DEFAULT_MIME_TYPE.to_owned(),
            duration_seconds: None,
            transcript: None,
        }
    }

    /// Checks the address and the length.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `url` has another scheme than `http`, `https` or `data`, or when
    /// `duration_seconds` is negative or not finite.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::url("url", &self.url)?;
        validate::duration("duration_seconds", self.duration_seconds)
    }
}

impl FromFields for AudioContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let audio = Self {
            url: fields.required("url")?,
            mime_type: fields.or("mime_type", Self::DEFAULT_MIME_TYPE.to_owned())?,
            duration_seconds: fields.optional("duration_seconds")?,
            transcript: fields.optional("transcript")?,
        };
        audio.validate()?;
        Ok(audio)
    }
}

/// A piece of video (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VideoContent {
    /// Where the video is: an `http:`, `https:` or `data:` address.
    pub url: String,
    /// Its MIME type. Default: `video/mp4`.
    pub mime_type: String,
    /// How long it is, in seconds; not negative.
    pub duration_seconds: Option<f64>,
    /// Where a still image of it is, with the same schemes as `url`.
    pub thumbnail_url: Option<String>,
}

impl VideoContent {
    /// The MIME type of video that states none.
    pub const DEFAULT_MIME_TYPE: &str = "video/mp4";

    /// Makes video of the default type and unknown length.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            mime_type: Self::DEFAULT_MIME_TYPE.to_owned(),
            duration_seconds: None,
            thumbnail_url: None,
        }
    }

    /// Checks the addresses and the length.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `url` or `thumbnail_url` has another scheme than `http`, `https` or
    /// `data`, or when `duration_seconds` is negative or not finite.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::url("url", &self.url)?;
        validate::duration("duration_seconds", self.duration_seconds)?;
        match &self.thumbnail_url {
            Some(url) => validate::url("thumbnail_url", url),
            None => Ok(()),
        }
    }
}

impl FromFields for VideoContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let video = Self {
            url: fields.required("url")?,
            mime_type: fields.or("mime_type", Self::DEFAULT_MIME_TYPE.to_owned())?,
            duration_seconds: fields.optional("duration_seconds")?,
            thumbnail_url: fields.optional("thumbnail_url")?,
        };
        video.validate()?;
        Ok(video)
    }
}

deserialize_from_fields!(MediaContent, AudioContent, VideoContent);
