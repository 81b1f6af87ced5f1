//! All text that people read in a content, wherever it lies.

use super::EventContent;

/// Writes the walk once for reading and once for changing.
macro_rules! walk {
    ($walk:ident, $values:ident $(, $mutable:tt)?) => {
        fn $walk<'a>(content: &'a $($mutable)? EventContent, found: &mut Vec<&'a $($mutable)? String>) {
            match content {
                EventContent::Text(text) => found.push(& $($mutable)? text.body),
                EventContent::Rich(rich) => {
                    found.push(& $($mutable)? rich.body);
                    found.extend(& $($mutable)? rich.plain_text);
                    found.extend(& $($mutable)? rich.quick_replies);
                }
                EventContent::Media(media) => found.extend(& $($mutable)? media.caption),
                EventContent::Audio(audio) => found.extend(& $($mutable)? audio.transcript),
                EventContent::Location(location) => {
                    found.extend(& $($mutable)? location.label);
                    found.extend(& $($mutable)? location.address);
                }
                EventContent::Composite(composite) => {
                    for part in & $($mutable)? composite.parts {
                        $walk(part, found);
                    }
                }
                EventContent::System(system) => found.push(& $($mutable)? system.body),
                EventContent::Template(template) => {
                    found.extend(template.parameters.$values());
                    found.extend(& $($mutable)? template.body);
                }
                EventContent::Edit(edit) => $walk(& $($mutable)? *edit.new_content, found),
                EventContent::Delete(delete) => found.extend(& $($mutable)? delete.reason),
                EventContent::Video(_) | EventContent::ToolCall(_) => {}
            }
        }
    };
}

walk!(read, values);
walk!(change, values_mut, mut);

impl EventContent {
    /// All text that people read, in order: bodies, captions, transcripts, labels and addresses of
    /// places, the parameters and body of a template, also within parts and within the new content
    /// of an edit, and the reason of a deletion. Not the data of buttons, cards and tool calls.
    ///
    /// ```
    /// use roomkit_core::model::{EditContent, EventContent};
    ///
    /// let edit: EventContent = EditContent::new("event-1", "call 555-0100").into();
    /// assert_eq!(edit.text_body(), None);
    /// assert_eq!(edit.texts(), ["call 555-0100"]);
    /// ```
    pub fn texts(&self) -> Vec<&str> {
        let mut found = Vec::new();
        read(self, &mut found);
        found.into_iter().map(String::as_str).collect()
    }

    /// Replaces each of [`texts`](Self::texts) for which `change` returns another. Returns whether
    /// anything was replaced.
    pub fn map_texts(&mut self, mut change: impl FnMut(&str) -> Option<String>) -> bool {
        let mut texts = Vec::new();
        self::change(self, &mut texts);
        let mut changed = false;
        for text in texts {
            if let Some(new) = change(text) {
                *text = new;
                changed = true;
            }
        }
        changed
    }
}
