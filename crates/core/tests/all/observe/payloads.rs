//! What becomes of providers' raw payloads before hooks see an event and the store keeps it.

use std::sync::{Arc, Mutex};

use roomkit_core::RoomKit;
use roomkit_core::hook::{BeforeBroadcast, HookResult};
use roomkit_core::model::{InboundMessage, Metadata};
use roomkit_core::redaction::{RawPayload, Redaction};
use serde_json::{Value, json};

use crate::pipeline::support::{Transport, room_of, say, shared};

fn payload() -> Metadata {
    Metadata::new()
        .with("Body", "hello")
        .with("ApiKey", "zebra")
        .with(
            "nested",
            json!({"access_token": {"deep": "zebra"}, "list": [{"password": 1}]}),
        )
}

fn message() -> InboundMessage {
    let mut message = say("a", "u", "hello");
    message.raw_payload = payload();
    message
}

/// What a hook saw of the payload, and what was stored.
async fn kept(policy: RawPayload) -> (Metadata, Metadata) {
    let kit = RoomKit::builder().raw_payload(policy).build().unwrap();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    let seen = Arc::new(Mutex::new(Metadata::new()));
    let into = Arc::clone(&seen);
    kit.hook(BeforeBroadcast, "look", move |event, _| {
        *into.lock().unwrap() = event.source.raw_payload.clone();
        async { HookResult::allow() }
    });
    let event = kit.process_inbound(message()).await.unwrap().event.unwrap();
    let stored = kit.event("r", event.id.clone()).await.unwrap();
    let seen = seen.lock().unwrap().clone();
    (seen, stored.source.raw_payload.clone())
}

#[tokio::test]
async fn a_policy_holds_before_hooks_and_store() {
    let redacted = Metadata::new()
        .with("Body", "hello")
        .with("ApiKey", "[redacted]")
        .with(
            "nested",
            json!({"access_token": "[redacted]", "list": [{"password": "[redacted]"}]}),
        );
    let only_body = Metadata::new().with("Body", "hello");
    let body = only_body.clone();
    for (policy, expected) in [
        (RawPayload::Keep, payload()),
        (RawPayload::Drop, Metadata::new()),
        (RawPayload::Redact(Redaction::default()), redacted),
        (RawPayload::Redact(Redaction::none()), payload()),
        (
            RawPayload::with(move |channel, payload| {
                assert_eq!(channel.as_str(), "a");
                assert!(payload.contains_key("ApiKey"));
                body.clone()
            }),
            only_body,
        ),
        (
            RawPayload::with(|_, _| panic!("broken filter")),
            Metadata::new(),
        ),
    ] {
        let shown = format!("{policy:?}");
        assert_eq!(kept(policy).await, (expected.clone(), expected), "{shown}");
    }
}

#[tokio::test]
async fn a_hook_may_take_out_of_the_payload_what_is_not_to_be_kept() {
    let kit = RoomKit::new();
    room_of(&kit, vec![shared(&Transport::new("a"))]).await;
    kit.hook(BeforeBroadcast, "privacy", |mut event, _| async move {
        let payload = event.source.raw_payload.clone();
        event.set_raw_payload(Redaction::none().name("body").metadata(payload));
        HookResult::modify(event)
    });
    let result = kit.process_inbound(message()).await.unwrap();
    let event = result.event.unwrap();
    assert!(!result.blocked);
    assert_eq!(event.source.raw_payload.get_str("Body"), Some("[redacted]"));
    assert_eq!(event.source.raw_payload.get_str("ApiKey"), Some("zebra"));
    assert_eq!(event.text(), Some("hello"));
}

#[test]
fn texts_lose_what_authenticates_and_nothing_else() {
    let redaction = Redaction::default();
    for (text, expected) in [
        ("", ""),
        ("hello = world", "hello = world"),
        ("a token of thanks", "a token of thanks"),
        ("the bearer of news", "the bearer of news"),
        ("Bearer abcdefghijklmnopqrstuvwxyz.", "Bearer [redacted]"),
        (
            "https://x.test/?sig=1&signature=ab%20c&n=1",
            "https://x.test/?sig=1&signature=[redacted]&n=1",
        ),
        (
            "wss://user:pass@x.test/p?a=b",
            "wss://[redacted]@x.test/p?a=b",
        ),
        ("https://x.test/a@b", "https://x.test/a@b"),
        ("mail to bob@x.test", "mail to bob@x.test"),
        (
            "password=\"two words\" next=1",
            "password=[redacted] next=1",
        ),
        (
            "client_secret=zebra; path=/",
            "client_secret=[redacted]; path=/",
        ),
        ("token=", "token="),
        ("é=ü&token=ß ende", "é=ü&token=[redacted] ende"),
        (
            "X-Hub-Signature-256: sha256=ab\nDate: now",
            "X-Hub-Signature-256: [redacted]\nDate: now",
        ),
        (
            "cookie:a=b\r\n\tc=d\r\nhost:x\r\n",
            "cookie:[redacted]\r\nhost:x\r\n",
        ),
        (
            "a=crypto:1 AES_CM_128 inline:abc\r\nm=audio 1",
            "a=crypto:[redacted]\r\nm=audio 1",
        ),
        ("a=ice-pwd:abc", "a=ice-pwd:[redacted]"),
        (
            r#" {"a": {"token": [1]}, "b": "x"}"#,
            r#"{"a":{"token":"[redacted]"},"b":"x"}"#,
        ),
        (
            r#"[{"name": "Authorization", "value": "x"}]"#,
            r#"[{"name":"Authorization","value":"[redacted]"}]"#,
        ),
        ("{not json, token=zebra}", "{not json, token=[redacted]"),
    ] {
        assert_eq!(redaction.text(text), expected, "{text}");
        assert_eq!(Redaction::none().text(text), text);
    }
    assert_eq!(redaction.bytes(vec![0xff, 0xfe]), [0xff, 0xfe]);
}

#[test]
fn what_is_nested_too_deep_is_redacted_whole() {
    let deep = (0..200).fold(json!("zebra"), |value, _| json!([value]));
    let redacted = Redaction::default().metadata(Metadata::new().with("deep", deep));
    let text = Value::Object(redacted.into_map()).to_string();
    assert!(
        !text.contains("zebra") && text.contains("[redacted]"),
        "{text}"
    );
}
