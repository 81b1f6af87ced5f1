//! What is taken out of providers' payloads and of protocol traces before anybody keeps or sees them
//! (RFC §17.3): values under names that stand for secrets.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::draft::EventDraft;
use crate::model::{ChannelId, Metadata, ProtocolTrace, TracePayload};
use crate::telemetry::REDACTED;

/// Names of which any part is one of these are redacted by default, in whatever case and without
/// regard to `-`, `_` and spaces.
const NAMES: [&str; 13] = [
    "authorization",
    "authenticate",
    "cookie",
    "credential",
    "password",
    "passwd",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "signature",
    "icepwd",
];

/// How deep a value may be nested; what lies deeper is redacted whole.
const DEEPEST: usize = 64;

/// How many bytes at least follow the word `Bearer` where they are a secret.
const SHORTEST_BEARER: usize = 16;

/// Which values are redacted: those under certain names, in JSON, in headers, and in what follows the
/// question mark of an address of the web.
///
/// ```
/// use roomkit_core::redaction::Redaction;
///
/// let redaction = Redaction::default().name("from");
/// assert_eq!(
///     redaction.text("GET /feed?since=3&access_token=abc HTTP/1.1\r\nAuthorization: Bearer xyz\r\nFrom: +15550100\r\n"),
///     "GET /feed?since=3&access_token=[redacted] HTTP/1.1\r\nAuthorization: [redacted]\r\nFrom: [redacted]\r\n",
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redaction {
    names: Arc<Vec<String>>,
}

impl Default for Redaction {
    /// What authenticates: headers such as `Authorization` and `Cookie`, and whatever is called a
    /// token, a secret, a password, a key of an API, a signature or a credential.
    fn default() -> Self {
        Self {
            names: Arc::new(NAMES.map(str::to_owned).to_vec()),
        }
    }
}

impl Redaction {
    /// Redacts nothing.
    #[must_use]
    pub fn none() -> Self {
        Self {
            names: Arc::default(),
        }
    }

    /// Redacts values under this name too, and under every name of which it is a part. An empty name
    /// changes nothing.
    #[must_use]
    pub fn name(mut self, name: impl AsRef<str>) -> Self {
        let name = normal(name.as_ref());
        if !name.is_empty() && !self.names.contains(&name) {
            Arc::make_mut(&mut self.names).push(name);
        }
        self
    }

    fn is_secret(&self, name: &str) -> bool {
        if self.names.is_empty() {
            return false;
        }
        let name = normal(name);
        self.names
            .iter()
            .any(|secret| name.contains(secret.as_str()))
    }

    /// Metadata without secrets.
    #[must_use]
    pub fn metadata(&self, metadata: Metadata) -> Metadata {
        if self.names.is_empty() || metadata.is_empty() {
            return metadata;
        }
        self.map(metadata.into_map(), 0).into()
    }

    fn map(&self, map: Map<String, Value>, depth: usize) -> Map<String, Value> {
        // Headers are often a list of objects with a name and a value.
        let names_a_secret = ["name", "key", "header"]
            .iter()
            .any(|key| matches!(map.get(*key), Some(Value::String(name)) if self.is_secret(name)));
        map.into_iter()
            .map(|(key, value)| {
                let hidden = self.is_secret(&key) || (names_a_secret && key == "value");
                let value = if hidden {
                    REDACTED.into()
                } else {
                    self.value(value, depth + 1)
                };
                (key, value)
            })
            .collect()
    }

    fn value(&self, value: Value, depth: usize) -> Value {
        match value {
            Value::Object(_) | Value::Array(_) if depth > DEEPEST => REDACTED.into(),
            Value::Object(map) => self.map(map, depth).into(),
            Value::Array(values) => {
                if let [Value::String(name), Value::String(_)] = values.as_slice()
                    && self.is_secret(name)
                {
                    return Value::Array(vec![name.as_str().into(), REDACTED.into()]);
                }
                values
                    .into_iter()
                    .map(|value| self.value(value, depth + 1))
                    .collect()
            }
            Value::String(text) => self.inline(&text).into(),
            plain => plain,
        }
    }

    /// A text without secrets: JSON, or lines of which some are headers.
    #[must_use]
    pub fn text(&self, text: &str) -> String {
        if self.names.is_empty() {
            return text.to_owned();
        }
        if text.trim_start().starts_with(['{', '['])
            && let Ok(value) = serde_json::from_str::<Value>(text)
        {
            return self.value(value, 0).to_string();
        }
        let mut redacted = String::with_capacity(text.len());
        let mut continues_a_secret = false;
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            let end = line.get(content.len()..).unwrap_or_default();
            // The value of a header may go on in lines that begin with a space.
            if continues_a_secret && content.starts_with([' ', '\t']) {
                continue;
            }
            let hidden = content
                .split_once(':')
                .filter(|(name, _)| self.is_header_of_secret(name));
            continues_a_secret = hidden.is_some();
            match hidden {
                // In a description of a session, the colon is followed by no space.
                Some((name, value)) if !value.starts_with(' ') => {
                    redacted.extend([name, ":", REDACTED]);
                }
                Some((name, _)) => redacted.extend([name, ": ", REDACTED]),
                None => redacted.push_str(&self.inline(content)),
            }
            redacted.push_str(end);
        }
        redacted
    }

    /// A header, or a line of a session's description that holds keys of its media (RFC 4568).
    fn is_header_of_secret(&self, name: &str) -> bool {
        let word = name.strip_prefix("a=").unwrap_or(name);
        let is_name = !word.is_empty() && word.chars().all(is_of_name);
        (is_name && self.is_secret(word)) || name == "a=crypto" || name == "k="
    }

    /// A line without `name=value` of secrets, without `Bearer …`, and without the user and password
    /// of an address.
    fn inline(&self, line: &str) -> String {
        if self.names.is_empty() {
            return line.to_owned();
        }
        let mut shown = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(at) = rest.find(['=', ' ', '@']) {
            let (before, from) = rest.split_at(at);
            let after = from.get(1..).unwrap_or_default();
            let name_at = before
                .rfind(|c: char| !is_of_name(c))
                .map_or(0, |at| at + 1);
            // What is not ASCII is part of no name, and may be longer than a byte.
            let name = before.get(name_at..).unwrap_or_default();
            let hides = match from.as_bytes().first() {
                Some(b'=') => self.is_secret(name),
                // A word that somebody wrote is shorter.
                Some(b' ') => {
                    let end = after.find(is_end_of_value).unwrap_or(after.len());
                    name.eq_ignore_ascii_case("bearer") && end >= SHORTEST_BEARER
                }
                _ => false,
            };
            if from.starts_with('@') {
                let user = before.rfind("://").map(|at| at + 3);
                let user = user.filter(|at| {
                    before
                        .get(*at..)
                        .is_some_and(|user| !user.contains(['/', '?', '#']))
                });
                match user {
                    Some(user) => {
                        shown.push_str(before.get(..user).unwrap_or_default());
                        shown.push_str(REDACTED);
                    }
                    None => shown.push_str(before),
                }
                shown.push('@');
                rest = after;
                continue;
            }
            shown.push_str(before);
            shown.push_str(from.get(..1).unwrap_or_default());
            rest = after;
            if hides {
                let quoted = rest.strip_prefix('"');
                let end = match quoted {
                    Some(inner) => inner.find('"').map_or(rest.len(), |end| end + 2),
                    None => rest.find(is_end_of_value).unwrap_or(rest.len()),
                };
                if end > 0 {
                    shown.push_str(REDACTED);
                }
                rest = rest.get(end..).unwrap_or_default();
            }
        }
        shown.push_str(rest);
        shown
    }

    /// Bytes without secrets, as far as they are text: all of them, or those before the first empty line.
    #[must_use]
    pub fn bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        match String::from_utf8(bytes) {
            Ok(text) => self.text(&text).into_bytes(),
            Err(error) => {
                let bytes = error.into_bytes();
                let head = bytes.windows(4).position(|four| four == b"\r\n\r\n");
                let (head, body) = bytes.split_at(head.unwrap_or_default());
                match std::str::from_utf8(head) {
                    Ok(head) => [self.text(head).as_bytes(), body].concat(),
                    Err(_) => bytes,
                }
            }
        }
    }

    /// A protocol trace without secrets.
    #[must_use]
    pub fn trace(&self, mut trace: ProtocolTrace) -> ProtocolTrace {
        if self.names.is_empty() {
            return trace;
        }
        trace.summary = self.inline(&trace.summary);
        trace.metadata = self.metadata(trace.metadata);
        trace.raw = trace.raw.map(|raw| match raw {
            TracePayload::Text(text) => TracePayload::Text(self.text(&text)),
            TracePayload::Bytes(bytes) => TracePayload::Bytes(self.bytes(bytes)),
        });
        trace
    }
}

fn normal(name: &str) -> String {
    name.chars()
        .filter(|c| !matches!(c, '-' | '_' | ' '))
        .flat_map(char::to_lowercase)
        .collect()
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

fn is_end_of_value(c: char) -> bool {
    c.is_whitespace() || matches!(c, '&' | ';' | ',' | '#' | '"' | '\'' | '>' | ')')
}

/// A function that says what of a channel's payload is kept.
pub type PayloadFilter = Arc<dyn Fn(&ChannelId, Metadata) -> Metadata + Send + Sync>;

/// What becomes of [`raw_payload`](crate::model::EventSource::raw_payload), what a provider sent,
/// before hooks see the event and the store keeps it (RFC §17.3). The channel itself has read it whole.
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum RawPayload {
    /// It is kept as it came (RFC §5.2).
    #[default]
    Keep,
    /// It is kept without secrets.
    Redact(Redaction),
    /// It is not kept.
    Drop,
    /// A function says what is kept. Where it panics, nothing is.
    With(PayloadFilter),
}

impl RawPayload {
    /// A function that says what of a channel's payload is kept.
    pub fn with(filter: impl Fn(&ChannelId, Metadata) -> Metadata + Send + Sync + 'static) -> Self {
        Self::With(Arc::new(filter))
    }

    pub(crate) fn apply(&self, channel: &ChannelId, payload: Metadata) -> Metadata {
        if payload.is_empty() {
            return payload;
        }
        match self {
            Self::Keep => payload,
            Self::Redact(redaction) => redaction.metadata(payload),
            Self::Drop => Metadata::new(),
            Self::With(filter) => {
                let kept = catch_unwind(AssertUnwindSafe(|| filter(channel, payload)));
                kept.unwrap_or_else(|_panic| {
                    tracing::error!(channel_id = %channel, "the filter of raw payloads panicked: nothing is kept");
                    Metadata::new()
                })
            }
        }
    }

    pub(crate) fn apply_to(&self, draft: &mut EventDraft) {
        if matches!(self, Self::Keep) || draft.source.raw_payload.is_empty() {
            return;
        }
        let event = draft.edit();
        let payload = std::mem::take(&mut event.source.raw_payload);
        event.source.raw_payload = self.apply(&event.source.channel_id, payload);
    }
}

impl fmt::Debug for RawPayload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keep => f.write_str("Keep"),
            Self::Redact(redaction) => f.debug_tuple("Redact").field(redaction).finish(),
            Self::Drop => f.write_str("Drop"),
            Self::With(_) => f.write_str("With(..)"),
        }
    }
}
