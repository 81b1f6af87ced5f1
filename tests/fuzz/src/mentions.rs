//! The mentions of a text: those that a second, plainer reading of the grammar finds.

use roomkit_core::turns::extract_mentions;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

pub(crate) fn run(input: &str) {
    let found = extract_mentions(input);
    assert_eq!(found, read_plainly(input), "in {input:?}");
    for name in &found {
        // Said alone it is what it was.
        let alone = format!("@{name}");
        assert_eq!(extract_mentions(&alone), [*name], "in {input:?}");
    }
}

/// One character after the other, as the grammar is written.
fn read_plainly(text: &str) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    let mut before = None;
    for (at, character) in text.char_indices() {
        let is_free = before.is_none_or(|before| before != '@' && !is_word(before));
        before = Some(character);
        let rest = text.get(at + character.len_utf8()..).unwrap_or_default();
        if character != '@' || !is_free || !rest.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            continue;
        }
        let end = rest.find(|c| !is_word(c) && c != '-' && c != '.');
        let name = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// A letter or a digit of any script, or an underscore.
fn is_word(character: char) -> bool {
    use GeneralCategoryGroup::{Letter, Number};
    character == '_' || matches!(character.general_category_group(), Letter | Number)
}

pub(crate) fn seeds() -> Vec<String> {
    [
        "@coder and @qa-1, then @coder again",
        "write to foo@bar.com, not @@x, but (@y.z) and é@no @émile @e\u{301}",
        "@a@b @c_d\n@e- @1 @٣ x٣@no \u{93f}@yes",
    ]
    .map(str::to_owned)
    .into()
}
