//! Text as PostgreSQL can keep it: it refuses U+0000, which an id may hold.
//!
//! Ids are written with U+0001 as an escape: U+0000 as `01 01` and U+0001 as `01 02`. What has neither,
//! as nearly every id, is written as it is, and the order of the bytes stays the same.

use std::borrow::Cow;

/// An id as it is stored.
pub(crate) fn stored(id: &str) -> Cow<'_, str> {
    if id.bytes().all(|byte| byte > 1) {
        return Cow::Borrowed(id);
    }
    let mut text = String::with_capacity(id.len() + 8);
    for c in id.chars() {
        match c {
            '\0' => text.push_str("\u{1}\u{1}"),
            '\u{1}' => text.push_str("\u{1}\u{2}"),
            c => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// An id from what is stored.
pub(crate) fn restored(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte > 1) {
        return Cow::Borrowed(text);
    }
    let mut id = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1}' => match chars.next() {
                Some('\u{2}') => id.push('\u{1}'),
                _ => id.push('\0'),
            },
            c => id.push(c),
        }
    }
    Cow::Owned(id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_comes_back_in_the_same_order(
            a in "[\u{0}\u{1}\u{2}a-b]{0,5}",
            b in "[\u{0}\u{1}\u{2}a-b]{0,5}",
        ) {
            prop_assert!(!stored(&a).contains('\0'));
            let text = stored(&a);
            prop_assert_eq!(restored(&text), a.as_str());
            prop_assert_eq!(stored(&a).cmp(&stored(&b)), a.cmp(&b));
        }
    }
}
