//! Rich text as plain text, case by case.

use std::time::{Duration, Instant};

use roomkit_core::router::plain_text::{from_html, from_markdown};

#[test]
fn markdown_becomes_plain_text() {
    let cases = [
        ("", ""),
        ("**Choose**", "Choose"),
        (
            "**Bold** and _it_ with [link](https://example.com/x)",
            "Bold and it with link (https://example.com/x)",
        ),
        ("~~old~~ `new  code`", "old new  code"),
        ("Fish &amp; chips &copy; &#8364;5", "Fish & chips © €5"),
        (r"\*no emphasis\*", "*no emphasis*"),
        // Blocks and breaks.
        (
            "# Title\n\nText\n\n\nMore\n***\nEnd",
            "Title\nText\nMore\nEnd",
        ),
        ("Setext\n======\ntext", "Setext\ntext"),
        ("> quoted\n> twice\n\nplain", "quoted\ntwice\nplain"),
        ("soft\nbreak  \nhard\\\nbreak", "soft\nbreak\nhard\nbreak"),
        ("one<br>\ntwo\n<br>\nthree", "one\ntwo\n\nthree"),
        // Links and images.
        ("<https://example.com>", "https://example.com"),
        (
            "[https://example.com](https://example.com)",
            "https://example.com",
        ),
        ("- <https://example.com>", "- https://example.com"),
        ("<me@example.com>", "me@example.com"),
        ("[me@example.com](mailto:me@example.com)", "me@example.com"),
        ("[call](tel:+15550001111)", "call (tel:+15550001111)"),
        ("[](https://example.com)", "https://example.com"),
        (
            "see [**the** `docs`](https://e.org), ok",
            "see the docs (https://e.org), ok",
        ),
        (
            "[ref][1]\n\n[1]: https://e.org 'title'",
            "ref (https://e.org)",
        ),
        ("[top](#top) [empty]() [x](javascript:alert)", "top empty x"),
        (
            "![a cat](https://e.org/cat.png)",
            "a cat (https://e.org/cat.png)",
        ),
        ("![](https://e.org/cat.png)", "https://e.org/cat.png"),
        ("![dot](data:image/png;base64,AAAA)", "dot"),
        (
            "[![logo](https://e.org/l.png)](https://e.org)",
            "logo (https://e.org/l.png) (https://e.org)",
        ),
        // Lists.
        (
            "- one\n- two\n  - two a\n\n    more\n- three",
            "- one\n- two\n  - two a\nmore\n- three",
        ),
        ("3. three\n4. four\n\nend", "3. three\n4. four\nend"),
        ("1. loose\n\n2. list", "1. loose\n2. list"),
        ("- [ ] open\n- [x] done", "- [ ] open\n- [x] done"),
        ("- \n- two\n-\n\nend", "- two\nend"),
        // Tables.
        (
            "| name | *age* |\n|---|--:|\n| Ann | 5 |\n| Bob | |\n| | 7 |\n\nend",
            "name | age\nAnn | 5\nBob\n| 7\nend",
        ),
        (
            "| a | b | c |\n|---|---|---|\n| 1 | | 3 |",
            "a | b | c\n1 | | 3",
        ),
        // Code.
        (
            "Run:\n\n```sh\nif a; then\n\n    b **c** &amp; <d>\nfi\n```\ndone",
            "Run:\nif a; then\n\n    b **c** &amp; <d>\nfi\ndone",
        ),
        ("    indented\n      more", "indented\n  more"),
        // HTML inside.
        (
            "a <b>bold</b> <!-- note -->word<br>next",
            "a bold word\nnext",
        ),
        (
            "<a href=\"https://e.org\">site</a> is *up*",
            "site (https://e.org) is up",
        ),
        (
            "<div>\n<p>in&nbsp;html</p>\n<ul><li>x</ul>\n</div>\n\n*out*",
            "in\u{a0}html\n- x\nout",
        ),
        ("<details>\n\n*inside*\n\n</details>", "inside"),
        ("a < b and c > d", "a < b and c > d"),
        ("two  spaces\tand a tab", "two spaces and a tab"),
    ];
    for (source, expected) in cases {
        assert_eq!(from_markdown(source), expected, "{source:?}");
    }
}

#[test]
fn html_becomes_plain_text() {
    let cases = [
        ("", ""),
        ("<b>x</b>", "x"),
        ("<p>Fish &amp; chips</p><p>now</p>", "Fish & chips\nnow"),
        // White space and blocks.
        ("  a \n\t b  <i> c</i>  d ", "a b c d"),
        ("a<b>b</b>c", "abc"),
        ("<div><div>\n<p> one </p>\n\n</div></div> two", "one\ntwo"),
        ("a<br>b<br/>c<br><br>d", "a\nb\nc\n\nd"),
        ("<p>a<br></p><p><br></p><br><p>b</p>", "a\nb"),
        ("<p>a</p><p>&nbsp;</p><p>b</p>", "a\nb"),
        ("<h1>T</h1>text<hr>end", "T\ntext\nend"),
        ("<P CLASS=x>A</P\n><DIV>B</DIV>", "A\nB"),
        // Entities.
        (
            "&lt;b&gt; &quot;&#39;&apos; &#x20AC; &eacute; &hellip;",
            "<b> \"'' € é …",
        ),
        (
            "a &amp;amp; b &unknown; c & d &#xD800; &#0; &;",
            "a &amp; b &unknown; c & d &#xD800; &#0; &;",
        ),
        // What is not shown.
        (
            "<style>p { color: red }</style>a<script>if (a < b) { '</p>' }</SCRIPT >b",
            "ab",
        ),
        ("<head><title>T</title></head><body>a</body>", "a"),
        (
            "a<!-- <p>x</p> -- > -->b<!-->c<!--->d<!DOCTYPE html><?xml?>e",
            "abcde",
        ),
        ("a<script>never closed", "a"),
        ("a<!-- never closed", "a"),
        ("<scripty>shown</scripty>", "shown"),
        // Links and images.
        (
            "<a href=\"https://e.org/?a=1&amp;b=2\">x</a>",
            "x (https://e.org/?a=1&b=2)",
        ),
        (
            "<a href=https://e.org/>https://e.org/</a>",
            "https://e.org/",
        ),
        (
            "<a href='https://e.org' title=\"a>b\"> x </a>y",
            "x (https://e.org) y",
        ),
        ("see <a href='https://e.org'></a>.", "see https://e.org."),
        (
            "<a href='https://e.org'><p>block</p></a>after",
            "block (https://e.org)\nafter",
        ),
        ("<a name=x>anchor</a> <a href='#x'>jump</a>", "anchor jump"),
        ("<a href=' https://e.\norg '>open", "open (https://e.org)"),
        ("<a href=u>one<a href=v>two</a></a>", "one (u)two (v)"),
        ("<ul><li><a href=u>u</a></ul>", "- u"),
        ("<img src=u alt='a &lt; b'>", "a < b (u)"),
        ("<img src=u><img src=pixel alt=''>", "u"),
        ("<img alt=x src='DATA:image/gif;base64,R0'>", "x"),
        // Lists.
        (
            "<ul><li>a<li>b<ul><li>c</li></ul></li></ul>d",
            "- a\n- b\n  - c\nd",
        ),
        ("<ol start=9><li><p>a</p></li><li>b</ol>", "9. a\n10. b"),
        ("<ol start=x><li></li><li>b</li></ol>", "2. b"),
        ("<li>stray</li></ul></ol></li>x", "- stray\nx"),
        // Tables.
        (
            "<table><tr><th>a<th>b</tr><tr><td>1</td><td></td><td>3</td></tr></table>",
            "a | b\n1 | | 3",
        ),
        (
            "<table><tr><td></td><td> </td><td><p>laid out</p></td></tr></table>",
            "laid out",
        ),
        ("<tr><td>a</td><td>&nbsp;</td></tr>", "a"),
        // Preformatted.
        ("<pre>\n  a &lt;\n\n\tb\r\n</pre>c  d", "  a <\n\n\tb\nc d"),
        ("</pre>a  b", "a b"),
        // Malformed.
        ("a < b <3 you </3", "a < b <3 you </3"),
        ("x <", "x <"),
        ("</>a</ b>c", "ac"),
        (
            "a <b class=\"never closed>b</b>",
            "a <b class=\"never closed>b</b>",
        ),
        ("a <b", "a <b"),
        ("<a =x ==y / href = 'u' HREF=v/>t</a/ >", "t (u)"),
        ("<p don't>a</p>", "a"),
    ];
    for (source, expected) in cases {
        assert_eq!(from_html(source), expected, "{source:?}");
    }
}

#[test]
fn hostile_documents_take_time_and_space_in_proportion() {
    let size = 20_000;
    let start = Instant::now();
    for unit in [
        "<",
        "<a ",
        "<a href='",
        "<a href=u>",
        "</",
        "<!",
        "<!--",
        "<!-- -->",
        "<script>",
        "</script",
        "<script></script",
        "<ul><li>x",
        "<ol><li>",
        "<td>",
        "<pre>\n",
        "<br>",
        "&",
        "&#",
        "&#x",
        "&amp",
        "<a b=c ",
        "<p>",
        "> ",
        "- ",
        "1. ",
        "* a\n",
        "[",
        "![",
        "[x](",
        "[x](y",
        "`",
        "``",
        "*",
        "_a",
        "~",
        "|",
        "a|b\n",
        "<b>",
        "\n",
        "\u{a0}",
    ] {
        let source = unit.repeat(size);
        let indent_and_marker = 16 + 24;
        let most = source.len() + size * indent_and_marker;
        assert!(from_html(&source).len() <= most, "HTML of {unit:?}");
        assert!(from_markdown(&source).len() <= most, "Markdown of {unit:?}");
    }
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

/// Images in images that share one long label of white space.
#[test]
fn links_in_links_are_read_in_linear_time() {
    let (depth, spaces) = (20_000, "\u{a0}".repeat(80_000));
    for (label, url) in [(format!("{spaces}x"), "u"), (format!("x{spaces}"), "x")] {
        let source = format!(
            "a {}{label}{}",
            "![".repeat(depth),
            format!("]({url})").repeat(depth)
        );
        let started = std::time::Instant::now();
        let text = from_markdown(&source);
        assert!(text.len() <= source.len());
        let seconds = started.elapsed().as_secs();
        assert!(seconds < 10, "{seconds} s, a tenth of one is plenty");
    }
}
