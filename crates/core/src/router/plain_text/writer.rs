//! Plain text as it is put together: what is owed between two words, list markers, links.

use super::tokens::is_space;

/// How many levels a nested list is indented at most; it keeps the output linear in the input.
const DEEPEST_INDENT: usize = 8;

/// Writes plain text. What separates two pieces of text is owed until the second one comes, so the
/// result neither begins nor ends with it.
#[derive(Default)]
pub(super) struct Writer {
    text: String,
    /// Where the text ends but for the white space at its end.
    end: usize,
    /// Newlines owed.
    breaks: usize,
    /// Whether a block has begun or ended and no text has come since.
    at_block_edge: bool,
    /// Whether a space is owed.
    space: bool,
    /// The list marker owed.
    marker: String,
    /// Whether the line is a table row that has had a cell.
    in_row: bool,
    /// Cell separators owed.
    separators: usize,
    /// The open lists: the number of the next item, or `None` for bullets.
    lists: Vec<Option<u64>>,
    links: Vec<Link>,
}

/// A link or image that is open.
struct Link {
    url: String,
    /// Where its text begins, once there is some that is not white space.
    start: Option<usize>,
}

impl Writer {
    /// Adds text in which a run of white space counts as one space.
    pub(super) fn text(&mut self, text: &str) {
        for (index, word) in text.split(is_space).enumerate() {
            self.space |= index > 0;
            // A line or cell of nothing but no-break spaces is empty to a reader.
            let word = if self.nothing_before() {
                word.trim_start()
            } else {
                word
            };
            if !word.is_empty() {
                self.settle();
                self.push(word);
            }
        }
    }

    /// Adds text as it is.
    pub(super) fn verbatim(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            self.breaks += usize::from(index > 0);
            let line = line.strip_suffix('\r').unwrap_or(line);
            if !line.is_empty() {
                self.settle();
                self.push(line);
            }
        }
    }

    /// Begins a new line inside of a block; at its edge there already is one.
    pub(super) fn line_break(&mut self) {
        self.breaks += usize::from(!self.at_block_edge);
        self.space = false;
    }

    /// Begins a new line where the source does, unless one is owed already.
    pub(super) fn soft_break(&mut self) {
        self.breaks = self.breaks.max(1);
        self.space = false;
    }

    /// Marks the edge of a block: what follows stands on the next line.
    pub(super) fn block(&mut self) {
        self.breaks = 1;
        self.at_block_edge = true;
        self.space = false;
        self.in_row = false;
        self.separators = 0;
    }

    /// Begins a table cell. The row begins with a [`block`](Self::block).
    pub(super) fn cell(&mut self) {
        self.separators += usize::from(self.in_row);
        self.in_row = true;
        self.space = false;
    }

    /// Opens a list that counts from `first`, or one with bullets.
    pub(super) fn start_list(&mut self, first: Option<u64>) {
        self.block();
        self.lists.push(first);
    }

    pub(super) fn end_list(&mut self) {
        self.end_item();
        self.lists.pop();
    }

    pub(super) fn start_item(&mut self) {
        self.block();
        let depth = self.lists.len().saturating_sub(1).min(DEEPEST_INDENT);
        self.marker = "  ".repeat(depth);
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.marker.push_str(&format!("{number}. "));
                *number = number.saturating_add(1);
            }
            _ => self.marker.push_str("- "),
        }
    }

    /// Marks the current item as a task.
    pub(super) fn task(&mut self, done: bool) {
        self.marker.push_str(if done { "[x] " } else { "[ ] " });
    }

    pub(super) fn end_item(&mut self) {
        self.block();
        self.marker.clear();
    }

    /// Begins a link or image; its text follows. Returns what [`close_links`](Self::close_links)
    /// takes to end it.
    pub(super) fn open_link(&mut self, url: &str) -> usize {
        let depth = self.links.len();
        let url = url.trim().split(['\t', '\n', '\r']).collect();
        self.links.push(Link { url, start: None });
        depth
    }

    /// Ends the link that was opened at this depth, if it still is, and every one inside of it.
    pub(super) fn close_links(&mut self, depth: usize) {
        while self.links.len() > depth
            && let Some(link) = self.links.pop()
        {
            self.close(&link);
        }
    }

    fn close(&mut self, link: &Link) {
        let url = link.url.as_str();
        if leads_nowhere(url) {
            return;
        }
        // Its edges are known: links lie in one another, and may not each read the text again.
        let label = link
            .start
            .and_then(|start| self.text.get(start..self.end))
            .unwrap_or("");
        if label == url || label == without_scheme(url) {
            return;
        }
        if label.is_empty() {
            self.verbatim(url);
        } else {
            // Behind the last word of the link, before anything that is owed.
            self.text.push_str(" (");
            self.text.push_str(url);
            self.text.push(')');
            self.end = self.text.len();
        }
    }

    /// The text, with every link closed.
    pub(super) fn finish(mut self) -> String {
        self.close_links(0);
        self.text
    }

    /// Whether the current line has no text yet.
    pub(super) fn at_line_start(&self) -> bool {
        self.text.is_empty() || self.breaks > 0
    }

    fn nothing_before(&self) -> bool {
        self.at_line_start() || self.separators > 0
    }

    /// Writes what is owed, right before text is added.
    fn settle(&mut self) {
        let line_start = self.at_line_start();
        if !self.text.is_empty() {
            self.text.extend(std::iter::repeat_n('\n', self.breaks));
        }
        self.text.push_str(&self.marker);
        if self.separators > 0 {
            self.text.push_str(if line_start { "" } else { " " });
            self.text.extend(std::iter::repeat_n("| ", self.separators));
        } else if self.space && !line_start {
            self.text.push(' ');
        }
        self.breaks = 0;
        self.at_block_edge = false;
        self.space = false;
        self.separators = 0;
        self.marker.clear();
    }

    /// Adds text right behind what there is.
    fn push(&mut self, text: &str) {
        let begun = text.trim_start();
        if begun.is_empty() {
            self.text.push_str(text);
            return;
        }
        let start = self.text.len() + (text.len() - begun.len());
        self.text.push_str(text);
        self.end = start + begun.trim_end().len();
        for link in self
            .links
            .iter_mut()
            .rev()
            .take_while(|link| link.start.is_none())
        {
            link.start = Some(start);
        }
    }
}

/// Whether a reader of plain text has no use for this URL.
fn leads_nowhere(url: &str) -> bool {
    url.is_empty()
        || url.starts_with('#')
        || ["data:", "javascript:"].iter().any(|scheme| {
            url.get(..scheme.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        })
}

/// The address in a `mailto:` or `tel:` URL.
fn without_scheme(url: &str) -> &str {
    url.strip_prefix("mailto:")
        .or_else(|| url.strip_prefix("tel:"))
        .unwrap_or(url)
}
