//! Any content survives being written and read.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use roomkit_core::model::{
    AudioContent, DeleteContent, DeleteType, EditContent, EventContent, LocationContent,
    MAX_COMPOSITE_DEPTH, MediaContent, Metadata, RichContent, RichFormat, SystemContent,
    TemplateContent, TextContent, ToolCallContent, ToolCallStatus, VideoContent,
};
use serde_json::Value;

fn text() -> impl Strategy<Value = String> {
    any::<String>()
}

fn url() -> impl Strategy<Value = String> {
    ("(https?://|HTTPS://|data:)", text()).prop_map(|(scheme, rest)| scheme + &rest)
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e300..1e300).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            btree_map(text(), inner, 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Metadata> {
    btree_map(text(), json(), 0..4).prop_map(Metadata::from_iter)
}

fn seconds() -> impl Strategy<Value = Option<f64>> {
    option::of(0.0..1e9)
}

fn rich() -> impl Strategy<Value = EventContent> {
    let format = prop_oneof![Just(RichFormat::Markdown), Just(RichFormat::Html)];
    let objects = || vec(metadata(), 0..3);
    (
        text(),
        format,
        option::of(text()),
        objects(),
        objects(),
        vec(text(), 0..3),
    )
        .prop_map(
            |(body, format, plain_text, buttons, cards, quick_replies)| {
                RichContent {
                    body,
                    format,
                    plain_text,
                    buttons,
                    cards,
                    quick_replies,
                }
                .into()
            },
        )
}

fn media() -> impl Strategy<Value = EventContent> {
    let fields = (
        url(),
        text(),
        option::of(text()),
        option::of(any::<u64>()),
        option::of(text()),
    );
    fields.prop_map(|(url, mime_type, filename, size_bytes, caption)| {
        MediaContent {
            url,
            mime_type,
            filename,
            size_bytes,
            caption,
        }
        .into()
    })
}

fn tool_call() -> impl Strategy<Value = EventContent> {
    let status = prop_oneof![
        Just(ToolCallStatus::Pending),
        Just(ToolCallStatus::Completed),
        Just(ToolCallStatus::Failed),
    ];
    let end = (
        json(),
        status,
        option::of(any::<u64>()),
        option::of(text()),
        option::of(metadata()),
    );
    ((text(), text(), metadata()), end).prop_map(|((tool_name, tool_id, arguments), end)| {
        let (result, status, duration_ms, error, structured_content) = end;
        ToolCallContent {
            tool_name,
            tool_id,
            arguments,
            result,
            status,
            duration_ms,
            error,
            structured_content,
        }
        .into()
    })
}

/// Content that holds no other.
fn leaf() -> impl Strategy<Value = EventContent> {
    prop_oneof![
        (text(), option::of(text()))
            .prop_map(|(body, language)| TextContent { body, language }.into()),
        rich(),
        media(),
        (url(), text(), seconds(), option::of(text())).prop_map(
            |(url, mime_type, duration_seconds, transcript)| {
                AudioContent {
                    url,
                    mime_type,
                    duration_seconds,
                    transcript,
                }
                .into()
            }
        ),
        (url(), text(), seconds(), option::of(url())).prop_map(
            |(url, mime_type, duration_seconds, thumbnail_url)| {
                VideoContent {
                    url,
                    mime_type,
                    duration_seconds,
                    thumbnail_url,
                }
                .into()
            }
        ),
        (
            -90.0..=90.0,
            -180.0..=180.0,
            option::of(text()),
            option::of(text())
        )
            .prop_map(|(latitude, longitude, label, address)| {
                LocationContent {
                    latitude,
                    longitude,
                    label,
                    address,
                }
                .into()
            }),
        (text(), option::of(text()), metadata()).prop_map(|(body, code, data)| SystemContent {
            body,
            code,
            data
        }
        .into()),
        (
            text(),
            text(),
            btree_map(text(), text(), 0..4),
            option::of(text())
        )
            .prop_map(|(template_id, language, parameters, body)| {
                TemplateContent {
                    template_id,
                    language,
                    parameters,
                    body,
                }
                .into()
            }),
        tool_call(),
    ]
}

fn nested() -> impl Strategy<Value = EventContent> {
    let depth = u32::try_from(MAX_COMPOSITE_DEPTH).unwrap();
    leaf().prop_recursive(depth, 12, 3, |inner| {
        vec(inner, 1..4).prop_map(EventContent::composite)
    })
}

fn content() -> impl Strategy<Value = EventContent> {
    let delete_type = prop_oneof![
        Just(DeleteType::Sender),
        Just(DeleteType::System),
        Just(DeleteType::Admin)
    ];
    prop_oneof![
        3 => nested(),
        1 => (text(), nested(), text()).prop_map(|(target, new_content, source)| {
            EditContent { edit_source: Some(source), ..EditContent::new(target, new_content) }
                .into()
        }),
        1 => (text(), delete_type, option::of(text())).prop_map(|(target, delete_type, reason)| {
            DeleteContent { target_event_id: target.into(), delete_type, reason }.into()
        }),
    ]
}

proptest! {
    #[test]
    fn content_is_read_as_it_was_written(content in content()) {
        prop_assert_eq!(content.validate(), Ok(()));
        let text = serde_json::to_string(&content).unwrap();
        let read: EventContent = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &content);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
