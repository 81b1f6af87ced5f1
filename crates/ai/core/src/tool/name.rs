//! Which names a tool may have.

/// The most characters of a name, as the vendors ask for.
pub(crate) const MOST_NAME: usize = 64;

/// Whether vendors take the name: 1 to 64 ASCII letters, digits, `_` and `-`.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=MOST_NAME).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A name as logs may show it: what a model made up may be anything, so other names are not repeated.
pub(crate) fn shown(name: &str) -> &str {
    if is_name(name) { name } else { "(no name)" }
}
