//! Calls of tools put together from their pieces, whichever of id, index and name a server sends.

use std::hash::{BuildHasher, Hasher, RandomState};

use crate::{StreamEvent, ToolArguments, ToolCall};

/// The most calls of one answer.
const MOST_CALLS: usize = 128;

/// The calls of an answer, in the order in which they began.
#[derive(Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The next call of this index that brings arguments alone is another one.
    repeats: Option<usize>,
}

/// One piece of a call, as far as it came.
#[derive(Default)]
pub(super) struct Piece<'p> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'p str>,
    pub(super) name: Option<&'p str>,
    pub(super) arguments: &'p str,
}

struct Call {
    id: String,
    sent_id: Option<String>,
    index: Option<u64>,
    name: String,
    arguments: String,
    scan: Scan,
}

/// More calls than an answer may have.
#[derive(Debug)]
pub(super) struct TooMany;

impl Calls {
    /// Takes a piece, and says what is known of its call since.
    pub(super) fn take(&mut self, piece: &Piece<'_>) -> Result<StreamEvent, TooMany> {
        let at = match self.find(piece) {
            Some(at) => at,
            None => self.begin(piece)?,
        };
        let Some(call) = self.calls.get_mut(at) else {
            return Err(TooMany);
        };
        if call.name.is_empty() {
            call.name = piece.name.unwrap_or_default().to_owned();
        }
        call.arguments.push_str(piece.arguments);
        call.scan.read(piece.arguments);
        Ok(StreamEvent::ToolCallDelta {
            id: call.id.clone(),
            name: call.name.clone(),
            arguments_bytes: call.arguments.len(),
        })
    }

    /// All calls. What nothing is known of is none.
    pub(super) fn end(&mut self) -> Vec<ToolCall> {
        let calls = std::mem::take(&mut self.calls).into_iter();
        let known = calls.filter(|call| !call.name.is_empty() || !call.arguments.is_empty());
        known
            .map(|call| ToolCall::new(call.id, call.name, ToolArguments::parse(&call.arguments)))
            .collect()
    }

    /// The call that a piece belongs to, if it has begun.
    fn find(&mut self, piece: &Piece<'_>) -> Option<usize> {
        let repeats = self.repeats.take();
        let fits = |call: &Call| piece.index.is_none() || piece.index == call.index;
        let last = self.calls.iter().rposition(fits)?;
        let call = self.calls.get(last)?;
        if let Some(id) = piece.id {
            let same = |call: &Call| fits(call) && call.sent_id.as_deref() == Some(id);
            return self.calls.iter().rposition(same).or_else(|| {
                // An id that comes late: the call has begun without one.
                (call.sent_id.is_none() && !call.scan.is_whole()).then_some(last)
            });
        }
        let Some(name) = piece.name else {
            if repeats == Some(last) && !piece.arguments.trim().is_empty() {
                return None;
            }
            return Some(last);
        };
        if call.name.is_empty() || (name == call.name && !call.scan.is_whole()) {
            return Some(last);
        }
        let has_begun = !call.arguments.is_empty() && !call.scan.is_whole();
        if has_begun {
            // The name again, amid the arguments.
            return Some(last);
        }
        if name == call.name && piece.arguments.trim().is_empty() {
            // The name again, or another call of the same tool: what comes next says which.
            self.repeats = Some(last);
            return Some(last);
        }
        None
    }

    fn begin(&mut self, piece: &Piece<'_>) -> Result<usize, TooMany> {
        if self.calls.len() == MOST_CALLS {
            return Err(TooMany);
        }
        let mut name = piece.name.unwrap_or_default().to_owned();
        if name.is_empty() && piece.id.is_none() {
            // Another call of the tool of which the name came a piece before.
            let fits = |call: &&Call| piece.index.is_none() || piece.index == call.index;
            let before = self.calls.iter().rev().find(fits);
            name = before.map(|call| call.name.clone()).unwrap_or_default();
        }
        let taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        let sent = piece.id.filter(|id| !taken(id));
        self.calls.push(Call {
            id: sent.map_or_else(new_id, str::to_owned),
            sent_id: piece.id.map(str::to_owned),
            index: piece.index,
            name,
            arguments: String::new(),
            scan: Scan::default(),
        });
        Ok(self.calls.len() - 1)
    }
}

/// An id for a call to which the server gave none. It must differ from those of other turns too, since
/// all of them stand in later requests.
fn new_id() -> String {
    let random = RandomState::new().build_hasher().finish();
    format!("call_{random:016x}")
}

/// Follows JSON as it comes, to see where its object ends.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_text: bool,
    escaped: bool,
    ended: bool,
}

impl Scan {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.in_text => self.escaped = true,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.ended |= self.depth == 0;
                }
                _ => {}
            }
        }
    }

    fn is_whole(&self) -> bool {
        self.ended && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Sent = (
        Option<u64>,
        Option<&'static str>,
        Option<&'static str>,
        &'static str,
    );

    fn put_together(pieces: &[Sent]) -> Vec<(String, String)> {
        let mut calls = Calls::default();
        for (index, id, name, arguments) in pieces {
            let piece = Piece {
                index: *index,
                id: *id,
                name: *name,
                arguments,
            };
            calls.take(&piece).unwrap();
        }
        let text = |call: ToolCall| match call.arguments {
            ToolArguments::Object(object) => serde_json::to_string(&object).unwrap(),
            ToolArguments::Malformed { text, .. } => format!("malformed {text}"),
        };
        let calls = calls.end().into_iter();
        calls.map(|call| (call.name.clone(), text(call))).collect()
    }

    #[test]
    fn calls_are_told_apart_by_whatever_there_is() {
        let a = |arguments: &str| ("f".to_owned(), arguments.to_owned());
        let b = |arguments: &str| ("g".to_owned(), arguments.to_owned());
        type Case<'c> = (&'c str, &'c [Sent], Vec<(String, String)>);
        let cases: [Case<'_>; 11] = [
            (
                "one index for all, no ids",
                &[
                    (Some(0), None, Some("f"), r#"{"u":"#),
                    (Some(0), None, None, r#""a"}"#),
                    (Some(0), None, Some("g"), r#"{"u":"b"}"#),
                ],
                vec![a(r#"{"u":"a"}"#), b(r#"{"u":"b"}"#)],
            ),
            (
                "the same tool twice, names and arguments apart",
                &[
                    (Some(0), None, Some("f"), ""),
                    (Some(0), None, None, "{}"),
                    (Some(0), None, Some("f"), ""),
                    (Some(0), None, None, r#"{"a":1}"#),
                ],
                vec![a("{}"), a(r#"{"a":1}"#)],
            ),
            (
                "a name that is repeated to the end",
                &[
                    (None, None, Some("f"), r#"{"a""#),
                    (None, None, Some("f"), ":1}"),
                    (None, None, Some("f"), ""),
                ],
                vec![a(r#"{"a":1}"#)],
            ),
            (
                "two calls of a tool that takes nothing",
                &[(None, None, Some("f"), "{}"), (None, None, Some("f"), "{}")],
                vec![a("{}"), a("{}")],
            ),
            (
                "no arguments at all",
                &[
                    (Some(0), Some("1"), Some("f"), ""),
                    (Some(0), Some("2"), Some("g"), ""),
                ],
                vec![a("{}"), b("{}")],
            ),
            (
                "interleaved",
                &[
                    (Some(0), Some("1"), Some("f"), "{"),
                    (Some(1), Some("2"), Some("g"), "{"),
                    (Some(0), None, None, "}"),
                    (Some(1), None, None, r#""x":1}"#),
                ],
                vec![a("{}"), b(r#"{"x":1}"#)],
            ),
            (
                "the name after the arguments",
                &[
                    (Some(0), Some("1"), None, "{"),
                    (Some(0), None, Some("f"), "}"),
                    (Some(1), Some("2"), None, "{}"),
                    (Some(1), None, Some("g"), ""),
                ],
                vec![a("{}"), b("{}")],
            ),
            (
                "an id that comes late",
                &[(None, None, Some("f"), "{"), (None, Some("1"), None, "}")],
                vec![a("{}")],
            ),
            (
                "one id for all",
                &[
                    (Some(0), Some("1"), Some("f"), "{}"),
                    (Some(1), Some("1"), Some("g"), "{}"),
                ],
                vec![a("{}"), b("{}")],
            ),
            (
                "what is glued together beyond telling is not taken for a call",
                &[(Some(0), Some("1"), Some("f"), "{}{}")],
                vec![a("malformed {}{}")],
            ),
            (
                "braces within text",
                &[
                    (Some(0), None, Some("f"), r#"{"a":"}\"{"#),
                    (Some(0), None, Some("f"), r#""}"#),
                ],
                vec![a(r#"{"a":"}\"{"}"#)],
            ),
        ];
        for (what, pieces, expected) in cases {
            assert_eq!(put_together(pieces), expected, "{what}");
        }
    }

    #[test]
    fn no_two_calls_have_one_id_and_there_is_an_end_to_them() {
        let mut calls = Calls::default();
        let piece = |index| Piece {
            index: Some(index),
            id: Some("same"),
            name: Some("f"),
            arguments: "{}",
        };
        for index in 0..128 {
            calls.take(&piece(index)).unwrap();
        }
        assert!(calls.take(&piece(128)).is_err());
        let mut ids: Vec<_> = calls.end().into_iter().map(|call| call.id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 128);
    }
}
