//! The grammar of an `@name` mention.

use std::collections::HashSet;

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// The names that `text` mentions, in the order in which each is first seen, without repeats.
///
/// A mention is an `@` followed by an ASCII letter or digit and then any number of word characters,
/// dashes and dots. It is none when a word character or another `@` stands right before it, so
/// e-mail addresses and `@@name` mention nobody. A word character is a letter or a digit of any
/// script, or an underscore. Case is kept, and so is punctuation that the grammar allows: `@coder.`
/// at the end of a sentence mentions `coder.`.
///
/// ```
/// use roomkit_core::turns::extract_mentions;
///
/// assert_eq!(extract_mentions("@coder and @qa-1, then @coder again"), ["coder", "qa-1"]);
/// assert!(extract_mentions("write to foo@bar.com").is_empty());
/// ```
#[must_use]
pub fn extract_mentions(text: &str) -> Vec<&str> {
    let mut seen = HashSet::new();
    mentions(text).filter(|name| seen.insert(*name)).collect()
}

/// Every mention in `text` as it comes, repeats included; one pass, nothing allocated.
pub(super) fn mentions(text: &str) -> impl Iterator<Item = &str> {
    let mut pieces = text.split('@');
    // What stands before the next `@`: an empty piece means that it was another `@`.
    let mut before = pieces.next().and_then(|first| first.chars().next_back());
    pieces.filter_map(move |piece| {
        let free = before.is_none_or(|c| c != '@' && !is_word(c));
        before = Some(piece.chars().next_back().unwrap_or('@'));
        let name = piece.split(|c| !is_name_part(c)).next()?;
        (free && name.starts_with(|c: char| c.is_ascii_alphanumeric())).then_some(name)
    })
}

fn is_name_part(c: char) -> bool {
    is_word(c) || c == '-' || c == '.'
}

/// What `\w` matches in Python's `re` on text: general categories L and N, and the underscore.
///
/// [`char::is_alphanumeric`] is wider: it takes in the vowel signs of Indic scripts and other marks
/// that are alphabetic without being letters.
fn is_word(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_alphanumeric() || c == '_';
    }
    matches!(
        c.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Number
    )
}
