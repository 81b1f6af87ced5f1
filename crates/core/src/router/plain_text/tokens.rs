//! HTML cut into text and tags, without a tree (WHATWG HTML, "Tokenization").

/// A piece of an HTML document that matters for its text.
#[derive(Debug)]
pub(super) enum Token<'a> {
    /// Text as it was written, character references included.
    Text(&'a str),
    /// A start tag; whether it closes itself makes no difference in HTML.
    Start(Tag<'a>),
    /// The name in an end tag.
    End(&'a str),
}

/// A start tag as it was written; names keep their case.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    pub(super) name: &'a str,
    attributes: Vec<(&'a str, &'a str)>,
}

impl<'a> Tag<'a> {
    /// The value of an attribute, character references included; the first one of several counts.
    pub(super) fn attribute(&self, name: &str) -> Option<&'a str> {
        self.attributes
            .iter()
            .find(|(attribute, _)| attribute.eq_ignore_ascii_case(name))
            .map(|(_, value)| *value)
    }
}

/// Elements whose content is no markup and is not shown.
const HIDDEN: [&str; 7] = [
    "script", "style", "title", "template", "iframe", "noembed", "noframes",
];

/// The tokens of a document; comments, declarations and hidden content are left out.
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self { rest: source }
    }

    /// Everything up to the next `<`, not counting one at the very beginning.
    fn take_text(&mut self) -> Token<'a> {
        let mut chars = self.rest.chars();
        chars.next();
        let after_first = self.rest.len() - chars.as_str().len();
        let end = chars
            .as_str()
            .find('<')
            .map_or(self.rest.len(), |at| after_first + at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Token::Text(text)
    }

    /// Everything that is left, for markup that never ends.
    fn take_all(&mut self) -> Token<'a> {
        Token::Text(std::mem::take(&mut self.rest))
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        while !self.rest.is_empty() {
            let Some(markup) = self.rest.strip_prefix('<') else {
                return Some(self.take_text());
            };
            if let Some(comment) = markup.strip_prefix("!--") {
                self.rest = after_comment(comment);
            } else if markup.starts_with(|c: char| c.is_ascii_alphabetic()) {
                let Some((tag, rest)) = parse_tag(markup) else {
                    return Some(self.take_all());
                };
                self.rest = match HIDDEN
                    .iter()
                    .find(|name| tag.name.eq_ignore_ascii_case(name))
                {
                    Some(name) => after_hidden(rest, name),
                    None => rest,
                };
                return Some(Token::Start(tag));
            } else if let Some(end_tag) = markup.strip_prefix('/')
                && end_tag.starts_with(|c: char| c.is_ascii_alphabetic())
            {
                let Some((tag, rest)) = parse_tag(end_tag) else {
                    return Some(self.take_all());
                };
                self.rest = rest;
                return Some(Token::End(tag.name));
            } else if markup.starts_with(['!', '?', '/']) {
                let Some((_, rest)) = markup.split_once('>') else {
                    return Some(self.take_all());
                };
                self.rest = rest;
            } else {
                return Some(self.take_text());
            }
        }
        None
    }
}

/// What follows a comment whose `<!--` has been read: nothing when it never ends.
fn after_comment(comment: &str) -> &str {
    comment
        .strip_prefix('>')
        .or_else(|| comment.strip_prefix("->"))
        .or_else(|| comment.split_once("-->").map(|(_, rest)| rest))
        .unwrap_or("")
}

/// The end tag of a hidden element and what follows it: nothing when there is none.
fn after_hidden<'a>(source: &'a str, name: &str) -> &'a str {
    source
        .match_indices("</")
        .filter_map(|(at, _)| source.get(at..))
        .find(|end| {
            let closes = end
                .get(2..2 + name.len())
                .is_some_and(|closed| closed.eq_ignore_ascii_case(name));
            closes
                && end
                    .get(2 + name.len()..)
                    .is_some_and(|after| after.starts_with(ends_name))
        })
        .unwrap_or("")
}

/// Reads a tag from its name to its `>`, and gives what follows; `None` when it never ends.
fn parse_tag(source: &str) -> Option<(Tag<'_>, &str)> {
    let (name, mut rest) = split_before(source, ends_name);
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c| is_space(c) || c == '/');
        if let Some(after) = rest.strip_prefix('>') {
            return Some((Tag { name, attributes }, after));
        }
        if rest.is_empty() {
            return None;
        }
        let (attribute, after) = split_before(rest, |c| ends_name(c) || c == '=');
        let (value, after) = match after.trim_start_matches(is_space).strip_prefix('=') {
            Some(value) => parse_value(value.trim_start_matches(is_space))?,
            None => ("", after),
        };
        attributes.push((attribute, value));
        rest = after;
    }
}

fn parse_value(source: &str) -> Option<(&str, &str)> {
    if let Some(quoted) = source.strip_prefix('"') {
        quoted.split_once('"')
    } else if let Some(quoted) = source.strip_prefix('\'') {
        quoted.split_once('\'')
    } else {
        Some(split_before(source, |c| is_space(c) || c == '>'))
    }
}

fn split_before(source: &str, ends: impl Fn(char) -> bool) -> (&str, &str) {
    source.split_at(source.find(ends).unwrap_or(source.len()))
}

fn ends_name(c: char) -> bool {
    is_space(c) || c == '/' || c == '>'
}

/// ASCII white space as HTML has it.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}
