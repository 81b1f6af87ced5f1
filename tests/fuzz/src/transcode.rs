//! Content for a channel: what it cannot show becomes text, once and for all, and the text fits.
//!
//! An input is what the channel can do, a line end, and the content; what is no content is markup.

use std::num::NonZeroUsize;

use chrono::DateTime;
use futures_util::FutureExt;
use roomkit_core::model::{
    ChannelBinding, ChannelCapabilities, ChannelCategory, ChannelMediaType, ChannelType,
    EventContent,
};
use roomkit_core::router::gsm7::segments;
use roomkit_core::router::limit::{measure, split, truncate};
use roomkit_core::router::plain_text::{from_html, from_markdown};
use roomkit_core::router::{ContentTranscoder, DefaultContentTranscoder, in_words};

use crate::corpus::documents;

pub(crate) fn run(input: &str) {
    let Some((able, content)) = input.split_once('\n') else {
        return;
    };
    let Ok(able) = serde_json::from_str::<ChannelCapabilities>(able) else {
        return;
    };
    match serde_json::from_str::<EventContent>(content) {
        Ok(content) => transcoded(&able, &content),
        Err(_) => {
            for plain in [from_html(content), from_markdown(content)] {
                assert!(
                    !plain.starts_with('\n') && !plain.ends_with('\n'),
                    "plain text with a line end around it: {plain:?}"
                );
                fits(&able, &plain);
            }
            fits(&able, content);
        }
    }
}

fn transcoded(able: &ChannelCapabilities, content: &EventContent) {
    let words = in_words(content);
    fits(able, &words);
    let (category, then) = (ChannelCategory::Transport, DateTime::UNIX_EPOCH);
    let mut target = ChannelBinding::new("room", "channel", ChannelType::Sms, category, then);
    target.capabilities = able.clone().into();
    let Some(shown) = transcode(content, &target) else {
        return;
    };
    assert_eq!(shown.validate(), Ok(()), "not acceptable: {shown:?}");
    assert_eq!(
        transcode(&shown, &target).as_ref(),
        Some(&shown),
        "what can be shown is changed again"
    );
    can_show(able, &shown);
    if DefaultContentTranscoder.passes(content, able) {
        assert_eq!(&shown, content, "passes, and is changed all the same");
    }
    if let EventContent::Text(text) = &shown {
        fits(able, &text.body);
    }
}

fn transcode(content: &EventContent, target: &ChannelBinding) -> Option<EventContent> {
    let shown = DefaultContentTranscoder.transcode(content, None, target);
    let shown = shown.now_or_never().expect("it waits for nothing");
    shown.expect("it never fails")
}

fn can_show(able: &ChannelCapabilities, shown: &EventContent) {
    match shown {
        EventContent::Composite(composite) => {
            composite.parts.iter().for_each(|part| can_show(able, part));
        }
        EventContent::Edit(_) => assert!(able.supports_edit, "an edit that cannot be shown"),
        EventContent::Delete(_) => assert!(able.supports_delete, "a delete that cannot be shown"),
        other => {
            let media = other
                .media_type()
                .filter(|media| *media != ChannelMediaType::Text);
            assert!(
                media.is_none_or(|media| able.supports(media)),
                "cannot be shown: {other:?}"
            );
        }
    }
}

/// A text cut to the channel's limit is within it, and its pieces are the text.
fn fits(able: &ChannelCapabilities, text: &str) {
    let _ = segments(text);
    let Some(max) = able.max_length else { return };
    let unit = able.max_length_unit;
    let cut = truncate(text, max, unit);
    assert!(measure(&cut, unit) <= max, "too long: {cut:?}");
    assert_eq!(truncate(&cut, max, unit), cut, "cut again");
    let Some(max) = NonZeroUsize::new(max) else {
        return;
    };
    let pieces = split(text, max, unit);
    assert_eq!(pieces.concat(), text, "something is lost");
    for piece in pieces {
        let fits = measure(piece, unit) <= max.get() || piece.chars().count() == 1;
        assert!(
            fits && !piece.is_empty(),
            "a piece that does not fit: {piece:?}"
        );
    }
}

pub(crate) fn seeds() -> Vec<String> {
    let able = [
        "{}",
        r#"{"max_length":5}"#,
        r#"{"max_length":20,"max_length_unit":"gsm7","overflow":"split"}"#,
        r#"{"media_types":["text","rich","media","audio","video","location","template"],"supports_edit":true,"supports_delete":true}"#,
    ];
    let markup = [
        "<p>One <b>two</b> &amp; <a href=\"https://example.org\">three</a></p><ul><li>four</li></ul>",
        "# One\n\n**two** [three](https://example.org) `four`\n\n- five\n- six\n\n| a | b |\n|---|---|\n| 1 | 2 |",
        "👨\u{200d}👩\u{200d}👧 e\u{301} €[]",
    ];
    let contents = documents().into_iter().filter_map(|(_, document)| {
        let content = document
            .get("content")
            .filter(|content| content.is_object())?;
        Some(content.to_string())
    });
    let contents: Vec<String> = contents.chain(markup.map(str::to_owned)).collect();
    able.iter()
        .flat_map(|able| {
            contents
                .iter()
                .map(move |content| format!("{able}\n{content}"))
        })
        .collect()
}
