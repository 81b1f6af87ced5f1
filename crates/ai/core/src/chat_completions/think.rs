//! Reasoning that a model writes into its text, in `<think>` before the answer.

use crate::StreamEvent;

const OPEN: &str = "<think>";
const CLOSE: &str = "</think>";

/// Tells reasoning from text as it comes. Only what stands before everything else counts: an answer may
/// speak of the tag.
#[derive(Debug, Default)]
pub(super) struct ThinkTags {
    place: Place,
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    #[default]
    Start,
    Thinking,
    /// After the reasoning, whose line breaks do not belong to the answer.
    Between,
    Text,
}

impl ThinkTags {
    /// Takes the next piece of text.
    pub(super) fn read(&mut self, piece: &str, events: &mut Vec<StreamEvent>) {
        self.held.push_str(piece);
        loop {
            match self.place {
                Place::Start => {
                    let text = self.held.trim_start();
                    if let Some(rest) = text.strip_prefix(OPEN) {
                        self.held = rest.to_owned();
                        self.place = Place::Thinking;
                    } else if OPEN.starts_with(text) {
                        return;
                    } else {
                        self.place = Place::Text;
                    }
                }
                Place::Thinking => {
                    if let Some((thinking, rest)) = self.held.split_once(CLOSE) {
                        think(thinking.to_owned(), events);
                        self.held = rest.to_owned();
                        self.place = Place::Between;
                    } else {
                        // The end may be the beginning of the tag.
                        let keep = (1..CLOSE.len())
                            .rev()
                            .find(|keep| {
                                CLOSE
                                    .get(..*keep)
                                    .is_some_and(|tag| self.held.ends_with(tag))
                            })
                            .unwrap_or_default();
                        let rest = self.held.split_off(self.held.len() - keep);
                        think(std::mem::replace(&mut self.held, rest), events);
                        return;
                    }
                }
                Place::Between => {
                    let text = self.held.trim_start().to_owned();
                    self.held = text;
                    if self.held.is_empty() {
                        return;
                    }
                    self.place = Place::Text;
                }
                Place::Text => {
                    if !self.held.is_empty() {
                        events.push(StreamEvent::Text(std::mem::take(&mut self.held)));
                    }
                    return;
                }
            }
        }
    }

    /// Gives what was held back.
    pub(super) fn end(&mut self, events: &mut Vec<StreamEvent>) {
        let held = std::mem::take(&mut self.held);
        match self.place {
            Place::Thinking => think(held, events),
            _ if held.is_empty() => {}
            _ => events.push(StreamEvent::Text(held)),
        }
    }
}

fn think(thinking: String, events: &mut Vec<StreamEvent>) {
    if !thinking.is_empty() {
        events.push(StreamEvent::Thinking {
            thinking,
            signature: None,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, size: usize) -> (String, String) {
        let (mut tags, mut events) = (ThinkTags::default(), Vec::new());
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size) {
            tags.read(&piece.iter().collect::<String>(), &mut events);
        }
        tags.end(&mut events);
        let (mut thinking, mut said) = (String::new(), String::new());
        for event in events {
            match event {
                StreamEvent::Text(text) => said += &text,
                StreamEvent::Thinking { thinking: text, .. } => thinking += &text,
                _ => {}
            }
        }
        (thinking, said)
    }

    #[test]
    fn only_what_stands_before_the_answer_is_reasoning() {
        let cases = [
            ("<think>a < b</think>\n\nYes.", "a < b", "Yes."),
            ("\n<think>\nhm\n</think>Yes.", "\nhm\n", "Yes."),
            ("Use <think>x</think>.", "", "Use <think>x</think>."),
            ("<thin", "", "<thin"),
            ("<thing>", "", "<thing>"),
            ("<think>cut </thi", "cut </thi", ""),
            ("<think></think>Yes. </think>", "", "Yes. </think>"),
            ("  plain", "", "  plain"),
            ("", "", ""),
        ];
        for (text, thinking, said) in cases {
            for size in [1, 2, 3, 100] {
                let expected = (thinking.to_owned(), said.to_owned());
                assert_eq!(read(text, size), expected, "{text:?} by {size}");
            }
        }
    }
}
