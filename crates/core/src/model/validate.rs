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
/// Displays as the kind and the value, such as: unknown event type `shout`.
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
    finite(field, value)?;
    if value <= 0.0 {
        return Err(ValidationError::new(field, "must be greater than 0"));
    }
    Ok(())
}

/// Refuses a length of time, if there is one, that is negative or not finite.
pub(super) fn duration(field: &str, seconds: Option<f64>) -> Result<(), ValidationError> {
    let seconds = seconds.unwrap_or_default();
    finite(field, seconds)?;
    if seconds < 0.0 {
        return Err(ValidationError::new(field, "must not be negative"));
    }
    Ok(())
}

/// Refuses a number outside a closed range, and what is not a number.
pub(super) fn in_range(
    field: &str,
    value: f64,
    lowest: f64,
    highest: f64,
) -> Result<(), ValidationError> {
    if !(lowest..=highest).contains(&value) {
        let problem = format_args!("must be between {lowest} and {highest}");
        return Err(ValidationError::new(field, problem));
    }
    Ok(())
}

fn finite(field: &str, value: f64) -> Result<(), ValidationError> {
    if !value.is_finite() {
        return Err(ValidationError::new(field, "must be finite"));
    }
    Ok(())
}

const SCHEMES: [&str; 3] = ["http://", "https://", "data:"];

/// Refuses an address that is neither `http:`, `https:` nor `data:`.
pub(super) fn url(field: &str, url: &str) -> Result<(), ValidationError> {
    let starts_with = |scheme: &str| {
        url.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if !SCHEMES.into_iter().any(starts_with) {
        let problem = "must start with http://, https:// or data:";
        return Err(ValidationError::new(field, problem));
    }
    Ok(())
}
