//! What a model thought, as it has to be given back: in its place among what it said and called.
//!
//! One block of thinking before everything else is kept by the vendor's signature alone. Where there is more of it, or
//! some is redacted, the signature is a list of the answer's blocks in order: the blocks of thinking themselves, how
//! many bytes of text came between, and where a tool was called.

use serde::{Deserialize, Serialize};

/// A block of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Block {
    /// Thinking, with the vendor's token.
    Thinking { thinking: String, signature: String },
    /// Thinking that the vendor does not show.
    RedactedThinking { data: String },
    /// So many bytes of text.
    Text { bytes: usize },
    /// A call of a tool.
    ToolUse,
}

impl Block {
    pub(crate) fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// The signature under which the thinking of an answer is kept; `None` where nothing can be given back.
pub(crate) fn seal(blocks: &[Block]) -> Option<String> {
    if !blocks.iter().any(Block::is_thinking) {
        return None;
    }
    if let [Block::Thinking { signature, .. }, rest @ ..] = blocks {
        let rest = match rest {
            [Block::Text { .. }, rest @ ..] => rest,
            rest => rest,
        };
        if rest.iter().all(|block| *block == Block::ToolUse) {
            return Some(signature.clone());
        }
    }
    serde_json::to_string(blocks).ok()
}

/// What was kept under a signature.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The vendor's own token.
    Signature,
    /// The blocks of an answer.
    Blocks(Vec<Block>),
    /// What another vendor's provider keeps.
    Foreign,
}

/// Opens a signature.
pub(crate) fn open(signature: &str) -> Kept {
    // The vendor's own are no JSON.
    if !signature.starts_with(['[', '{']) {
        return Kept::Signature;
    }
    match serde_json::from_str::<Vec<Block>>(signature) {
        Ok(blocks) if blocks.iter().any(Block::is_thinking) => Kept::Blocks(blocks),
        _ => Kept::Foreign,
    }
}

/// Where each block of a message goes: thinking by its place in the list, text by its range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Place<'b> {
    Thinking(&'b Block),
    Text(&'b str),
    Call,
}

/// The places of blocks around this text and so many calls; `None` where they do not fit, since the message
/// has changed.
pub(crate) fn places<'b>(
    blocks: &'b [Block],
    mut text: &'b str,
    calls: usize,
) -> Option<Vec<Place<'b>>> {
    let mut places = Vec::new();
    for block in blocks {
        places.push(match block {
            Block::Text { bytes } => {
                let (said, rest) = text.split_at_checked(*bytes)?;
                text = rest;
                Place::Text(said)
            }
            Block::ToolUse => Place::Call,
            thinking => Place::Thinking(thinking),
        });
    }
    let placed = places.iter().filter(|place| **place == Place::Call).count();
    (text.is_empty() && placed == calls).then_some(places)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn thinking(text: &str) -> Block {
        Block::Thinking {
            thinking: text.into(),
            signature: format!("c2ln{text}"),
        }
    }

    fn redacted() -> Block {
        Block::RedactedThinking {
            data: "eHg=".into(),
        }
    }

    #[test]
    fn the_usual_answer_keeps_the_vendors_own_signature() {
        let text = || Block::Text { bytes: 3 };
        assert_eq!(seal(&[text(), Block::ToolUse]), None);
        for blocks in [
            vec![thinking("a")],
            vec![thinking("a"), text()],
            vec![thinking("a"), text(), Block::ToolUse, Block::ToolUse],
        ] {
            assert_eq!(seal(&blocks).as_deref(), Some("c2lna"));
        }
        assert_eq!(open("c2lna"), Kept::Signature);
    }

    #[test]
    fn anything_else_is_kept_in_order() {
        let text = || Block::Text { bytes: 3 };
        for blocks in [
            vec![redacted()],
            vec![thinking("a"), redacted(), text()],
            vec![thinking("a"), Block::ToolUse, text()],
            vec![thinking("a"), text(), thinking("b"), Block::ToolUse],
        ] {
            assert_eq!(open(&seal(&blocks).unwrap()), Kept::Blocks(blocks));
        }
    }

    #[test]
    fn what_another_vendor_keeps_is_told_apart() {
        for foreign in [
            r#"[{"type":"reasoning","id":"rs_1","summary":[]}]"#,
            r#"[{"type":"text","bytes":1}]"#,
            "[]",
            "{}",
            "[",
        ] {
            assert_eq!(open(foreign), Kept::Foreign, "{foreign}");
        }
    }

    #[test]
    fn places_fit_the_message_or_there_are_none() {
        let blocks = [
            Block::Text { bytes: 3 },
            thinking("a"),
            Block::ToolUse,
            Block::Text { bytes: 1 },
        ];
        let expected = [
            Place::Text("aé"),
            Place::Thinking(&blocks[1]),
            Place::Call,
            Place::Text("b"),
        ];
        assert_eq!(places(&blocks, "aéb", 1).unwrap(), expected);
        for (text, calls) in [("aéb", 0), ("aéb", 2), ("aé", 1), ("aébc", 1), ("aaéb", 1)] {
            assert_eq!(places(&blocks, text, calls), None, "{text} {calls}");
        }
    }
}
