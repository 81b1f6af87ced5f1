//! Reading a model from a JSON object field by field, so that every error names its field.
//!
//! Types that have rules read themselves this way; types that have none derive `Deserialize`.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::time;
use super::validate::ValidationError;

/// The fields of a JSON object that have not been read yet.
#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

/// A model that reads itself from the fields of an object and checks its rules while it does.
pub(super) trait FromFields: Sized {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError>;
}

/// Implements `Deserialize` for types that are `FromFields`.
macro_rules! deserialize_from_fields {
    ($($model:ty),+ $(,)?) => {$(
        impl<'de> serde::Deserialize<'de> for $model {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let map = serde_json::Map::deserialize(deserializer)?;
                $crate::model::fields::read(map).map_err(serde::de::Error::custom)
            }
        }
    )+};
}
pub(super) use deserialize_from_fields;

/// Reads a model from an object.
pub(super) fn read<T: FromFields>(map: Map<String, Value>) -> Result<T, ValidationError> {
    T::from_fields(&mut Fields::new(map))
}

impl Fields {
    pub(super) fn new(map: Map<String, Value>) -> Self {
        Self(map)
    }

    /// A field that must be there.
    pub(super) fn required<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<T, ValidationError> {
        match self.0.remove(name) {
            Some(value) => convert(name, value),
            None => Err(ValidationError::new(name, "is required")),
        }
    }

    /// A field that may be absent or null.
    pub(super) fn optional<T: DeserializeOwned>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ValidationError> {
        self.present(name)
            .map(|value| convert(name, value))
            .transpose()
    }

    /// A field with a default that takes its place when it is absent.
    pub(super) fn or<T: DeserializeOwned>(
        &mut self,
        name: &str,
        default: T,
    ) -> Result<T, ValidationError> {
        self.0
            .remove(name)
            .map_or(Ok(default), |value| convert(name, value))
    }

    /// A field that is its type's default when it is absent.
    pub(super) fn or_default<T: DeserializeOwned + Default>(
        &mut self,
        name: &str,
    ) -> Result<T, ValidationError> {
        self.or(name, T::default())
    }

    /// A model inside this one that may be absent or null; its errors carry the outer name too.
    pub(super) fn model<T: FromFields>(
        &mut self,
        name: &str,
    ) -> Result<Option<T>, ValidationError> {
        self.optional(name)?
            .map(|map| read(map).map_err(|error: ValidationError| error.within(name)))
            .transpose()
    }

    /// A time that must be there.
    pub(super) fn time(&mut self, name: &str) -> Result<DateTime<Utc>, ValidationError> {
        let text: String = self.required(name)?;
        time::parse(&text).map_err(|problem| ValidationError::new(name, problem))
    }

    /// A time that may be absent or null.
    pub(super) fn optional_time(
        &mut self,
        name: &str,
    ) -> Result<Option<DateTime<Utc>>, ValidationError> {
        let text: Option<String> = self.optional(name)?;
        text.map(|text| time::parse(&text).map_err(|problem| ValidationError::new(name, problem)))
            .transpose()
    }

    fn present(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null())
    }
}

/// The typed value of a field.
pub(super) fn convert<T: DeserializeOwned>(name: &str, value: Value) -> Result<T, ValidationError> {
    serde_json::from_value(value).map_err(|problem| ValidationError::new(name, problem))
}
