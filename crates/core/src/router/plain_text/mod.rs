//! Rich text as a channel of plain text carries it.
//!
//! Both formats follow the same rules:
//!
//! - **Marks go**, their text stays: emphasis, headings, quotes, tags. Entities are decoded.
//! - **Blocks** (paragraphs, headings, list items, table rows, …) stand on lines of their own with one
//!   newline between them, never an empty line. Each line break inside of a block is a newline.
//! - **A link** becomes `text (url)`; only one of both when they are the same (also apart from
//!   `mailto:` or `tel:`) or when there is no text. **An image** does the same with its alternative
//!   text. A URL that leads nowhere from plain text is left out: an empty one, `#fragment`, `data:`
//!   and `javascript:`.
//! - **Lists** keep their markers, since a reader is often asked to answer with one: `- ` or `1. `, one
//!   item a line, two spaces further in for each level. Items of a task list read `- [x] done`.
//! - **Cells** of a table row are separated by ` | `.
//! - **Code** stays as it was written, spaces and empty lines included. In all other text runs of white
//!   space are one space, as a browser shows them.
//!
//! Every input has a result, however malformed, in time linear in its length.

mod html;
mod markdown;
mod tokens;
mod writer;

/// The plain text of a Markdown document: CommonMark with the tables, strikethrough and task lists
/// of GitHub.
///
/// A soft line break is a newline, as in the chats where such texts are written. The tags of inline
/// HTML and of HTML blocks are treated as in [`from_html`].
///
/// ```
/// use roomkit_core::router::plain_text::from_markdown;
///
/// let text = from_markdown("**Bold** and _it_ with [link](https://example.com/x)");
/// assert_eq!(text, "Bold and it with link (https://example.com/x)");
/// ```
#[must_use]
pub fn from_markdown(source: &str) -> String {
    let mut html = html::Html::default();
    markdown::write(source, &mut html);
    html.out.finish()
}

/// The plain text of an HTML document or fragment.
///
/// Tags and comments go, and so does the content that a page does not show: `script`, `style`,
/// `title`, `template`, `iframe`, `noembed` and `noframes`. `<br>` and the edges of block elements
/// are newlines. An image without `alt` becomes its URL; one whose `alt` is empty is decoration and
/// goes. Character references are decoded when they end in a semicolon.
///
/// Malformed markup is read as a browser does (WHATWG HTML, "Tokenization"), but for a tag that never
/// ends: what follows its `<` is kept as text, so that nothing a person wrote is lost.
///
/// ```
/// use roomkit_core::router::plain_text::from_html;
///
/// assert_eq!(from_html("<p>Fish &amp; chips</p><p>now</p>"), "Fish & chips\nnow");
/// ```
#[must_use]
pub fn from_html(source: &str) -> String {
    let mut html = html::Html::default();
    html.feed(source);
    html.out.finish()
}
