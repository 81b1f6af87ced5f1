//! The check of the checker: whatever is changed in an expectation must be noticed.
//!
//! Every scalar is changed, every element of a list removed and repeated, every key of a map removed,
//! and something is added to every list that is empty and to every map that takes any key. What is then
//! compared is the trace of one run. A change that the format itself does not count is left out, by one
//! of the rules of [`Exemption`] and by nothing else.

use std::fmt;

use serde_json::Value;

use super::normal;

/// How many changes were tried, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tally {
    /// How many changes were tried.
    pub tried: usize,
    /// How many of them were noticed.
    pub caught: usize,
    /// How many were left out because the format does not count them.
    pub exempt: usize,
    /// The changes that went unnoticed, and those that were noticed though they are exempt.
    pub missed: Vec<String>,
}

impl Tally {
    /// Takes in what another check counted.
    pub fn add(&mut self, other: &Self) {
        self.tried += other.tried;
        self.caught += other.caught;
        self.exempt += other.exempt;
        self.missed.extend_from_slice(&other.missed);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            tried,
            caught,
            exempt,
            ..
        } = self;
        write!(f, "{tried} changes tried, {caught} caught, {exempt} exempt")
    }
}

/// What kind of expectation is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expectation {
    /// A trace, compared by the rules of the format.
    Trace,
    /// A value that is compared as it is: every change counts.
    Exact,
}

/// Changes `expect` in every way and asks `notices` about each. A change that is exempt must go
/// unnoticed, or its rule is wrong.
pub(super) fn check(expect: &Value, kind: Expectation, notices: impl Fn(&Value) -> bool) -> Tally {
    let mut changes = Vec::new();
    collect(expect, &mut Vec::new(), &mut changes);
    let mut tally = Tally::default();
    for change in &changes {
        let mut changed = expect.clone();
        let noticed = change.apply(&mut changed) && notices(&changed);
        let exemption = match kind {
            Expectation::Trace => exemption(expect, change),
            Expectation::Exact => None,
        };
        match (exemption, noticed) {
            (None, true) => tally.caught += 1,
            (None, false) => tally.missed.push(format!("{change}: went unnoticed")),
            (Some(_), false) => tally.exempt += 1,
            (Some(rule), true) => {
                let problem = format!("{change}: exempt ({rule:?}), but it was noticed");
                tally.missed.push(problem);
            }
        }
    }
    tally.tried = tally.caught + tally.missed.len();
    tally
}

/// A step into a value.
#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Key(String),
    Index(usize),
}

#[derive(Debug, Clone, PartialEq)]
struct Change {
    /// The value that is changed, or whose element or key is.
    path: Vec<Segment>,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Replace(Value),
    RemoveElement(usize),
    RepeatElement(usize),
    AddElement,
    RemoveKey(String),
    AddKey,
}

/// What is added to lists and maps.
const ADDED: &str = "added by the self-check";

fn collect(value: &Value, path: &mut Vec<Segment>, changes: &mut Vec<Change>) {
    let mut change = |kind| {
        changes.push(Change {
            path: path.clone(),
            kind,
        });
    };
    match value {
        Value::Array(values) => {
            for at in 0..values.len() {
                change(Kind::RemoveElement(at));
                change(Kind::RepeatElement(at));
            }
            if values.is_empty() {
                change(Kind::AddElement);
            }
            for (at, value) in values.iter().enumerate() {
                path.push(Segment::Index(at));
                collect(value, path, changes);
                path.pop();
            }
        }
        Value::Object(map) => {
            for key in map.keys() {
                change(Kind::RemoveKey(key.clone()));
            }
            change(Kind::AddKey);
            for (key, value) in map {
                path.push(Segment::Key(key.clone()));
                collect(value, path, changes);
                path.pop();
            }
        }
        scalar => change(Kind::Replace(other(scalar))),
    }
}

/// A value of the same kind that is not this one.
fn other(scalar: &Value) -> Value {
    match scalar {
        Value::Bool(value) => Value::Bool(!value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::from(number.wrapping_add(1)),
            (None, Some(number)) => Value::from(number + 1.0),
            (None, None) => Value::Null,
        },
        Value::String(text) => Value::from(format!("{text}~")),
        _ => Value::from(ADDED),
    }
}

impl Change {
    /// Makes the change; `false` when there is nothing at its path.
    fn apply(&self, root: &mut Value) -> bool {
        let Some(target) = at_mut(root, &self.path) else {
            return false;
        };
        match (&self.kind, target) {
            (Kind::Replace(with), target) => {
                *target = with.clone();
                true
            }
            (Kind::RemoveElement(at), Value::Array(values)) if *at < values.len() => {
                values.remove(*at);
                true
            }
            (Kind::RepeatElement(at), Value::Array(values)) => match values.get(*at).cloned() {
                Some(value) => {
                    values.insert(*at, value);
                    true
                }
                None => false,
            },
            (Kind::AddElement, Value::Array(values)) => {
                values.push(Value::from(ADDED));
                true
            }
            (Kind::RemoveKey(key), Value::Object(map)) => map.remove(key).is_some(),
            (Kind::AddKey, Value::Object(map)) => {
                map.insert(ADDED.to_owned(), Value::from(ADDED)).is_none()
            }
            _ => false,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = shown(&self.path);
        match &self.kind {
            Kind::Replace(with) => write!(f, "{path}: replaced by {with}"),
            Kind::RemoveElement(at) => write!(f, "{path}[{at}]: removed"),
            Kind::RepeatElement(at) => write!(f, "{path}[{at}]: repeated"),
            Kind::AddElement => write!(f, "{path}: an element added"),
            Kind::RemoveKey(key) => write!(f, "{path}: key {key} removed"),
            Kind::AddKey => write!(f, "{path}: a key added"),
        }
    }
}

fn shown(path: &[Segment]) -> String {
    let mut text = String::from("expect");
    for segment in path {
        text += &match segment {
            Segment::Key(key) => format!(".{key}"),
            Segment::Index(at) => format!("[{at}]"),
        };
    }
    text
}

fn at<'a>(root: &'a Value, path: &[Segment]) -> Option<&'a Value> {
    path.iter().try_fold(root, |value, segment| match segment {
        Segment::Key(key) => value.get(key),
        Segment::Index(at) => value.get(at),
    })
}

fn at_mut<'a>(root: &'a mut Value, path: &[Segment]) -> Option<&'a mut Value> {
    path.iter().try_fold(root, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(at) => value.get_mut(at),
    })
}

/// Why a change of an expectation is no difference by the format's own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exemption {
    /// An absent key is null: one that is null may as well go.
    AbsentIsNull,
    /// A list or map that is absent where one belongs is an empty one.
    AbsentIsEmpty,
    /// Content is compared without keys that are null or empty.
    EmptyInContent,
    /// Of a notice of a `channel_*` event only type, code and `data.channel_id` count.
    ChannelNotice,
    /// Metadata is compared without keys that begin with `_`.
    PrivateMetadata,
}

fn exemption(expect: &Value, change: &Change) -> Option<Exemption> {
    let removed = match &change.kind {
        Kind::RemoveKey(key) => at(expect, &change.path).and_then(|map| map.get(key)),
        _ => None,
    };
    // The path of the value that changes, comes or goes.
    let mut path = change.path.clone();
    match &change.kind {
        Kind::RemoveKey(key) => path.push(Segment::Key(key.clone())),
        Kind::AddKey => path.push(Segment::Key(ADDED.to_owned())),
        _ => {}
    }
    if let Some((entry, below)) = in_entry(expect, &path) {
        match below {
            [Segment::Key(content), below @ ..]
                if content == "content" && normal::is_channel_notice(entry) =>
            {
                let counts = match below {
                    [] => true,
                    [Segment::Key(key)] => matches!(key.as_str(), "type" | "code" | "data"),
                    [Segment::Key(data), Segment::Key(key), ..] => {
                        data == "data" && key == "channel_id"
                    }
                    _ => false,
                };
                if !counts {
                    return Some(Exemption::ChannelNotice);
                }
            }
            [Segment::Key(metadata), Segment::Key(key), ..]
                if metadata == "metadata" && normal::is_private(key) =>
            {
                return Some(Exemption::PrivateMetadata);
            }
            _ => {}
        }
    }
    let removed = removed?;
    match place(&path) {
        Place::Content => {
            let mut left = removed.clone();
            normal::drop_empty_deep(&mut left);
            normal::is_empty(&left).then_some(Exemption::EmptyInContent)
        }
        Place::Metadata => None,
        Place::Frame if removed.is_null() => Some(Exemption::AbsentIsNull),
        Place::Frame => is_empty_list_or_map(removed).then_some(Exemption::AbsentIsEmpty),
        Place::Entry if removed.is_null() => Some(Exemption::AbsentIsNull),
        Place::Entry => {
            let is_metadata = path.last() == Some(&Segment::Key("metadata".to_owned()));
            let counts_for_nothing = (is_metadata && only_private(removed))
                || (path.last() == Some(&Segment::Key("raw_payload".to_owned()))
                    && is_empty_list_or_map(removed));
            counts_for_nothing.then_some(Exemption::AbsentIsEmpty)
        }
    }
}

/// Which rules hold for a key.
enum Place {
    /// A key of the trace, of a room, of a result, of a delivery or frame; a channel or a room.
    Frame,
    /// A key of a timeline entry.
    Entry,
    /// A key inside content.
    Content,
    /// A key inside an entry's metadata.
    Metadata,
}

fn place(path: &[Segment]) -> Place {
    use Segment::{Index, Key};
    match path {
        [Key(rooms), Key(_), Key(timeline), Index(_), below @ ..]
            if rooms == "rooms" && timeline == "timeline" =>
        {
            match below {
                [Key(content), _, ..] if content == "content" => Place::Content,
                [Key(data), _, ..] if data == "metadata" || data == "raw_payload" => {
                    Place::Metadata
                }
                _ => Place::Entry,
            }
        }
        [Key(list), Key(_), Index(_), Key(content), _, ..]
            if matches!(list.as_str(), "deliveries" | "frames") && content == "content" =>
        {
            Place::Content
        }
        _ => Place::Frame,
    }
}

/// The timeline entry that a path leads into, and the rest of the path.
fn in_entry<'a, 'p>(expect: &'a Value, path: &'p [Segment]) -> Option<(&'a Value, &'p [Segment])> {
    match path {
        [
            Segment::Key(rooms),
            Segment::Key(_),
            Segment::Key(timeline),
            Segment::Index(_),
            below @ ..,
        ] if rooms == "rooms" && timeline == "timeline" => {
            let to_entry = path.get(..4)?;
            Some((at(expect, to_entry)?, below))
        }
        _ => None,
    }
}

fn is_empty_list_or_map(value: &Value) -> bool {
    !value.is_string() && normal::is_empty(value)
}

fn only_private(metadata: &Value) -> bool {
    let map = metadata.as_object();
    map.is_some_and(|map| map.keys().all(|key| normal::is_private(key)))
}
