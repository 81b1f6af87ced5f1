//! The errors of values that break a rule of the model.

use std::fmt;

/// A field of a model breaks a rule.
///
/// Displays as `field: problem`, for example `parts[1].url: must start with http://, https:// or data:`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct ValidationError {
    /// The path of the field, from the value that was validated: `parts[1].url`.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl ValidationError {
    /// Makes an error about one field.
    pub fn new(field: impl Into<String>, problem: impl fmt::Display) -> Self {
        Self {
            field: field.into(),
            problem: problem.to_string(),
        }
    }

    /// The same error seen from the owner of `outer`: `url` in `parts[1]` is `parts[1].url`.
    #[must_use]
    pub fn within(mut self, outer: impl fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

/// A text is not one of the values of an enumeration.
///
/// Displays as the kind and the value: ``unknown event type `shout` ``.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {kind} `{value}`")]
pub struct UnknownValue {
    /// What was read, in words: `event type`.
    pub kind: &'static str,
    /// The text that names no value of that kind.
    pub value: String,
}

/// Refuses a number that is not finite and greater than zero.
pub(super) fn positive(field: &str, value: f64) -> Result<(), ValidationError> {
    if value.is_finite() && value > 0.0 {
        Ok(())
    } else {
        Err(ValidationError::new(field, "must be greater than 0"))
    }
}

/// Refuses a number outside a closed range, and anything that is not a number.
pub(super) fn in_range(
    field: &str,
    value: f64,
    lowest: f64,
    highest: f64,
) -> Result<(), ValidationError> {
    if (lowest..=highest).contains(&value) {
        Ok(())
    } else {
        Err(ValidationError::new(
            field,
            format_args!("must be between {lowest} and {highest}"),
        ))
    }
}

/// Refuses a length of time that is negative or not finite.
pub(super) fn duration(field: &str, seconds: Option<f64>) -> Result<(), ValidationError> {
    match seconds {
        Some(seconds) if !seconds.is_finite() || seconds < 0.0 => {
            Err(ValidationError::new(field, "must not be negative"))
        }
        _ => Ok(()),
    }
}

/// Refuses an address that is neither `http:`, `https:` nor `data:`.
pub(super) fn url(field: &str, url: &str) -> Result<(), ValidationError> {
    let allowed = ["http://", "https://", "data:"];
    let starts_with = |scheme: &&str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if allowed.iter().any(starts_with) {
        Ok(())
    } else {
        Err(ValidationError::new(
            field,
            "must start with http://, https:// or data:",
        ))
    }
}
