//! Records as the JSON text of a row, in the form of the Python package.

use roomkit_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How deep objects and arrays may lie in each other so that they can be read again.
const DEEPEST: usize = 127;

/// A record as JSON.
///
/// # Errors
/// - [`StoreFailed`](ErrorKind::StoreFailed) where it has no JSON form; `what` and `id` name it.
/// - [`InvalidInput`](ErrorKind::InvalidInput) where it could not be read again: something in it,
///   such as metadata, is nested more than 127 levels deep.
pub fn to_json<T: Serialize + ?Sized>(what: &str, id: &str, record: &T) -> Result<String> {
    let json = serde_json::to_string(record).map_err(|error| {
        let problem = format!("{what} {id} cannot be written as JSON");
        Error::new(ErrorKind::StoreFailed, problem).with_source(error)
    })?;
    if is_too_deep(json.as_bytes()) {
        return Err(too_deep(&format!("{what} {id}")));
    }
    Ok(json)
}

pub(crate) fn too_deep(what: &str) -> Error {
    let problem = format!("{what}: something in it is nested more than {DEEPEST} levels deep");
    Error::new(ErrorKind::InvalidInput, problem)
}

/// Whether JSON is nested so deep that no reader takes it.
pub(crate) fn is_too_deep(json: &[u8]) -> bool {
    let opens = |byte: &u8| matches!(byte, b'{' | b'[');
    // Hardly any record has so many brackets, in its texts included.
    if json.iter().filter(|byte| opens(byte)).count() <= DEEPEST {
        return false;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEEPEST {
            return true;
        }
    }
    false
}

/// A record from the JSON of its row.
///
/// # Errors
/// [`StoreFailed`](ErrorKind::StoreFailed) where the row is damaged; `what` and `id` name it, and
/// nothing of its text is quoted.
pub fn from_json<T: DeserializeOwned>(what: &str, id: &str, text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|error| {
        let at = error.column();
        let problem = format!("the row of {what} {id} is damaged, at byte {at} of its JSON");
        Error::new(ErrorKind::StoreFailed, problem)
    })
}
