//! What kind of channel a channel is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::from_text::from_text;
use super::string_enum::open_string_enum;
use super::validate::UnknownValue;

const KIND: &str = "channel type";
const CUSTOM_PREFIX: &str = "custom:";

open_string_enum! {
    /// The kind of a channel (RFC §6.2).
    pub enum ChannelType {
        /// Text messages.
        Sms = "sms",
        /// Text messages with media.
        Mms = "mms",
        /// Rich Communication Services.
        Rcs = "rcs",
        /// Electronic mail.
        Email = "email",
        /// WhatsApp Business.
        Whatsapp = "whatsapp",
        /// WhatsApp as one person's device.
        WhatsappPersonal = "whatsapp_personal",
        /// A WebSocket connection.
        Websocket = "websocket",
        /// An AI agent.
        Ai = "ai",
        /// Speech by recognition and synthesis.
        Voice = "voice",
        /// Speech to speech with a model.
        RealtimeVoice = "realtime_voice",
        /// Speech to speech with a model, and video.
        RealtimeAudioVideo = "realtime_audio_video",
        /// Push notifications.
        Push = "push",
        /// Facebook Messenger.
        Messenger = "messenger",
        /// Telegram.
        Telegram = "telegram",
        /// Microsoft Teams.
        Teams = "teams",
        /// Discord.
        Discord = "discord",
        /// Buzz, over Nostr relays.
        Buzz = "buzz",
        /// A plain HTTP webhook.
        Webhook = "webhook",
        /// Video alone.
        Video = "video",
        /// Speech by recognition and synthesis, and video.
        AudioVideo = "audio_video",
        /// A conference of several people.
        Conference = "conference",
        /// A terminal.
        Cli = "cli",
        /// The framework itself.
        System = "system",
        ..
        /// Any other kind, by its namespace: `slack` is written `custom:slack`.
        ///
        /// A namespace is one or more of `a-z`, `0-9`, `_` and `-`; [`ChannelType::custom`] checks it.
        Custom,
    }
}

impl ChannelType {
    /// Makes a custom type of a namespace.
    ///
    /// # Errors
    ///
    /// [`UnknownValue`] when the namespace is empty or has other characters than `a-z`, `0-9`, `_`
    /// and `-`.
    pub fn custom(namespace: &str) -> Result<Self, UnknownValue> {
        let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        if !namespace.is_empty() && namespace.bytes().all(allowed) {
            Ok(Self::Custom(namespace.into()))
        } else {
            Err(UnknownValue {
                kind: KIND,
                value: format!("{CUSTOM_PREFIX}{namespace}"),
            })
        }
    }
}

impl fmt::Display for ChannelType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word() {
            Ok(word) => formatter.write_str(word),
            Err(namespace) => write!(formatter, "{CUSTOM_PREFIX}{namespace}"),
        }
    }
}

impl FromStr for ChannelType {
    type Err = UnknownValue;

    fn from_str(text: &str) -> Result<Self, UnknownValue> {
        match (Self::from_word(text), text.strip_prefix(CUSTOM_PREFIX)) {
            (Some(known), _) => Ok(known),
            (None, Some(namespace)) => Self::custom(namespace),
            (None, None) => Err(UnknownValue {
                kind: KIND,
                value: text.to_owned(),
            }),
        }
    }
}

impl Serialize for ChannelType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.word() {
            Ok(word) => serializer.serialize_str(word),
            Err(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for ChannelType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, KIND, str::parse)
    }
}
