//! A place on earth.

use serde::Serialize;

use crate::model::fields::{Fields, FromFields, deserialize_from_fields};
use crate::model::validate::{self, ValidationError};

/// A place by its coordinates (RFC §5.3).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LocationContent {
    /// Degrees north, from -90 to 90.
    pub latitude: f64,
    /// Degrees east, from -180 to 180.
    pub longitude: f64,
    /// The name of the place.
    pub label: Option<String>,
    /// Its postal address.
    pub address: Option<String>,
}

impl LocationContent {
    /// Makes a place without name and address.
    pub fn new(latitude: f64, longitude: f64) -> Self {
        Self {
            latitude,
            longitude,
            label: None,
            address: None,
        }
    }

    /// Checks the coordinates.
    ///
    /// # Errors
    ///
    /// [`ValidationError`] when `latitude` or `longitude` is out of its range or not a number.
    pub fn validate(&self) -> Result<(), ValidationError> {
        validate::in_range("latitude", self.latitude, -90.0, 90.0)?;
        validate::in_range("longitude", self.longitude, -180.0, 180.0)
    }
}

impl FromFields for LocationContent {
    fn from_fields(fields: &mut Fields) -> Result<Self, ValidationError> {
        let location = Self {
            latitude: fields.required("latitude")?,
            longitude: fields.required("longitude")?,
            label: fields.optional("label")?,
            address: fields.optional("address")?,
        };
        location.validate()?;
        Ok(location)
    }
}

deserialize_from_fields!(LocationContent);
