//! Tests of answers: texts, reasons, reasoning and calls, whole and as they come.

use std::collections::BTreeSet;

use roomkit_ai::{AiResponse, FinishReason, ToolArguments, Usage};
use serde_json::Value;

use super::sample::{self, Streamed, TEXT, call, hello, sizes, stream, with_tools, without_ids};
use super::server::{Pieces, Reply};
use super::under_test::{Stage, TestProvider, is_able};
use super::wire::{Ability, Quirk, WireData};

/// The provider's own way to the answer, whole.
async fn whole(test: &TestProvider, answer: &AiResponse) -> (AiResponse, Option<Stage>) {
    let (provider, stage) = test.answering(answer).await;
    if let Some(stage) = &stage {
        stage.server.reply([stage.whole(answer)]);
    }
    let answer = provider.generate(&with_tools()).await.expect("it answers");
    (answer, stage)
}

/// The provider's own way to the answer as it comes; `None` where it does not stream.
async fn streamed(test: &TestProvider, answer: &AiResponse) -> Option<Streamed> {
    let (provider, stage) = test.answering(answer).await;
    let wire = stage.as_ref().map(|stage| &*stage.wire);
    if !is_able(&*provider, wire, Ability::Streaming) {
        return None;
    }
    if let Some(stage) = &stage {
        stage.server.reply(stage.streamed(answer, Quirk::None));
    }
    Some(
        stream(&*provider, &with_tools())
            .await
            .whole("as documented"),
    )
}

pub async fn a_whole_answer_has_its_text_reason_and_usage(test: TestProvider) {
    let mut expected = sample::text();
    expected.usage = Usage::new(12, 34).cached(5, 0);
    let (answer, stage) = whole(&test, &expected).await;
    assert_eq!(answer.text, TEXT);
    assert_eq!(answer.finish_reason, Some(FinishReason::Stop));
    assert!(answer.tool_calls.is_empty() && answer.thinking.is_none());
    assert_eq!(answer.usage.total_input_tokens(), 17);
    assert_eq!(answer.usage.output_tokens, 34);
    if let Some(stage) = &stage {
        if stage.wire.request_id_header().is_some() {
            let id = answer.metadata.get("request_id").and_then(Value::as_str);
            assert_eq!(
                id,
                Some("req-7f3"),
                "the vendor's id of the request is kept"
            );
        }
        let asked = stage.server.take_asked();
        assert!(
            !stage.wire.is_streamed(&asked[0].body),
            "it is asked for whole"
        );
    }
    let shown = format!("{answer:?}");
    assert!(!shown.contains("rich"), "no text in {shown}");
}

pub async fn an_answer_as_it_comes_is_the_whole_answer(test: TestProvider) {
    let Some(answer) = streamed(&test, &sample::text()).await else {
        return;
    };
    assert_eq!(answer.text, TEXT);
    let Some(stage) = test.stage().await else {
        return;
    };
    for pieces in sizes() {
        for end in ["\n", "\r\n"] {
            let what = format!("{pieces:?}, {end:?}");
            let reply = stage.lively(&sample::text(), end);
            stage.server.reply([reply.pieces(pieces)]);
            let answer = stream(&*stage.provider, &hello()).await.whole(&what);
            assert_eq!(answer.text, TEXT, "{what}");
            let (reason, usage) = answer.done.expect("it is whole");
            assert_eq!(reason, Some(FinishReason::Stop), "{what}");
            assert_eq!(usage, Usage::new(12, 34), "{what}");
            let asked = stage.server.take_asked();
            assert!(stage.wire.is_streamed(&asked[0].body), "{what}");
        }
    }
}

pub async fn why_it_stopped_is_told(test: TestProvider) {
    for reason in [
        FinishReason::Stop,
        FinishReason::Length,
        FinishReason::ContentFilter,
    ] {
        let mut expected = sample::text();
        expected.finish_reason = Some(reason.clone());
        let (answer, stage) = whole(&test, &expected).await;
        assert_eq!(answer.finish_reason, Some(reason.clone()));
        drop(stage);
        if let Some(answer) = streamed(&test, &expected).await {
            let (told, _) = answer.done.expect("it is whole");
            assert_eq!(told, Some(reason));
        }
    }
}

pub async fn tools_are_called_with_what_the_model_wrote(test: TestProvider) {
    let expected = sample::calls();
    let (provider, stage) = test.answering(&expected).await;
    let wire = stage.as_ref().map(|stage| &*stage.wire);
    if !is_able(&*provider, wire, Ability::Tools) {
        return;
    }
    let (answer, _stage) = whole(&test, &expected).await;
    assert_eq!(answer.finish_reason, Some(FinishReason::ToolCalls));
    assert_eq!(
        without_ids(&answer.tool_calls),
        without_ids(&expected.tool_calls)
    );
    if let Some(answer) = streamed(&test, &expected).await {
        assert_eq!(
            without_ids(&answer.calls),
            without_ids(&expected.tool_calls)
        );
        let (reason, _) = answer.done.expect("it is whole");
        assert_eq!(reason, Some(FinishReason::ToolCalls));
    }
    let Some(stage) = stage.filter(|stage| stage.is_able(Ability::Streaming)) else {
        return;
    };
    for pieces in sizes() {
        let reply = stage.lively(&expected, "\n").pieces(pieces);
        stage.server.reply([reply]);
        let what = format!("{pieces:?}");
        let answer = stream(&*stage.provider, &with_tools()).await.whole(&what);
        assert_eq!(answer.calls, calls_of(&answer, &expected), "{what}");
    }
}

/// The expected calls, with the ids that the provider gave; those that it announced, and no two alike.
fn calls_of(answer: &Streamed, expected: &AiResponse) -> Vec<roomkit_ai::ToolCall> {
    let ids: BTreeSet<&String> = answer.calls.iter().map(|call| &call.id).collect();
    assert_eq!(ids.len(), answer.calls.len(), "no two calls have one id");
    assert!(ids.iter().all(|id| !id.is_empty()), "every call has an id");
    assert!(
        answer.announced.iter().all(|id| ids.contains(id)),
        "what is announced comes, under its id: {:?} of {ids:?}",
        answer.announced
    );
    let both = answer.calls.iter().zip(&expected.tool_calls);
    let mut calls: Vec<_> = both
        .map(|(told, call)| {
            let mut call = call.clone();
            call.id.clone_from(&told.id);
            call.metadata.clone_from(&told.metadata);
            call
        })
        .collect();
    calls.extend(expected.tool_calls.iter().skip(calls.len()).cloned());
    calls
}

pub async fn calls_are_told_apart_whatever_a_server_leaves_out(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Tools) || !stage.is_able(Ability::Streaming) {
        return;
    }
    for count in 1..=3 {
        let mut expected = sample::calls();
        expected.tool_calls.truncate(count);
        for quirk in Quirk::OF_CALLS {
            let Some(reply) = stage.streamed(&expected, quirk) else {
                continue;
            };
            for pieces in [Pieces::Whole, Pieces::Of(1), Pieces::Random(count as u64)] {
                let what = format!("{count} calls, {quirk:?}, {pieces:?}");
                stage.server.reply([reply.clone().pieces(pieces)]);
                let answer = stream(&*stage.provider, &with_tools()).await.whole(&what);
                assert_eq!(answer.calls, calls_of(&answer, &expected), "{what}");
            }
        }
    }
}

pub async fn arguments_that_are_no_object_are_not_taken_for_one(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Tools) {
        return;
    }
    for text in [r#"{"q":"a"#, "[1]", "\"a\"", "{} {}"] {
        let expected = AiResponse::calling([call("call_a1", "weather", text)]);
        let check = |arguments: &ToolArguments| {
            let written = arguments.as_object().is_some();
            assert!(!written, "{text} is taken for an object");
        };
        // Vendors that write arguments as JSON cannot write what is none.
        let written = stage.wire.whole(&expected).to_string();
        if !written.contains(&serde_json::to_string(text).unwrap()) {
            continue;
        }
        stage.server.reply([stage.whole(&expected)]);
        let answer = stage.provider.generate(&with_tools()).await;
        check(&answer.expect("it answers").tool_calls[0].arguments);
        if stage.is_able(Ability::Streaming) {
            stage.server.reply(stage.streamed(&expected, Quirk::None));
            let answer = stream(&*stage.provider, &with_tools()).await.whole(text);
            check(&answer.calls[0].arguments);
        }
    }
}

pub async fn reasoning_is_told_apart_from_the_answer(test: TestProvider) {
    let mut expected = sample::text();
    expected.thinking = Some("The user means Zürich.\nSo: look.".into());
    expected.usage = Usage::new(12, 34).reasoning(8);
    let (provider, stage) = test.answering(&expected).await;
    let wire = stage.as_ref().map(|stage| &*stage.wire);
    if !is_able(&*provider, wire, Ability::Thinking) {
        return;
    }
    let (answer, _stage) = whole(&test, &expected).await;
    assert_eq!(answer.thinking, expected.thinking);
    assert_eq!(answer.text, TEXT);
    if let Some(answer) = streamed(&test, &expected).await {
        assert_eq!(Some(answer.thinking), expected.thinking);
        assert_eq!(answer.text, TEXT);
    }
}

pub async fn what_is_missing_or_new_does_no_harm(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Streaming) {
        return;
    }
    if let Some(reply) = stage.streamed(&sample::text(), Quirk::Bare) {
        stage.server.reply([reply]);
        let answer = stream(&*stage.provider, &hello()).await.whole("bare");
        assert_eq!(answer.text, TEXT);
    }
    let frames = stage.wire.streamed(&sample::text(), Quirk::None);
    let frames = frames.expect("a vendor streams without quirks");
    // Whatever becomes of one key of one frame: the answer ends, and nothing is told that was not said.
    for at in 0..frames.len() {
        let WireData::Json(value) = &frames[at].data else {
            continue;
        };
        for changed in changes(value) {
            let mut frames = frames.clone();
            frames[at].data = WireData::Json(changed.value);
            let reply = Reply::stream(stage.wire.framing(), &frames);
            stage.server.reply(vec![reply; 3]);
            let answer = stream(&*stage.provider, &hello()).await;
            let what = format!("frame {at}, {}", changed.what);
            if changed.is_harmless {
                assert_eq!(answer.whole(&what).text, TEXT, "{what}");
            } else if answer.error.is_none() {
                assert!(
                    is_but_for_one_piece(&answer.text),
                    "{what}: {:?}",
                    answer.text
                );
            }
            stage.server.take_asked();
        }
    }
}

/// Whether this is the text but for one piece of it that is missing, or is the `x` that was put there.
fn is_but_for_one_piece(told: &str) -> bool {
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| {
        pairs.take_while(|(told, said)| told == said).count()
    };
    let before = same(&mut told.chars().zip(TEXT.chars()));
    let after = same(&mut told.chars().rev().zip(TEXT.chars().rev()));
    before + after + 1 >= told.chars().count()
}

struct Changed {
    what: String,
    value: Value,
    is_harmless: bool,
}

/// The value with one key changed in each way, at every place.
fn changes(value: &Value) -> Vec<Changed> {
    let mut all = Vec::new();
    for pointer in objects(value, String::new()) {
        let object = |value: &mut Value, change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
            if let Some(Value::Object(object)) = value.pointer_mut(&pointer) {
                change(object);
            }
        };
        let mut with = |what: String, is_harmless, change: &dyn Fn(&mut serde_json::Map<_, _>)| {
            let mut value = value.clone();
            object(&mut value, change);
            all.push(Changed {
                what,
                value,
                is_harmless,
            });
        };
        with(format!("{pointer} with a new key"), true, &|object| {
            object.insert("of_a_later_version".into(), Value::from(vec![1]));
        });
        let keys = value.pointer(&pointer).and_then(Value::as_object);
        for key in keys.into_iter().flat_map(|object| object.keys()) {
            with(format!("{pointer}/{key} missing"), false, &|object| {
                object.remove(key);
            });
            for other in [
                Value::Null,
                Value::from(7),
                Value::from("x"),
                Value::from(vec![1]),
            ] {
                with(format!("{pointer}/{key} is {other}"), false, &|object| {
                    object.insert(key.clone(), other.clone());
                });
            }
        }
    }
    all
}

/// Where the objects of a value are.
fn objects(value: &Value, at: String) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(object) => {
            for (key, value) in object {
                found.extend(objects(value, format!("{at}/{key}")));
            }
            found.push(at);
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                found.extend(objects(value, format!("{at}/{index}")));
            }
        }
        _ => {}
    }
    found
}

pub async fn an_answer_without_its_end_is_complete_or_an_error(test: TestProvider) {
    let Some(stage) = test.stage().await else {
        return;
    };
    if !stage.is_able(Ability::Streaming) {
        return;
    }
    for answer in [sample::text(), sample::calls()] {
        let Some(reply) = stage.streamed(&answer, Quirk::NoEnd) else {
            continue;
        };
        stage.server.reply([reply]);
        let found = stream(&*stage.provider, &with_tools())
            .await
            .whole("no end");
        assert_eq!(found.text, answer.text);
        assert_eq!(without_ids(&found.calls), without_ids(&answer.tool_calls));
    }
}
