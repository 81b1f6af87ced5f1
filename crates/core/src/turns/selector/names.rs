//! Finding names in a text: whole words, whatever their case, the longest at each place.

use std::collections::BTreeSet;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// What may join two words into another word, so that `dev` is not in `dev-lead`, `dev.rs` or
/// `dev@example.org`.
const JOINERS: [char; 3] = ['-', '.', '@'];

/// The names of some agents, each with the agent's number.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(Vec<Name>);

#[derive(Debug, Clone)]
struct Name {
    agent: usize,
    text: Vec<char>,
    /// The text without its case, a character at a time.
    folded: Vec<Folded>,
}

/// A character without its case. Few have more than one in lower case, none more than three.
type Folded = [char; 3];

impl Names {
    /// Adds a name; one of nothing but white space is left out.
    pub(super) fn add(&mut self, agent: usize, name: &str) {
        let text = characters(name);
        if !text.is_empty() {
            let folded = text.iter().copied().map(fold).collect();
            self.0.push(Name {
                agent,
                text,
                folded,
            });
        }
    }

    /// Everybody named in `text`.
    pub(super) fn find(&self, text: &str) -> BTreeSet<usize> {
        let text = characters(text);
        let folded: Vec<Folded> = text.iter().copied().map(fold).collect();
        let mut found = BTreeSet::new();
        let mut at = 0;
        while at < text.len() {
            let here: Vec<&Name> = self
                .0
                .iter()
                .filter(|name| name.is_at(at, &text, &folded))
                .collect();
            let Some(longest) = here.iter().map(|name| name.text.len()).max() else {
                at += 1;
                continue;
            };
            found.extend(named(&here, longest, text.get(at..).unwrap_or_default()));
            at += longest;
        }
        found
    }

    /// Whom `text` as a whole names.
    pub(super) fn of(&self, text: &str) -> BTreeSet<usize> {
        let text = characters(text);
        let folded: Vec<Folded> = text.iter().copied().map(fold).collect();
        let whole: Vec<&Name> = self.0.iter().filter(|name| name.folded == folded).collect();
        named(&whole, text.len(), &text)
    }
}

/// Whose name of this length begins `text`: those that have its very case, else all of them.
fn named(candidates: &[&Name], length: usize, text: &[char]) -> BTreeSet<usize> {
    let of_length = || candidates.iter().filter(|name| name.text.len() == length);
    let exact: BTreeSet<usize> = of_length()
        .filter(|name| text.starts_with(&name.text))
        .map(|name| name.agent)
        .collect();
    if exact.is_empty() {
        of_length().map(|name| name.agent).collect()
    } else {
        exact
    }
}

impl Name {
    fn is_at(&self, at: usize, text: &[char], folded: &[Folded]) -> bool {
        let end = at + self.folded.len();
        folded.get(at..end) == Some(self.folded.as_slice())
            && is_edge(
                self.text.first().copied(),
                text.get(..at).unwrap_or_default().iter().rev().copied(),
            )
            && is_edge(
                self.text.last().copied(),
                text.get(end..).unwrap_or_default().iter().copied(),
            )
    }
}

/// Whether a name whose outermost character is `own` ends where `beyond` leads away from it.
///
/// Underscores around a name are marks of Markdown, and part of a word where a word goes on after them.
fn is_edge(own: Option<char>, beyond: impl Iterator<Item = char>) -> bool {
    let mut beyond = beyond.skip_while(|c| *c == '_');
    match beyond.next() {
        None => true,
        Some(c) if is_part(c) => is_unspaced(c) && !own.is_some_and(is_unspaced),
        Some(c) if JOINERS.contains(&c) => !beyond.next().is_some_and(is_part),
        Some(_) => true,
    }
}

/// Whether a character is part of a word: a letter, a number, or a mark upon one.
pub(super) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c.general_category_group() == GeneralCategoryGroup::Mark
}

/// Whether a character is of a script that is written without spaces or appends particles to names, so
/// that a name in another script may stand right beside it: Han, kana, Hangul.
const fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}')
}

/// The characters of a text, with white space reduced to single spaces.
fn characters(text: &str) -> Vec<char> {
    let mut characters = Vec::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !characters.is_empty() {
            characters.push(' ');
        }
        characters.extend(word.chars());
    }
    characters
}

fn fold(c: char) -> Folded {
    let mut folded = ['\0'; 3];
    for (slot, lower) in folded.iter_mut().zip(c.to_lowercase()) {
        *slot = lower;
    }
    folded
}
