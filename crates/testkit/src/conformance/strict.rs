//! Reading the core's models without its leniency: a key that would be ignored is an error.

use serde::Serialize;
use serde::de::{DeserializeOwned, Error as _};
use serde_json::Value;

/// Keys that a model leaves out of its JSON where they have their default.
const LEFT_OUT: [&str; 3] = ["max_length_unit", "overflow", "paused_at"];

/// A model as the core reads it, refused where it has a key that the core would ignore.
pub(super) fn model<T>(value: &Value) -> Result<T, serde_json::Error>
where
    T: DeserializeOwned + Serialize,
{
    let model: T = serde_json::from_value(value.clone())?;
    match ignored(value, &serde_json::to_value(&model)?) {
        Some(path) => Err(serde_json::Error::custom(format!("unknown field `{path}`"))),
        None => Ok(model),
    }
}

/// The first key of `given` that is not in `read`, by its path. A model writes every key it knows.
fn ignored(given: &Value, read: &Value) -> Option<String> {
    match (given, read) {
        (Value::Object(given), Value::Object(read)) => {
            given.iter().find_map(|(key, value)| match read.get(key) {
                Some(read) => ignored(value, read).map(|inner| format!("{key}.{inner}")),
                None if LEFT_OUT.contains(&key.as_str()) => None,
                None => Some(key.clone()),
            })
        }
        (Value::Array(given), Value::Array(read)) => given
            .iter()
            .zip(read)
            .enumerate()
            .find_map(|(at, (given, read))| Some(format!("[{at}].{}", ignored(given, read)?))),
        _ => None,
    }
}

/// For fields of a model that may be absent.
pub(super) fn optional<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: DeserializeOwned + Serialize,
    D: serde::Deserializer<'de>,
{
    let value: Option<Value> = serde::Deserialize::deserialize(deserializer)?;
    value
        .filter(|value| !value.is_null())
        .map(|value| model(&value))
        .transpose()
        .map_err(D::Error::custom)
}

/// For fields of a model that must be there.
pub(super) fn required<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: DeserializeOwned + Serialize,
    D: serde::Deserializer<'de>,
{
    model(&serde::Deserialize::deserialize(deserializer)?).map_err(D::Error::custom)
}
