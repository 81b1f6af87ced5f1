//! Answers to be given, and what came of an answer as it was streamed.

use std::collections::BTreeSet;

use futures_util::StreamExt;
use roomkit_ai::{
    AiContext, AiError, AiMessage, AiProvider, AiResponse, FinishReason, Result, StreamEvent,
    ToolArguments, ToolCall, ToolDefinition, Usage,
};
use serde_json::json;

use super::server::{Pieces, Reply};
use super::under_test::Stage;
use super::wire::Quirk;

/// A text with characters of every length, a line break, and what looks like the protocol's own.
pub(super) const TEXT: &str = "Zürich, 7 °C: 雨 🌧️\n\ndata: [DONE]\r\nShall I look for \"more\"?";

pub(super) fn hello() -> AiContext {
    AiContext::new([AiMessage::user("How is the weather?")]).tools([])
}

pub(super) fn with_tools() -> AiContext {
    hello().tools(["weather", "web_search", "web_fetch"].map(tool))
}

pub(super) fn tool(name: &str) -> ToolDefinition {
    let parameters = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    ToolDefinition::new(name, "Looks for something.", parameters)
}

pub(super) fn text() -> AiResponse {
    let mut answer = AiResponse::text(TEXT);
    answer.usage = Usage::new(12, 34);
    answer
}

pub(super) fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, ToolArguments::parse(arguments))
}

/// Calls side by side, of which two are of one tool.
pub(super) fn calls() -> AiResponse {
    let mut answer = AiResponse::calling([
        call("call_a1", "web_fetch", r#"{"q":"a {\"b\":1} \u00fc"}"#),
        call(
            "call_b2",
            "web_search",
            r#"{"q":"雨","deep":{"list":[1,2,{"x":null}]}}"#,
        ),
        call("call_c3", "web_fetch", r#"{"q":"}{"}"#),
    ]);
    answer.usage = Usage::new(20, 40);
    answer
}

/// What came of a streamed answer.
#[derive(Debug, Default)]
pub(super) struct Streamed {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) signature: Option<String>,
    pub(super) calls: Vec<ToolCall>,
    pub(super) announced: BTreeSet<String>,
    pub(super) done: Option<(Option<FinishReason>, Usage)>,
    pub(super) error: Option<AiError>,
}

impl Streamed {
    pub(super) fn is_nothing(&self) -> bool {
        self.text.is_empty()
            && self.thinking.is_empty()
            && self.calls.is_empty()
            && self.announced.is_empty()
    }

    pub(super) fn whole(self, what: &str) -> Self {
        assert!(self.error.is_none(), "{what}: {:?}", self.error);
        assert!(self.done.is_some(), "{what}: `Done` is missing");
        self
    }
}

/// Asks for an answer as it comes, and reads it to its end.
pub(super) async fn stream(provider: &dyn AiProvider, context: &AiContext) -> Streamed {
    match provider.generate_stream(context).await {
        Ok(events) => collect(events).await,
        Err(error) => Streamed {
            error: Some(error),
            ..Streamed::default()
        },
    }
}

async fn collect(
    mut events: impl futures_util::Stream<Item = Result<StreamEvent>> + Unpin,
) -> Streamed {
    let mut all = Streamed::default();
    while let Some(event) = events.next().await {
        assert!(
            all.done.is_none() && all.error.is_none(),
            "nothing comes after the end"
        );
        match event {
            Ok(StreamEvent::Text(text)) => all.text.push_str(&text),
            Ok(StreamEvent::Thinking {
                thinking,
                signature,
            }) => {
                all.thinking.push_str(&thinking);
                all.signature = signature.or(all.signature.take());
            }
            Ok(StreamEvent::ToolCallDelta { id, .. }) => {
                assert!(!id.is_empty(), "a call that is announced has an id");
                all.announced.insert(id);
            }
            Ok(StreamEvent::ToolCall(call)) => all.calls.push(call),
            Ok(StreamEvent::Done {
                finish_reason,
                usage,
                ..
            }) => all.done = Some((finish_reason, usage)),
            Ok(_) => {}
            Err(error) => all.error = Some(error),
        }
    }
    assert!(
        all.done.is_some() || all.error.is_some(),
        "an answer ends with `Done` or an error"
    );
    all
}

/// Names and arguments, without the ids that a provider may have to make.
pub(super) fn without_ids(calls: &[ToolCall]) -> Vec<(&str, &ToolArguments)> {
    calls
        .iter()
        .map(|call| (call.name.as_str(), &call.arguments))
        .collect()
}

impl Stage {
    /// An answer as the vendor streams it.
    pub(super) fn streamed(&self, answer: &AiResponse, quirk: Quirk) -> Option<Reply> {
        let frames = self.wire.streamed(answer, quirk)?;
        Some(Reply::stream(self.wire.framing(), &frames))
    }

    /// A whole answer of the vendor's.
    pub(super) fn whole(&self, answer: &AiResponse) -> Reply {
        let reply = Reply::json(200, &self.wire.whole(answer));
        self.named(reply)
    }

    /// Names the request, where this vendor does.
    pub(super) fn named(&self, reply: Reply) -> Reply {
        match self.wire.request_id_header() {
            Some(name) => reply.header(name, "req-7f3"),
            None => reply,
        }
    }

    /// The frames of an answer with signs of life between them, as bytes with this end of line.
    pub(super) fn lively(&self, answer: &AiResponse, end: &str) -> Reply {
        let frames = self.wire.streamed(answer, Quirk::None);
        let frames = frames.expect("a vendor streams without quirks");
        let mut lively = Vec::new();
        for frame in frames {
            lively.extend(self.wire.keep_alives());
            lively.push(frame);
        }
        Reply::stream_with(self.wire.framing(), &lively, end)
    }
}

/// The sizes in which a body is sent.
pub(super) fn sizes() -> Vec<Pieces> {
    let mut sizes = vec![Pieces::Whole, Pieces::Of(1), Pieces::Of(2), Pieces::Of(7)];
    sizes.extend((1..=8).map(Pieces::Random));
    sizes
}
