//! The data model: what it reads, writes and refuses.

mod content;
mod defaults;
mod documents;
mod enums;
mod event;
mod filter;
mod ids;
mod inbound;
mod metadata;
mod refusals;
mod room;
mod round_trip;
mod time;
mod visibility;

use chrono::{DateTime, TimeZone, Utc};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A time after which all the tests happen.
fn noon() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 3, 1, 12, 0, 0).unwrap()
}

/// Reads a document as a model and writes the model back.
fn rewrite<T: DeserializeOwned + Serialize>(document: Value) -> Value {
    let model: T = serde_json::from_value(document).unwrap();
    serde_json::to_value(model).unwrap()
}

/// Why a document cannot be read as a model.
fn refusal<T: DeserializeOwned>(document: &Value) -> String {
    match serde_json::from_value::<T>(document.clone()) {
        Ok(_) => panic!("{document} was accepted"),
        Err(error) => error.to_string(),
    }
}
