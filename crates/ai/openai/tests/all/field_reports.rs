//! What went wrong elsewhere, as the server wrote it then (field reports F35, F36, F38, F39).

use futures_util::StreamExt;
use roomkit_ai::http::HttpConfig;
use roomkit_ai::{
    AiContext, AiMessage, AiProvider, AiResponse, Result, StreamEvent, ToolArguments, ToolCall,
    ToolDefinition,
};
use roomkit_ai_openai::{OpenAiConfig, OpenAiProvider};
use roomkit_testkit::ai::{Piece, Pieces, Reply, VendorServer};
use serde_json::{Value, json};

const EVENTS: &str = "text/event-stream";

struct Stage {
    server: VendorServer,
    provider: OpenAiProvider,
}

impl Stage {
    async fn new() -> Self {
        let server = VendorServer::start().await;
        // Once each: what is cut would be asked for again where nothing was told yet.
        let config = OpenAiConfig::new("a-model")
            .base_url(server.base_url())
            .http(HttpConfig::default().max_attempts(1));
        let provider = OpenAiProvider::new(config).unwrap();
        Self { server, provider }
    }

    /// All that comes of this reply, up to its end or an error.
    async fn stream(&self, reply: Reply) -> Result<AiResponse> {
        self.server.reply([reply]);
        let tool = ToolDefinition::new("f", "", ToolDefinition::nothing());
        let context = AiContext::new([AiMessage::user("Well?")]).tools([tool]);
        let mut stream = self.provider.generate_stream(&context).await?;
        let mut events: Vec<StreamEvent> = Vec::new();
        while let Some(event) = stream.next().await {
            events.push(event?);
        }
        let is_done = matches!(events.last(), Some(StreamEvent::Done { .. }));
        assert!(is_done, "the end of a stream is told");
        Ok(AiResponse::of(events))
    }
}

fn body(text: &str) -> Reply {
    Reply::new(200, EVENTS, text.as_bytes().to_vec())
}

fn said(text: &str) -> String {
    let chunk = json!({ "choices": [{ "index": 0, "delta": { "content": text } }] });
    format!("data: {chunk}\n\n")
}

const FINISHED: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";

#[tokio::test]
async fn f35_done_ends_a_stream_and_is_no_json() {
    let stage = Stage::new().await;
    let hello = said("Hello");
    for (what, text) in [
        (
            "as documented",
            format!("{hello}{FINISHED}data: [DONE]\n\n"),
        ),
        (
            "with bytes behind it",
            format!("{hello}{FINISHED}data: [DONE]\n\ndata: {{\n\n"),
        ),
        ("without it", format!("{hello}{FINISHED}")),
        (
            "without a last line end",
            format!("{hello}{FINISHED}data: [DONE]"),
        ),
        ("with a mark, comments and CRLF", {
            let text = format!("\u{feff}: hi\n\n{hello}: still there\n\n{FINISHED}data:[DONE]\n\n");
            text.replace('\n', "\r\n")
        }),
    ] {
        for pieces in [Pieces::Whole, Pieces::Of(1), Pieces::Random(3)] {
            let answer = stage.stream(body(&text).pieces(pieces)).await;
            assert_eq!(answer.unwrap().text, "Hello", "{what}, {pieces:?}");
        }
    }
}

#[tokio::test]
async fn f36_what_a_compatible_server_leaves_out_or_adds_does_no_harm() {
    let stage = Stage::new().await;
    // No index, no role, no type, empty usage, and a field that nobody knows.
    let chunk = json!({
        "choices": [{ "delta": { "tool_calls": [
            { "id": "c1", "function": { "name": "f", "arguments": "{}" } },
        ] } }],
        "usage": {}, "served_by": { "rack": 7 },
    });
    let end = json!({ "choices": [{ "delta": {}, "finish_reason": "tool_calls" }], "usage": {} });
    let text = format!("data: {chunk}\n\ndata: {end}\n\ndata: [DONE]\n\n");
    let answer = stage.stream(body(&text)).await.unwrap();
    let expected = ToolCall::new("c1", "f", ToolArguments::default());
    assert_eq!(answer.tool_calls, [expected]);
    assert!(answer.usage.is_empty());
    // A chunk without choices says nothing; a reason that is new is kept as it is written.
    let odd = "data: {\"choices\":[]}\n\ndata: {\"choices\":null,\"usage\":null}\n\n";
    let end = FINISHED.replace("stop", "moon_phase");
    let answer = stage
        .stream(body(&format!("{odd}{}{end}", said("Yes"))))
        .await
        .unwrap();
    assert_eq!(answer.text, "Yes");
    assert_eq!(answer.finish_reason.unwrap().code(), "moon_phase");
}

#[tokio::test]
async fn f38_calls_that_all_have_the_index_0_and_no_ids_are_told_apart() {
    let stage = Stage::new().await;
    let call = |name: &str, arguments: &str| {
        let function = json!({ "name": name, "arguments": arguments });
        let delta = json!({ "tool_calls": [{ "index": 0, "function": function }] });
        format!(
            "data: {}\n\n",
            json!({ "choices": [{ "index": 0, "delta": delta }] })
        )
    };
    let calls = [
        ("web_fetch", r#"{"url":"a"}"#),
        ("web_search", r#"{"url":"b"}"#),
    ];
    let end = FINISHED.replace("stop", "tool_calls");
    let text: String = calls
        .iter()
        .map(|(name, arguments)| call(name, arguments))
        .collect();
    let answer = stage
        .stream(body(&format!("{text}{end}data: [DONE]\n\n")))
        .await
        .unwrap();
    let told: Vec<(&str, Value)> = answer
        .tool_calls
        .iter()
        .map(|it| {
            (
                it.name.as_str(),
                it.arguments.to_object().into_owned().into(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("web_fetch", json!({ "url": "a" })),
            ("web_search", json!({ "url": "b" }))
        ]
    );
    let ids: Vec<&str> = answer.tool_calls.iter().map(|it| it.id.as_str()).collect();
    assert!(
        !ids[0].is_empty() && ids[0] != ids[1],
        "each has an id of its own"
    );
}

#[tokio::test]
async fn f39_whatever_byte_a_stream_is_cut_at_no_part_of_a_call_is_taken_for_one() {
    let stage = Stage::new().await;
    let (first, rest) = (r#"{"to":"+15550100003","#, r#""amount":1250}"#);
    let call = ToolCall::new("c1", "f", ToolArguments::parse(&format!("{first}{rest}")));
    let piece = |call: Value| {
        let chunk = json!({ "choices": [{ "delta": { "tool_calls": [call] } }] });
        format!("data: {chunk}\n\n")
    };
    let named = piece(json!({ "id": "c1", "function": { "name": "f", "arguments": first } }));
    let more = piece(json!({ "function": { "arguments": rest } }));
    let end = FINISHED.replace("stop", "tool_calls");
    let whole = body(&format!("{named}{more}{end}data: [DONE]\n\n"));
    let mut complete = 0;
    for cut in 0..=whole.len() {
        let answer = stage.stream(whole.clone().after(cut, Piece::Cut)).await;
        // Without its end it is an error; what there was of it has been thrown away.
        if let Ok(answer) = answer {
            assert_eq!(
                answer.tool_calls,
                std::slice::from_ref(&call),
                "cut at byte {cut}"
            );
            complete += 1;
        }
    }
    assert!(complete > 0, "the whole one is one");
}
