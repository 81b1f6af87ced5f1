//! A conversation that goes on after a restart, and what the model is asked with then.

use roomkit::ai::{AiResponse, ToolArguments, ToolCall};
use roomkit::prelude::*;
use roomkit_testkit::ai::{ChatCompletionsWire, Piece, Told, VendorServer, Wire};
use serde_json::{Value, json};

use crate::application::{Application, PROMPT, reply};
use crate::client::streamed;

const QUESTION: &str = "Is order 1042 ready, and when is Lyon open?";
const FIRST: &str = "One moment.";
const ANSWER: &str = "Order 1042 is baked. Lyon is open from 7 to 18.";
const LATER: &str = "And which order was that?";
const LAST: &str = "It was order 1042.";

fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall::new(id, name, ToolArguments::parse(arguments))
}

fn spent(mut answer: AiResponse, read: u64, written: u64) -> AiResponse {
    answer.usage.input_tokens = read;
    answer.usage.output_tokens = written;
    answer
}

/// What a request said to the model.
fn told(body: &Value) -> Vec<Told> {
    ChatCompletionsWire::new().conversation(body)
}

fn user(text: &str) -> Told {
    Told::User(text.to_owned(), Vec::new())
}

fn assistant(text: &str) -> Told {
    Told::Assistant(text.to_owned())
}

#[tokio::test]
async fn an_sms_is_answered_over_a_socket_and_the_next_turn_after_a_restart_has_the_history() {
    check().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_is_the_same_on_two_threads() {
    check().await;
}

async fn check() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rooms.db");
    let vendor = VendorServer::start().await;
    let system = || Told::System(PROMPT.to_owned());

    // The model calls both tools at once, then answers.
    let mut calls = AiResponse::calling([
        call("call-1", "find_order", r#"{"number":1042}"#),
        call("call-2", "opening_hours", r#"{"town":"Lyon"}"#),
    ]);
    calls.text = FIRST.to_owned();
    let answer = spent(AiResponse::text(ANSWER), 120, 14);
    vendor.reply([reply(&spent(calls, 60, 20)), reply(&answer)]);

    let app = Application::start(&file, &vendor).await;
    let mut viewer = app.sockets.client().await;
    let result = app.text(QUESTION).await;
    let facts = &result.response_metadata;
    assert_eq!(facts.get_str("loop_end_reason"), Some("completed"));

    // The model was asked twice over HTTP: with both tools, then with what they said, in order.
    assert_eq!(vendor.replies_left(), 0);
    let asked = vendor.take_asked();
    assert_eq!(asked.len(), 2);
    for request in &asked {
        assert_eq!(
            (request.method.as_str(), request.path.as_str()),
            ("POST", "/v1/chat/completions")
        );
        assert_eq!(request.header("authorization"), Some("Bearer sk-of-a-test"));
        let tools = ChatCompletionsWire::new().tools(&request.body);
        assert_eq!(tools, ["find_order", "opening_hours"]);
    }
    assert_eq!(told(&asked[0].body), [system(), user(QUESTION)]);
    assert_eq!(
        told(&asked[1].body),
        [
            system(),
            user(QUESTION),
            assistant(FIRST),
            Told::Call(
                "call-1".into(),
                "find_order".into(),
                json!({ "number": 1042 })
            ),
            Told::Call(
                "call-2".into(),
                "opening_hours".into(),
                json!({ "town": "Lyon" })
            ),
            Told::Result(
                "call-1".into(),
                r#"{"number":1042,"state":"baked"}"#.into(),
                Vec::new()
            ),
            Told::Result("call-2".into(), "Lyon: from 7 to 18".into(), Vec::new()),
        ]
    );

    // The client saw the question, then both parts of the answer grow; the phone got them whole.
    let frames = viewer.until_ended(2).await;
    assert_eq!(frames[0]["event"]["content"]["body"], QUESTION);
    let parts = streamed(&frames);
    for ((pieces, event), text) in parts.iter().zip([FIRST, ANSWER]) {
        assert!(pieces.len() > 1, "it came in pieces");
        assert_eq!(pieces.concat(), text);
        assert_eq!(event["content"]["body"], text);
        assert_eq!(event["source"]["channel_id"], "agent");
    }
    assert_eq!(app.sent(), [FIRST, ANSWER]);

    // Tokens are those of both rounds, and the reason is in the event that ends the answer.
    let said = app.said().await;
    let last = said.last().unwrap();
    assert_eq!(last.metadata.get_str("loop_end_reason"), Some("completed"));
    let usage = last.metadata.get("ai_usage").unwrap();
    assert_eq!(
        (&usage["input_tokens"], &usage["output_tokens"]),
        (&json!(180), &json!(34))
    );
    assert!(
        last.metadata
            .get("ai_cost")
            .is_some_and(|cost| cost["currency"] == "USD")
    );

    // Stopped, and started again on the same file.
    app.stop().await;
    viewer.closed().await;
    let app = Application::start(&file, &vendor).await;
    assert_eq!(app.said().await, said, "all is there as it was");
    vendor.reply([reply(&AiResponse::text(LAST))]);
    let mut viewer = app.sockets.client().await;
    app.text(LATER).await;

    let asked = vendor.take_asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(
        told(&asked[0].body),
        [
            system(),
            user(QUESTION),
            assistant(FIRST),
            assistant(ANSWER),
            user(LATER)
        ]
    );
    let frames = viewer.until_ended(1).await;
    assert_eq!(streamed(&frames)[0].0.concat(), LAST);
    assert_eq!(app.sent(), [LAST]);

    // Nothing is there twice, and everybody is who they were.
    let all = app.said().await;
    let texts: Vec<_> = all.iter().map(|it| it.text().unwrap()).collect();
    assert_eq!(texts, [QUESTION, FIRST, ANSWER, LATER, LAST]);
    let senders: Vec<_> = all
        .iter()
        .filter_map(|it| it.source.participant_id.as_ref().map(ParticipantId::as_str))
        .collect();
    assert_eq!(senders[0], senders[1], "one person, before and after");
    assert!(all.windows(2).all(|two| two[0].index < two[1].index));
    app.stop().await;
    viewer.closed().await;
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_kept_as_far_as_it_came_and_the_room_goes_on_after_a_restart()
{
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rooms.db");
    let vendor = VendorServer::start().await;
    let whole = reply(&AiResponse::text(ANSWER));
    let most = whole.len() / 2;
    vendor.reply([whole.after(most, Piece::Cut)]);

    let app = Application::start(&file, &vendor).await;
    let mut viewer = app.sockets.client().await;
    app.text(QUESTION).await;
    assert_eq!(
        vendor.take_asked().len(),
        1,
        "what was shown is not asked for again"
    );
    let frames = viewer.until_ended(1).await;
    let (pieces, event) = &streamed(&frames)[0];
    let partial = pieces.concat();
    assert!(!partial.is_empty() && ANSWER.starts_with(&partial) && partial != ANSWER);
    assert_eq!(event["content"]["body"], partial.as_str());
    assert_eq!(event["metadata"]["loop_end_reason"], "error");
    assert_eq!(app.sent(), [partial.as_str()]);
    app.stop().await;
    viewer.closed().await;

    let app = Application::start(&file, &vendor).await;
    vendor.reply([reply(&AiResponse::text(LAST))]);
    app.text(LATER).await;
    let asked = vendor.take_asked();
    assert_eq!(
        told(&asked[0].body)[1..],
        [user(QUESTION), assistant(&partial), user(LATER)]
    );
    assert_eq!(app.sent(), [LAST]);
    app.stop().await;
}
