//! The grammar of a mention, case by case.

use roomkit_core::turns::extract_mentions;

#[test]
fn mentions_follow_the_grammar() {
    let cases: &[(&str, &[&str])] = &[
        ("", &[]),
        ("@", &[]),
        ("@coder", &["coder"]),
        ("@b then @a then @b", &["b", "a"]),
        ("@Coder is not @coder", &["Coder", "coder"]),
        (
            "(@coder), [@qa-1]; \"@ops.eu\"",
            &["coder", "qa-1", "ops.eu"],
        ),
        // Addresses and doubled signs.
        ("mail foo@bar.com or a.b@c.d", &[]),
        ("foo_@bar 1@bar", &[]),
        ("@@coder @@@coder", &[]),
        ("@coder@home", &["coder"]),
        ("@a.@b", &["a.", "b"]),
        ("@-@b", &["b"]),
        // How a name begins.
        ("@_x @-x @.x", &[]),
        ("@1st @x_ @x-", &["1st", "x_", "x-"]),
        ("@é @日本", &[]),
        // Trailing punctuation: dots and dashes belong to the name, the rest does not.
        (
            "@coder. @coder- @coder.. @coder",
            &["coder.", "coder-", "coder..", "coder"],
        ),
        (
            "@coder, @coder! @coder? @coder: @coder; @coder… @coder)",
            &["coder"],
        ),
        ("@coder's @coder/qa", &["coder"]),
        // Other scripts: letters and numbers are word characters wherever they stand.
        (
            "@coderé @coder日本 @coder٣ @coderⅧ",
            &["coderé", "coder日本", "coder٣", "coderⅧ"],
        ),
        ("é@coder 日本@coder ٣@coder ²@coder Ⅷ@coder 一@coder", &[]),
        // Marks, joiners and symbols are not.
        (
            "कि@a e\u{301}@b \u{200d}@c 🙂@d Ⓐ@e",
            &["a", "b", "c", "d", "e"],
        ),
        ("@aकि @be\u{301}x @c\u{200d}x @dⒶ", &["aक", "be", "c", "d"]),
    ];
    for (text, mentions) in cases {
        assert_eq!(extract_mentions(text), *mentions, "{text:?}");
    }
}
