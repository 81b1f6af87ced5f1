//! Where two JSON values differ, by path.

use std::fmt;

use serde_json::Value;

use super::normal;

/// One difference between what a file expects and what was there.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// Where: `rooms.r.timeline[3].status`.
    pub path: String,
    /// What the file expects; `None` where it expects nothing there.
    pub expected: Option<Value>,
    /// What was there; `None` where nothing was.
    pub got: Option<Value>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = if self.path.is_empty() {
            "."
        } else {
            &self.path
        };
        write!(f, "{path}: expected ")?;
        show(self.expected.as_ref(), f)?;
        f.write_str(", got ")?;
        show(self.got.as_ref(), f)
    }
}

fn show(value: Option<&Value>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Some(value) => write!(f, "{value}"),
        None => f.write_str("nothing"),
    }
}

/// Where a trace differs from the expected one by the rules of the format.
pub(super) fn traces(expected: &Value, got: &Value) -> Vec<Difference> {
    values(&normal::trace(expected), &normal::trace(got))
}

/// Where two values differ. Numbers are equal when they stand for the same number.
pub(super) fn values(expected: &Value, got: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), Some(expected), Some(got), &mut found);
    found
}

fn walk(path: String, expected: Option<&Value>, got: Option<&Value>, found: &mut Vec<Difference>) {
    match (expected, got) {
        (Some(Value::Object(expected)), Some(Value::Object(got))) => {
            let more = got.keys().filter(|key| !expected.contains_key(*key));
            for key in expected.keys().chain(more) {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                walk(path, expected.get(key), got.get(key), found);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(got))) => {
            for at in 0..expected.len().max(got.len()) {
                let path = format!("{path}[{at}]");
                walk(path, expected.get(at), got.get(at), found);
            }
        }
        (Some(expected), Some(got)) if equal(expected, got) => {}
        (None, None) => {}
        (expected, got) => found.push(Difference {
            path,
            expected: expected.cloned(),
            got: got.cloned(),
        }),
    }
}

fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() != b.is_f64() && a.as_f64() == b.as_f64())
        }
        _ => a == b,
    }
}
