//! Measuring, cutting and splitting, case by case.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use roomkit_core::model::LengthUnit::{self, Bytes, Characters, Gsm7, Utf16};
use roomkit_core::router::limit::{measure, split, truncate};

const FAMILY: &str = "👨\u{200d}👩\u{200d}👧";

fn pieces(text: &str, max: usize, unit: LengthUnit) -> Vec<&str> {
    NonZeroUsize::new(max)
        .map(|max| split(text, max, unit))
        .unwrap_or_default()
}

#[test]
fn each_unit_measures_in_its_own_way() {
    //                 characters, utf-16, bytes, gsm-7
    let cases = [
        ("", [0, 0, 0, 0]),
        ("hello", [5, 5, 5, 5]),
        ("[é]", [3, 3, 4, 5]),
        ("ê|", [2, 2, 3, 2]),
        ("e\u{301}", [2, 2, 3, 2]),
        ("🙂", [1, 2, 4, 2]),
        (FAMILY, [5, 8, 18, 8]),
    ];
    for (text, lengths) in cases {
        let measured = [Characters, Utf16, Bytes, Gsm7].map(|unit| measure(text, unit));
        assert_eq!(measured, lengths, "{text:?}");
    }
    let bars = "|".repeat(69);
    assert_eq!(measure(&bars, Gsm7), 138);
    assert_eq!(measure(&format!("{bars}∞"), Gsm7), 70);
    assert_eq!(LengthUnit::default(), Characters);
}

#[test]
fn what_is_too_long_is_cut_with_dots() {
    let family_and_more = format!("{FAMILY}abcdef");
    let bars_and_infinity = format!("{}∞", "|".repeat(69));
    let infinities_and_bars = format!("{}{}", "∞".repeat(2), "|".repeat(69));
    let short = |bars: usize| format!("{}...", "|".repeat(bars));
    let cases = [
        ("exactly10!", 10, Characters, "exactly10!"),
        ("eleven char", 10, Characters, "eleven ..."),
        (
            "a considerably longer message than that",
            10,
            Characters,
            "a consi...",
        ),
        ("", 0, Characters, ""),
        ("ab", 0, Characters, ""),
        // Limits below 4 cut without dots.
        ("abcde", 1, Characters, "a"),
        ("abcde", 3, Characters, "abc"),
        ("abcde", 4, Characters, "a..."),
        ("abcd", 4, Characters, "abcd"),
        // Graphemes stay whole.
        ("e\u{301}e\u{301}e\u{301}", 5, Characters, "e\u{301}..."),
        ("e\u{301}e\u{301}e\u{301}", 3, Characters, "e\u{301}"),
        (&family_and_more, 8, Characters, &format!("{FAMILY}...")),
        (&family_and_more, 7, Characters, "..."),
        (&family_and_more, 4, Characters, "..."),
        (&family_and_more, 3, Characters, ""),
        ("🇩🇪🇫🇷🇮🇹", 5, Characters, "🇩🇪..."),
        ("🇩🇪🇫🇷🇮🇹", 4, Characters, "..."),
        ("a\r\nbcd", 5, Characters, "a..."),
        // Other units.
        ("🙂🙂🙂🙂", 8, Utf16, "🙂🙂🙂🙂"),
        ("🙂🙂🙂🙂", 7, Utf16, "🙂🙂..."),
        ("🙂🙂🙂🙂", 6, Utf16, "🙂..."),
        ("ééééé", 9, Bytes, "ééé..."),
        ("ééééé", 8, Bytes, "éé..."),
        ("[[[[[[", 11, Gsm7, "[[[[..."),
        ("[[[[[[", 10, Gsm7, "[[[..."),
        // 70 UTF-16 units fit 70; one unit less, and what is left counts septets again.
        (&bars_and_infinity, 70, Gsm7, &bars_and_infinity),
        (&bars_and_infinity, 69, Gsm7, &short(33)),
        (&infinities_and_bars, 70, Gsm7, &format!("∞∞{}", short(65))),
    ];
    for (text, max, unit, expected) in cases {
        assert_eq!(
            truncate(text, max, unit),
            expected,
            "{text:?} to {max} {unit:?}"
        );
    }
    assert!(matches!(
        truncate("short", 10, Characters),
        Cow::Borrowed("short")
    ));
}

#[test]
fn what_is_too_long_is_split_at_the_best_place() {
    let cases: &[(&str, usize, LengthUnit, &[&str])] = &[
        ("", 5, Characters, &[]),
        ("short", 5, Characters, &["short"]),
        ("one two three", 8, Characters, &["one two ", "three"]),
        ("one two three", 7, Characters, &["one ", "two ", "three"]),
        (
            "line\nanother line",
            10,
            Characters,
            &["line\n", "another ", "line"],
        ),
        ("crlf\r\nline", 6, Characters, &["crlf\r\n", "line"]),
        ("crlf\r\nline", 5, Characters, &["crlf", "\r\nlin", "e"]),
        ("abcdefghij", 4, Characters, &["abcd", "efgh", "ij"]),
        (
            "no\u{a0}break here",
            9,
            Characters,
            &["no\u{a0}break ", "here"],
        ),
        ("no\u{a0}break", 5, Characters, &["no\u{a0}br", "eak"]),
        ("   ", 2, Characters, &["  ", " "]),
        ("ab   cd", 3, Characters, &["ab ", "  c", "d"]),
        // A mark on a space belongs to it.
        ("a \u{301}b", 2, Characters, &["a", " \u{301}", "b"]),
        // Graphemes stay whole while they fit, else scalar values do.
        ("🇩🇪🇫🇷🇮🇹", 3, Characters, &["🇩🇪", "🇫🇷", "🇮🇹"]),
        (
            "ae\u{301}\u{302}\u{303}b",
            2,
            Characters,
            &["a", "e\u{301}", "\u{302}\u{303}", "b"],
        ),
        ("\u{600}🇩🇪🇫🇷", 2, Characters, &["\u{600}🇩", "🇪", "🇫🇷"]),
        ("🙂🙂🙂", 5, Utf16, &["🙂🙂", "🙂"]),
        ("éé", 3, Bytes, &["é", "é"]),
        ("[[[", 5, Gsm7, &["[[", "["]),
        ("[[[∞∞∞", 5, Gsm7, &["[[[∞∞", "∞"]),
        // One scalar value that is longer than the limit.
        ("a🙂b", 1, Utf16, &["a", "🙂", "b"]),
        ("a🙂b", 3, Bytes, &["a", "🙂", "b"]),
        ("a|b", 1, Gsm7, &["a", "|", "b"]),
    ];
    for (text, max, unit, expected) in cases {
        assert_eq!(
            pieces(text, *max, *unit),
            *expected,
            "{text:?} by {max} {unit:?}"
        );
    }
}

#[test]
fn a_long_text_takes_time_in_proportion() {
    let size = 20_000;
    let start = Instant::now();
    for text in [
        "a".repeat(size),
        "\u{301}".repeat(size),
        "🇩".repeat(size),
        format!("a{}", "\u{200d}👧".repeat(size)),
        "a bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb".repeat(size / 20),
        "|".repeat(size) + "∞",
    ] {
        for unit in [Characters, Utf16, Bytes, Gsm7] {
            for max in [1, 160, size / 2] {
                assert_eq!(pieces(&text, max, unit).concat(), text);
                assert!(measure(&truncate(&text, max, unit), unit) <= max);
            }
        }
    }
    // Quadratic work would take minutes.
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}
