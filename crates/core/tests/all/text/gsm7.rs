//! The GSM 7-bit alphabet and the edges of SMS segments.

use roomkit_core::router::gsm7::{Encoding, Segments, segments, septets};

#[test]
fn the_alphabet_has_127_characters_of_one_septet_and_10_of_two() {
    let costs = |cost| {
        (char::MIN..=char::MAX)
            .filter(|c| septets(*c) == Some(cost))
            .count()
    };
    assert_eq!(
        costs(1),
        127,
        "128 places, one of which is the escape itself"
    );
    assert_eq!(costs(2), 10);

    assert!(
        ('A'..='Z')
            .chain('a'..='z')
            .chain('0'..='9')
            .all(|c| septets(c) == Some(1))
    );
    assert!(
        "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./:;<=>?¡ÄÖÑÜ§¿äöñüà"
            .chars()
            .all(|c| septets(c) == Some(1))
    );
    assert!("\u{c}^{}\\[~]|€".chars().all(|c| septets(c) == Some(2)));
    for c in "`çáíóúê\t\u{1b}\u{a0}’“…–Αα\u{2126}🙂".chars() {
        assert_eq!(septets(c), None, "{c:?}");
    }
}

#[test]
fn segments_have_their_edges() {
    use Encoding::{Gsm7, Ucs2};

    let many = |unit: &str, times: usize| unit.repeat(times);
    let cases = [
        ("empty", String::new(), Gsm7, 0, 0),
        ("one", many("a", 1), Gsm7, 1, 1),
        ("a full single segment", many("a", 160), Gsm7, 160, 1),
        ("one more", many("a", 161), Gsm7, 161, 2),
        ("two full segments", many("a", 306), Gsm7, 306, 2),
        ("one more than two", many("a", 307), Gsm7, 307, 3),
        ("three full segments", many("a", 459), Gsm7, 459, 3),
        ("escapes in one segment", many("|", 69), Gsm7, 138, 1),
        ("80 escapes are full", many("|", 80), Gsm7, 160, 1),
        ("81 escapes", many("|", 81), Gsm7, 162, 2),
        // 153 is odd: 76 pairs leave one septet empty, so 153 pairs need a third segment.
        ("152 escapes", many("|", 152), Gsm7, 304, 2),
        (
            "an escape is not cut from its character",
            many("|", 153),
            Gsm7,
            306,
            3,
        ),
        (
            "nor at the edge of plain text",
            many("a", 152) + "€" + &many("a", 152),
            Gsm7,
            306,
            3,
        ),
        (
            "but fits where it begins earlier",
            many("a", 151) + "€" + &many("a", 153),
            Gsm7,
            306,
            2,
        ),
        ("one other character", many("|", 69) + "∞", Ucs2, 70, 1),
        ("a full UCS-2 segment", many("∞", 70), Ucs2, 70, 1),
        ("one more", many("∞", 71), Ucs2, 71, 2),
        ("two full UCS-2 segments", many("∞", 134), Ucs2, 134, 2),
        ("one more than two", many("∞", 135), Ucs2, 135, 3),
        ("35 emoji", many("🙂", 35), Ucs2, 70, 1),
        ("36 emoji", many("🙂", 36), Ucs2, 72, 2),
        // 67 is odd too: 33 pairs a segment.
        ("66 emoji", many("🙂", 66), Ucs2, 132, 2),
        ("a surrogate pair is not cut", many("🙂", 67), Ucs2, 134, 3),
    ];
    for (name, text, encoding, units, count) in cases {
        assert_eq!(
            segments(&text),
            Segments {
                encoding,
                units,
                segments: count
            },
            "{name}"
        );
    }
}
