//! Reading a value that is a string in every format: the one visitor behind ids, enums and times.

use std::fmt;
use std::marker::PhantomData;

use serde::Deserializer;
use serde::de::{Error, Visitor};

/// Reads a string and turns it into a value; `expecting` names what was wanted when it is no string.
pub(crate) fn from_text<'de, D, T, P, F>(
    deserializer: D,
    expecting: &'static str,
    read: F,
) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    P: fmt::Display,
    F: FnOnce(&str) -> Result<T, P>,
{
    deserializer.deserialize_str(TextVisitor {
        expecting,
        read,
        value: PhantomData,
    })
}

struct TextVisitor<F, T> {
    expecting: &'static str,
    read: F,
    value: PhantomData<T>,
}

impl<T, P, F> Visitor<'_> for TextVisitor<F, T>
where
    P: fmt::Display,
    F: FnOnce(&str) -> Result<T, P>,
{
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.expecting)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }
}
