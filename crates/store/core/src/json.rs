//! Records as the JSON text of a row, in the form of the Python package.

use roomkit_core::{Error, ErrorKind, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A record as JSON.
///
/// # Errors
/// [`StoreFailed`](ErrorKind::StoreFailed) where it has no JSON form; `what` and `id` name it.
pub fn to_json<T: Serialize + ?Sized>(what: &str, id: &str, record: &T) -> Result<String> {
    serde_json::to_string(record).map_err(|error| {
        let problem = format!("{what} {id} cannot be written as JSON");
        Error::new(ErrorKind::StoreFailed, problem).with_source(error)
    })
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
