//! Checks arguments against the JSON schema of a tool, before anything is executed.
//!
//! What is checked is what models get wrong: missing and unknown members, types, `enum` and `const`,
//! ranges, lengths, counts, and all of that in nested objects and lists, through `anyOf`, `oneOf`, `allOf`
//! and references within the schema. `pattern`, `format` and conditions are left to the tool.

use std::fmt::Write as _;

use serde_json::{Map, Number, Value};

use super::Arguments;

/// The most problems told at once.
const MOST_PROBLEMS: usize = 8;
/// How deep values, alternatives and references may be nested together.
const MOST_DEPTH: usize = 100;
/// The most schemas looked at in one check; it bounds alternatives within alternatives.
const MOST_STEPS: usize = 100_000;
/// The most characters of a member's name that are repeated.
const MOST_KEY: usize = 64;
/// The most values of an `enum` that are listed.
const MOST_CHOICES: usize = 20;

/// What is wrong with arguments, in words that name the members and repeat none of their values.
pub(crate) fn problem(schema: &Value, arguments: &Arguments) -> Option<String> {
    let mut check = Check {
        root: schema,
        path: String::new(),
        problems: Vec::new(),
        steps: 0,
    };
    check.value(schema, View::Object(arguments), 0);
    (!check.problems.is_empty()).then(|| check.problems.join("; "))
}

/// A value without the need to own it.
#[derive(Clone, Copy)]
enum View<'v> {
    Null,
    Bool(bool),
    Number(&'v Number),
    String(&'v str),
    Array(&'v [Value]),
    Object(&'v Map<String, Value>),
}

impl<'v> From<&'v Value> for View<'v> {
    fn from(value: &'v Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(value) => Self::Number(value),
            Value::String(value) => Self::String(value),
            Value::Array(value) => Self::Array(value),
            Value::Object(value) => Self::Object(value),
        }
    }
}

impl View<'_> {
    fn is(self, kind: &str) -> bool {
        match kind {
            "null" => matches!(self, Self::Null),
            "boolean" => matches!(self, Self::Bool(_)),
            "number" => matches!(self, Self::Number(_)),
            "integer" => matches!(self, Self::Number(number) if is_whole(number)),
            "string" => matches!(self, Self::String(_)),
            "array" => matches!(self, Self::Array(_)),
            "object" => matches!(self, Self::Object(_)),
            // A type that JSON does not have is the schema's mistake, not the model's.
            _ => true,
        }
    }

    fn equals(self, other: &Value) -> bool {
        match (self, other) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(a), Value::Bool(b)) => a == *b,
            // 1 and 1.0 are the same number to JSON schema.
            (Self::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
            (Self::String(a), Value::String(b)) => a == b,
            (Self::Array(a), Value::Array(b)) => a == b.as_slice(),
            (Self::Object(a), Value::Object(b)) => a == b,
            _ => false,
        }
    }
}

fn is_whole(number: &Number) -> bool {
    number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|n| n.fract() == 0.0)
}

struct Check<'s> {
    root: &'s Value,
    path: String,
    problems: Vec<String>,
    steps: usize,
}

impl<'s> Check<'s> {
    fn value(&mut self, schema: &'s Value, value: View<'_>, depth: usize) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        self.steps += 1;
        if depth > MOST_DEPTH || self.steps > MOST_STEPS {
            return self.report("is too large or nested too deeply");
        }
        let rules = match schema {
            Value::Object(rules) => rules,
            Value::Bool(false) => return self.report("must be left out"),
            _ => return,
        };
        if !self.kind(rules, value) || !self.choice(rules, value) {
            return;
        }
        match value {
            View::Number(number) => self.number(rules, number),
            View::String(text) => self.text(rules, text),
            View::Array(items) => self.array(rules, items, depth),
            View::Object(members) => self.object(rules, members, depth),
            View::Null | View::Bool(_) => {}
        }
        self.combined(rules, value, depth);
    }

    /// Checks `type`, and says whether the rest is worth a look.
    fn kind(&mut self, rules: &'s Map<String, Value>, value: View<'_>) -> bool {
        let nullable = rules.get("nullable").and_then(Value::as_bool) == Some(true);
        if nullable && matches!(value, View::Null) {
            return false;
        }
        let wanted: Vec<&str> = match rules.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        if wanted.is_empty() || wanted.iter().any(|kind| value.is(kind)) {
            return true;
        }
        let wanted: Vec<String> = wanted.into_iter().map(with_article).collect();
        self.report(&format!("must be {}", wanted.join(" or ")));
        false
    }

    fn choice(&mut self, rules: &'s Map<String, Value>, value: View<'_>) -> bool {
        if let Some(only) = rules.get("const")
            && !value.equals(only)
        {
            self.report(&format!("must be {only}"));
            return false;
        }
        let Some(Value::Array(choices)) = rules.get("enum") else {
            return true;
        };
        if choices.iter().any(|choice| value.equals(choice)) {
            return true;
        }
        let listed: Vec<String> = choices
            .iter()
            .take(MOST_CHOICES)
            .map(Value::to_string)
            .collect();
        let more = if choices.len() > MOST_CHOICES {
            ", …"
        } else {
            ""
        };
        self.report(&format!("must be one of {}{more}", listed.join(", ")));
        false
    }

    fn number(&mut self, rules: &'s Map<String, Value>, number: &Number) {
        let Some(value) = number.as_f64() else {
            return;
        };
        let limit = |name| rules.get(name).and_then(Value::as_f64);
        if let Some(least) = limit("minimum").filter(|least| value < *least) {
            self.report(&format!("must be at least {least}"));
        }
        if let Some(most) = limit("maximum").filter(|most| value > *most) {
            self.report(&format!("must be at most {most}"));
        }
        if let Some(above) = limit("exclusiveMinimum").filter(|above| value <= *above) {
            self.report(&format!("must be above {above}"));
        }
        if let Some(below) = limit("exclusiveMaximum").filter(|below| value >= *below) {
            self.report(&format!("must be below {below}"));
        }
        // Fractions of fractions do not come out even in binary: only whole steps are certain.
        if let Some(step) = limit("multipleOf").filter(|step| *step >= 1.0 && step.fract() == 0.0)
            && value % step != 0.0
        {
            self.report(&format!("must be a multiple of {step}"));
        }
    }

    fn text(&mut self, rules: &'s Map<String, Value>, text: &str) {
        let limit = |name| count(rules.get(name));
        let (least, most) = (limit("minLength"), limit("maxLength"));
        if least.is_none() && most.is_none() {
            return;
        }
        let length = text.chars().count();
        if let Some(least) = least.filter(|least| length < *least) {
            self.report(&format!("must have at least {least} characters"));
        }
        if let Some(most) = most.filter(|most| length > *most) {
            self.report(&format!("must have at most {most} characters"));
        }
    }

    fn array(&mut self, rules: &'s Map<String, Value>, items: &[Value], depth: usize) {
        if let Some(least) = count(rules.get("minItems")).filter(|least| items.len() < *least) {
            self.report(&format!("must have at least {least} items"));
        }
        if let Some(most) = count(rules.get("maxItems")).filter(|most| items.len() > *most) {
            self.report(&format!("must have at most {most} items"));
        }
        let first: &'s [Value] = match rules.get("prefixItems") {
            Some(Value::Array(schemas)) => schemas,
            _ => &[],
        };
        let rest = rules.get("items");
        for (at, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(at).or(rest) {
                self.inside(&format!("[{at}]"), schema, item, depth);
            }
        }
    }

    fn object(
        &mut self,
        rules: &'s Map<String, Value>,
        members: &Map<String, Value>,
        depth: usize,
    ) {
        if let Some(Value::Array(required)) = rules.get("required") {
            for name in required.iter().filter_map(Value::as_str) {
                if !members.contains_key(name) {
                    self.at(name, "is required");
                }
            }
        }
        let limit = |name| count(rules.get(name));
        if let Some(least) = limit("minProperties").filter(|least| members.len() < *least) {
            self.report(&format!("must have at least {least} members"));
        }
        if let Some(most) = limit("maxProperties").filter(|most| members.len() > *most) {
            self.report(&format!("must have at most {most} members"));
        }
        let known = rules.get("properties").and_then(Value::as_object);
        let patterns = rules.get("patternProperties").is_some();
        let others = rules.get("additionalProperties");
        for (name, value) in members {
            match known.and_then(|known| known.get(name)) {
                Some(schema) => self.inside(&member(&self.path, name), schema, value, depth),
                None if patterns => {}
                None => match others {
                    Some(Value::Bool(false)) => self.unknown(name, known),
                    Some(schema) => self.inside(&member(&self.path, name), schema, value, depth),
                    None => {}
                },
            }
        }
    }

    fn combined(&mut self, rules: &'s Map<String, Value>, value: View<'_>, depth: usize) {
        if let Some(Value::String(reference)) = rules.get("$ref")
            && let Some(schema) = resolve(self.root, reference)
        {
            self.value(schema, value, depth + 1);
        }
        if let Some(Value::Array(all)) = rules.get("allOf") {
            for schema in all {
                self.value(schema, value, depth + 1);
            }
        }
        for (name, at_most_one) in [("anyOf", false), ("oneOf", true)] {
            let Some(Value::Array(alternatives)) = rules.get(name) else {
                continue;
            };
            self.alternatives(alternatives, value, depth, at_most_one);
        }
    }

    fn alternatives(
        &mut self,
        alternatives: &'s [Value],
        value: View<'_>,
        depth: usize,
        at_most_one: bool,
    ) {
        let before = self.problems.len();
        let mut nearest: Option<Vec<String>> = None;
        let mut fitting = 0_usize;
        for schema in alternatives {
            // Each one is looked at with room for problems of its own.
            let kept = std::mem::take(&mut self.problems);
            self.value(schema, value, depth + 1);
            let found = std::mem::replace(&mut self.problems, kept);
            if found.is_empty() {
                fitting += 1;
                if !at_most_one {
                    break;
                }
            } else if nearest.as_ref().is_none_or(|n| deeper(&found, n)) {
                nearest = Some(found);
            }
        }
        match fitting {
            1 => {}
            0 => match nearest {
                Some(found) => self.problems.extend(found),
                None => self.report("fits none of the forms it may have"),
            },
            _ if at_most_one => self.report("fits several of the forms of which it must have one"),
            _ => {}
        }
        self.problems.truncate(MOST_PROBLEMS.max(before));
    }

    fn inside(&mut self, step: &str, schema: &'s Value, value: &Value, depth: usize) {
        let length = self.path.len();
        self.path.push_str(step);
        self.value(schema, value.into(), depth + 1);
        self.path.truncate(length);
    }

    fn unknown(&mut self, name: &str, known: Option<&Map<String, Value>>) {
        let names = known.map(|known| known.keys().cloned().collect::<Vec<_>>());
        let names = names.unwrap_or_default();
        let known = match names.len() {
            0 => "there are none".to_owned(),
            1..=MOST_CHOICES => format!("there are: {}", names.join(", ")),
            count => format!("there are {count} others"),
        };
        self.at(name, &format!("is not known ({known})"));
    }

    fn at(&mut self, name: &str, problem: &str) {
        let length = self.path.len();
        let step = member(&self.path, name);
        self.path.push_str(&step);
        self.report(problem);
        self.path.truncate(length);
    }

    fn report(&mut self, problem: &str) {
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        let place = if self.path.is_empty() {
            "the arguments"
        } else {
            &self.path
        };
        let mut text = String::new();
        // Writing into a string cannot fail.
        let _ = write!(text, "{place}: {problem}");
        self.problems.push(text);
    }
}

/// Whether problems come from further inside, and so from the alternative that was meant.
fn deeper(found: &[String], than: &[String]) -> bool {
    let depth = |problems: &[String]| {
        let places = problems.iter().filter_map(|p| p.split(": ").next());
        places.map(|p| p.matches(['.', '[']).count()).max()
    };
    depth(found) > depth(than)
}

fn member(path: &str, name: &str) -> String {
    let dot = if path.is_empty() { "" } else { "." };
    let mut shown: String = name.chars().take(MOST_KEY).collect();
    if shown.len() < name.len() {
        shown.push('…');
    }
    format!("{dot}{shown}")
}

fn with_article(kind: &str) -> String {
    match kind {
        "null" => "null".to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn count(limit: Option<&Value>) -> Option<usize> {
    usize::try_from(limit?.as_u64()?).ok()
}

/// A reference within the schema: `#`, or a JSON pointer after it.
fn resolve<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    root.pointer(reference.strip_prefix('#')?)
}

/// What is wrong with the schema of a tool's arguments itself: vendors refuse what is none of an object,
/// and a part that cannot be read would check nothing.
pub(crate) fn unsound(schema: &Value) -> Option<String> {
    let Value::Object(rules) = schema else {
        return Some("the schema must be a JSON object".to_owned());
    };
    match rules.get("type") {
        None => {}
        Some(Value::String(kind)) if kind == "object" => {}
        Some(_) => return Some("type: must be `object`, since arguments have names".to_owned()),
    }
    unsound_part(schema, schema, "", 0)
}

fn unsound_part(root: &Value, schema: &Value, path: &str, depth: usize) -> Option<String> {
    let rules = match schema {
        Value::Object(rules) => rules,
        Value::Bool(_) => return None,
        _ => return Some(format!("{path}: a schema must be an object or a boolean")),
    };
    if depth > MOST_DEPTH {
        return Some(format!("{path}: the schema is nested too deeply"));
    }
    let under = |name: &str| match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    };
    for name in ["properties", "$defs", "definitions"] {
        match rules.get(name) {
            None => {}
            Some(Value::Object(parts)) => {
                for (key, part) in parts {
                    let place = under(&format!("{name}.{key}"));
                    if let problem @ Some(_) = unsound_part(root, part, &place, depth + 1) {
                        return problem;
                    }
                }
            }
            Some(_) => return Some(format!("{}: must be an object", under(name))),
        }
    }
    for name in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        match rules.get(name) {
            None => {}
            Some(Value::Array(parts)) => {
                for (at, part) in parts.iter().enumerate() {
                    let place = under(&format!("{name}[{at}]"));
                    if let problem @ Some(_) = unsound_part(root, part, &place, depth + 1) {
                        return problem;
                    }
                }
            }
            Some(_) => return Some(format!("{}: must be a list", under(name))),
        }
    }
    for name in ["items", "additionalProperties"] {
        if let Some(part) = rules.get(name)
            && let problem @ Some(_) = unsound_part(root, part, &under(name), depth + 1)
        {
            return problem;
        }
    }
    let texts = |value: &Value| {
        value
            .as_array()
            .is_some_and(|items| items.iter().all(Value::is_string))
    };
    match rules.get("required") {
        Some(required) if !texts(required) => {
            return Some(format!("{}: must be a list of names", under("required")));
        }
        _ => {}
    }
    match rules.get("type") {
        Some(kind) if !kind.is_string() && !texts(kind) => {
            return Some(format!(
                "{}: must be a type's name or several",
                under("type")
            ));
        }
        _ => {}
    }
    match rules.get("enum") {
        Some(choices) if choices.as_array().is_none_or(Vec::is_empty) => {
            return Some(format!("{}: must be a list of values", under("enum")));
        }
        _ => {}
    }
    match rules.get("$ref") {
        None => None,
        Some(Value::String(reference)) if resolve(root, reference).is_some() => None,
        Some(_) => Some(format!("{}: leads nowhere in this schema", under("$ref"))),
    }
}
