//! What holds for every text.

use std::num::NonZeroUsize;

use proptest::prelude::*;
use roomkit_core::model::LengthUnit;
use roomkit_core::router::gsm7::{Encoding, segments, septets};
use roomkit_core::router::limit::{measure, split, truncate};
use roomkit_core::router::plain_text::{from_html, from_markdown};
use unicode_segmentation::UnicodeSegmentation;

/// Text of all planes: joined emoji, flags, combining marks, escapes, line ends.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => prop::sample::select(vec![
            "a", "word", " ", "\n", "\r\n", "\u{a0}", "|", "€", "é", "e\u{301}", "∞", "中",
            "\u{301}", "\u{200d}", "🙂", "👨\u{200d}👩\u{200d}👧", "👍🏽", "🇩🇪", "🇫", "क्षि", "각", "\u{600}",
        ])
        .prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

fn unit() -> impl Strategy<Value = LengthUnit> {
    prop::sample::select(vec![
        LengthUnit::Characters,
        LengthUnit::Utf16,
        LengthUnit::Bytes,
        LengthUnit::Gsm7,
    ])
}

fn limit() -> impl Strategy<Value = NonZeroUsize> {
    (1..60usize).prop_filter_map("above zero", NonZeroUsize::new)
}

fn markup() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        3 => prop::sample::select(vec![
            "<", ">", "</", "/>", "<!--", "-->", "<a href=", "</a>", "<p>", "<li>", "<ul>", "</ul>",
            "<td>", "<tr>", "<pre>", "</pre>", "<script>", "</script>", "<br>", "'", "\"", "=", "&amp;",
            "&#", ";", "[", "](", ")", "![", "**", "_", "`", "```\n", "\n", "\n\n", "- ", "1. ", "> ",
            "# ", "|", "---", " ", "word",
        ])
        .prop_map(String::from),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(part, 0..40).prop_map(|parts| parts.concat())
}

/// The offsets at which a grapheme of `text` ends, longest first, and 0.
fn boundaries(text: &str) -> impl Iterator<Item = usize> {
    text.grapheme_indices(true).map(|(start, _)| start).rev()
}

proptest! {
    #[test]
    fn a_cut_text_is_the_longest_that_fits(text in text(), max in 0..60usize, unit in unit()) {
        let cut = truncate(&text, max, unit);
        prop_assert!(measure(&cut, unit) <= max);

        let dots = if max < 4 { "" } else { "..." };
        let expected = if measure(&text, unit) <= max {
            text.clone()
        } else {
            boundaries(&text)
                .map(|end| format!("{}{dots}", &text[..end]))
                .find(|candidate| measure(candidate, unit) <= max)
                .unwrap_or_default()
        };
        prop_assert_eq!(cut, expected);
    }

    #[test]
    fn pieces_fit_and_join_to_the_text(text in text(), max in limit(), unit in unit()) {
        let pieces = split(&text, max, unit);
        prop_assert_eq!(pieces.concat(), text.as_str());
        for piece in pieces {
            prop_assert!(!piece.is_empty());
            prop_assert!(
                measure(piece, unit) <= max.get() || piece.chars().count() == 1,
                "{:?} is over {} {:?}", piece, max, unit
            );
        }
    }

    #[test]
    fn a_grapheme_that_fits_is_never_cut(text in text(), max in limit(), unit in unit()) {
        let mut ends = Vec::new();
        let mut end = 0;
        for piece in split(&text, max, unit) {
            end += piece.len();
            ends.push(end);
        }
        for (start, grapheme) in text.grapheme_indices(true) {
            let inside = start + 1..start + grapheme.len();
            let cut = ends.iter().any(|end| inside.contains(end));
            prop_assert!(!cut || measure(grapheme, unit) > max.get(), "{:?} was cut", grapheme);
        }
    }

    #[test]
    fn segments_hold_their_units(text in text()) {
        let sent = segments(&text);
        let in_alphabet = text.chars().all(|c| septets(c).is_some());
        prop_assert_eq!(sent.encoding, if in_alphabet { Encoding::Gsm7 } else { Encoding::Ucs2 });
        prop_assert_eq!(sent.units, measure(&text, LengthUnit::Gsm7));
        let room = match sent.segments {
            0 | 1 => sent.segments * sent.encoding.single_segment(),
            segments => segments * sent.encoding.joined_segment(),
        };
        prop_assert!(sent.units <= room);
        // Each segment but the last leaves at most one unit empty.
        prop_assert!(sent.segments < 2 || sent.units > (sent.segments - 1) * (sent.encoding.joined_segment() - 1));
    }

    #[test]
    fn any_markup_has_plain_text(source in markup()) {
        for plain in [from_html(&source), from_markdown(&source)] {
            prop_assert!(!plain.starts_with('\n') && !plain.ends_with('\n'), "{:?}", plain);
        }
    }

    #[test]
    fn escaped_text_comes_back(words in prop::collection::vec("[!-~à-ÿ]{1,8}", 1..8)) {
        let text = words.join(" ");
        let escaped: String = text.chars().map(|c| format!("&#{};", u32::from(c))).collect();
        prop_assert_eq!(&from_html(&escaped), &text);
        prop_assert_eq!(&from_markdown(&escaped), &text);
    }
}
