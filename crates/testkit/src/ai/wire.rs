//! How a vendor writes things: what a wire must say so that the suite can play the vendor.

use roomkit_ai::http::Framing;
use roomkit_ai::{AiErrorKind, AiResponse, ToolArguments};
use serde_json::Value;

use super::Asked;

/// How one vendor's API writes answers and refusals, and reads requests.
///
/// An implementation names the pages of the vendor's documentation that it follows, and their date.
pub trait Wire: Send + Sync + 'static {
    /// How a streamed answer is cut.
    fn framing(&self) -> Framing;

    /// A whole answer.
    fn whole(&self, answer: &AiResponse) -> Value;

    /// An answer as it is streamed, in several pieces; `None` where this vendor has no such quirk.
    fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Vec<WireFrame>>;

    /// A refusal: its status and body. The body's message holds `message`.
    fn refusal(&self, kind: AiErrorKind, message: &str) -> (u16, Value);

    /// What the vendor sends in the middle of a streamed answer when it fails; `None` where it only
    /// breaks off.
    fn failure(&self) -> Option<WireFrame>;

    /// What it sends to keep a connection alive. Default: nothing.
    fn keep_alives(&self) -> Vec<WireFrame> {
        Vec::new()
    }

    /// Its list of models; `None` where it has none.
    fn models(&self, ids: &[&str]) -> Option<Value>;

    /// The header in which it names a request; `None` where it names none.
    fn request_id_header(&self) -> Option<&str>;

    /// The key that came with a request.
    fn credential(&self, asked: &Asked) -> Option<String>;

    /// Whether a request asks for a streamed answer. Default: its `stream` is true.
    fn is_streamed(&self, body: &Value) -> bool {
        body.get("stream") == Some(&Value::Bool(true))
    }

    /// The conversation of a request, in order.
    fn conversation(&self, body: &Value) -> Vec<Told>;

    /// The names of the tools that a request offers.
    fn tools(&self, body: &Value) -> Vec<String>;

    /// Whether it can say what a test of this ability needs. Default: yes.
    fn knows(&self, _ability: Ability) -> bool {
        true
    }
}

/// An ability of a provider that the suite tests; see [`AiCapabilities`](roomkit_ai::AiCapabilities).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// Answers come as they are made.
    Streaming,
    /// The model calls tools.
    Tools,
    /// The model sees pictures.
    Vision,
    /// Its reasoning is told.
    Thinking,
    /// Its service lists its models.
    ModelListing,
}

/// What servers that speak a vendor's wire do otherwise than its documentation says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Quirk {
    /// Nothing: as documented.
    None,
    /// Every parallel call has the index 0.
    ReusedIndexes,
    /// Calls have no index.
    NoIndexes,
    /// Calls have no id.
    NoIds,
    /// Calls have neither index nor id.
    NoIndexesNorIds,
    /// Id and name are in every piece of a call.
    RepeatedNames,
    /// Each call comes in one piece.
    WholeCalls,
    /// The name of a call comes after its first arguments.
    LateNames,
    /// Every field that may be missing is missing or null; no usage either.
    Bare,
    /// What ends the stream after the last piece of the answer is missing.
    NoEnd,
}

impl Quirk {
    /// Those of tool calls.
    pub const OF_CALLS: [Self; 7] = [
        Self::ReusedIndexes,
        Self::NoIndexes,
        Self::NoIds,
        Self::NoIndexesNorIds,
        Self::RepeatedNames,
        Self::WholeCalls,
        Self::LateNames,
    ];
}

/// One piece of a streamed answer.
#[derive(Debug, Clone, PartialEq)]
pub struct WireFrame {
    /// The name of the event, where it has one; lines have none.
    pub event: Option<String>,
    /// What it says.
    pub data: WireData,
}

/// What a piece of a streamed answer says.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum WireData {
    /// JSON.
    Json(Value),
    /// A word of the protocol, such as `[DONE]`.
    Word(String),
    /// A comment, for server-sent events.
    Comment(String),
}

impl WireFrame {
    /// A piece of JSON.
    pub fn json(value: Value) -> Self {
        Self {
            event: None,
            data: WireData::Json(value),
        }
    }

    /// A word of the protocol.
    pub fn word(word: impl Into<String>) -> Self {
        Self {
            event: None,
            data: WireData::Word(word.into()),
        }
    }

    /// A comment.
    pub fn comment(text: impl Into<String>) -> Self {
        Self {
            event: None,
            data: WireData::Comment(text.into()),
        }
    }

    /// Names the event.
    #[must_use]
    pub fn named(mut self, event: impl Into<String>) -> Self {
        self.event = Some(event.into());
        self
    }

    /// Its bytes, with this end of line.
    pub(super) fn bytes(&self, framing: Framing, end: &str) -> Vec<u8> {
        let data = match &self.data {
            WireData::Json(value) => value.to_string(),
            WireData::Word(word) => word.clone(),
            WireData::Comment(text) => return format!(": {text}{end}{end}").into_bytes(),
        };
        match framing {
            Framing::Lines => format!("{data}{end}"),
            _ => {
                let event = self.event.as_ref();
                let name = event.map(|event| format!("event: {event}{end}"));
                format!("{}data: {data}{end}{end}", name.unwrap_or_default())
            }
        }
        .into_bytes()
    }
}

/// A text cut into so many pieces, as far as it has characters; at least one.
#[must_use]
pub fn cut(text: &str, pieces: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let size = characters.len().div_ceil(pieces.max(1)).max(1);
    let cut: Vec<String> = characters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect();
    if cut.is_empty() {
        vec![String::new()]
    } else {
        cut
    }
}

/// The arguments of a call as a model wrote them.
#[must_use]
pub fn written(arguments: &ToolArguments) -> String {
    match arguments {
        ToolArguments::Object(object) => Value::Object(object.clone()).to_string(),
        ToolArguments::Malformed { text, .. } => text.clone(),
    }
}

/// A piece of the conversation that a provider sent, whatever its vendor calls it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// What the agent is told first.
    System(String),
    /// A message of the user's: its text, and where its pictures are.
    User(String, Vec<String>),
    /// A message of the agent's.
    Assistant(String),
    /// A call of a tool: its id, name and arguments.
    Call(String, String, Value),
    /// The result of a call: the call's id, the text, and where its pictures are.
    Result(String, String, Vec<String>),
}
