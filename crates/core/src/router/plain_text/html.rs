//! What each HTML element means for plain text.

use html_escape::decode_html_entities;

use super::tokens::{Tag, Token, Tokens};
use super::writer::Writer;

/// Reads HTML, in one piece or several, into plain text.
#[derive(Default)]
pub(super) struct Html {
    pub(super) out: Writer,
    /// The `a` element that is open; a new one closes it.
    anchor: Option<usize>,
    /// How many `pre` elements are open.
    preformatted: usize,
    /// Whether a `pre` has just begun: a newline right behind its tag is not part of it.
    at_pre_start: bool,
}

impl Html {
    pub(super) fn feed(&mut self, source: &str) {
        for token in Tokens::new(source) {
            let after_pre = std::mem::take(&mut self.at_pre_start);
            match token {
                Token::Text(text) => self.text(text, after_pre),
                Token::Start(tag) => self.start(&tag),
                Token::End(name) => self.end(name),
            }
        }
    }

    fn text(&mut self, text: &str, after_pre: bool) {
        if self.preformatted == 0 {
            self.out.text(&decode_html_entities(text));
            return;
        }
        let written = if after_pre {
            text.strip_prefix("\r\n")
                .or_else(|| text.strip_prefix('\n'))
                .unwrap_or(text)
        } else {
            text
        };
        self.out.verbatim(&decode_html_entities(written));
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag.name.to_ascii_lowercase().as_str() {
            "a" => {
                self.close_anchor();
                let url = tag.attribute("href").unwrap_or("");
                self.anchor = Some(self.out.open_link(&decode_html_entities(url)));
            }
            "img" => self.image(tag),
            "br" => self.out.line_break(),
            "ul" | "menu" | "dir" => self.out.start_list(None),
            "ol" => {
                let first = tag
                    .attribute("start")
                    .and_then(|first| first.trim().parse().ok());
                self.out.start_list(Some(first.unwrap_or(1)));
            }
            "li" => self.out.start_item(),
            "td" | "th" => self.cell(),
            "pre" => {
                self.out.block();
                self.preformatted += 1;
                self.at_pre_start = true;
            }
            name if is_block(name) => self.out.block(),
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        match name.to_ascii_lowercase().as_str() {
            "a" => self.close_anchor(),
            "ul" | "menu" | "dir" | "ol" => self.out.end_list(),
            "li" => self.out.end_item(),
            "pre" => {
                self.out.block();
                self.preformatted = self.preformatted.saturating_sub(1);
            }
            name if is_block(name) => self.out.block(),
            _ => {}
        }
    }

    fn close_anchor(&mut self) {
        if let Some(depth) = self.anchor.take() {
            self.out.close_links(depth);
        }
    }

    fn image(&mut self, tag: &Tag<'_>) {
        let alt = tag.attribute("alt").map(decode_html_entities);
        if alt.as_ref().is_some_and(|alt| alt.trim().is_empty()) {
            return;
        }
        let url = tag.attribute("src").unwrap_or("");
        let image = self.out.open_link(&decode_html_entities(url));
        self.out.text(&alt.unwrap_or_default());
        self.out.close_links(image);
    }

    /// Begins a cell. Tables also lay pages out: empty cells that lead a line are no data.
    fn cell(&mut self) {
        if self.out.at_line_start() {
            self.out.block();
        }
        self.out.cell();
    }
}

/// Whether an element stands on lines of its own (WHATWG HTML, "Rendering").
fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "body"
            | "caption"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "head"
            | "header"
            | "hgroup"
            | "hr"
            | "html"
            | "legend"
            | "listing"
            | "main"
            | "nav"
            | "optgroup"
            | "option"
            | "p"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "tfoot"
            | "thead"
            | "tr"
            | "xmp"
    )
}
