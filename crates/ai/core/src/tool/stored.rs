//! Large results: kept aside, shown to the model in part, and read by it page by page.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use roomkit_core::model::RoomId;
use serde_json::{Value, json};

use super::tokens::estimate_tokens;
use super::{Arguments, Tool, ToolContext, ToolError, ToolErrorKind, ToolOutput};
use crate::{ResultPart, ToolDefinition, ToolResult};

/// The name of the tool that reads what is kept.
pub const READ_STORED_RESULT: &str = "read_stored_result";

/// How many results are kept, over all rooms; the oldest goes first.
const MOST_KEPT: usize = 50;
/// How many lines of its beginning and of its end are shown of a result.
const SHOWN_LINES: usize = 5;
/// The most characters of a line that are shown, at its beginning and its end together.
const SHOWN_CHARACTERS: usize = 800;
/// The bytes of a page that are not its content.
const ENVELOPE: usize = 512;
/// How many lines a page has where the model names no number.
const PAGE_LINES: usize = 800;

/// Keeps large results of tools aside, in memory. Clones are the same.
///
/// What takes more than 5,000 tokens, by [`estimate_tokens`], is kept: the model is shown its first and last
/// five lines, and reads the rest with the tool `read_stored_result`. A room sees its own results alone.
#[derive(Clone)]
pub struct StoredResults {
    threshold: usize,
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    results: VecDeque<Stored>,
    count: u64,
}

struct Stored {
    room: Option<RoomId>,
    id: String,
    text: Arc<str>,
}

impl StoredResults {
    /// Keeps what takes more than 5,000 tokens.
    #[must_use]
    pub fn new() -> Self {
        Self {
            threshold: 5_000,
            kept: Arc::default(),
        }
    }

    /// Keeps what takes more than so many tokens; less than 500 is read as 500, so that a page is worth
    /// reading.
    #[must_use]
    pub fn with_threshold(mut self, tokens: usize) -> Self {
        self.threshold = tokens.max(500);
        self
    }

    /// Whether something is kept for a room: only then the model needs the tool.
    #[must_use]
    pub fn has_any(&self, room: Option<&RoomId>) -> bool {
        let kept = self.kept();
        kept.results
            .iter()
            .any(|stored| stored.room.as_ref() == room)
    }

    /// Keeps the text of a large result, and puts a preview in its place; pictures and a small result stay
    /// as they are, and so does a page of `read_stored_result`.
    #[must_use]
    pub fn keep(&self, room: Option<&RoomId>, mut result: ToolResult) -> ToolResult {
        if result.name == READ_STORED_RESULT {
            return result;
        }
        let mut texts = result.parts.iter().filter_map(|part| match part {
            ResultPart::Text { text } => Some(text.as_str()),
            ResultPart::Image { .. } => None,
        });
        let mut text = texts.next().unwrap_or_default().to_owned();
        for more in texts {
            text.push('\n');
            text.push_str(more);
        }
        let tokens = estimate_tokens(&text);
        if tokens <= self.threshold {
            return result;
        }
        let preview = preview(&text, self.shown_characters());
        let id = self.store(room, text);
        let text = format!(
            "The result is large, about {tokens} tokens, and was kept as `{id}`. \
             Read it with {READ_STORED_RESULT}. It begins and ends so:\n\n{preview}"
        );
        result
            .parts
            .retain(|part| matches!(part, ResultPart::Image { .. }));
        result.parts.insert(0, ResultPart::Text { text });
        result
    }

    /// The tool `read_stored_result`.
    #[must_use]
    pub fn tool(&self) -> impl Tool + use<> {
        ReadStoredResult {
            definition: definition(),
            results: self.clone(),
        }
    }

    /// Of a line; with a low threshold less, so that a preview is smaller than what it stands for.
    fn shown_characters(&self) -> usize {
        SHOWN_CHARACTERS.min(self.threshold / 5)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, room: Option<&RoomId>, text: String) -> String {
        let mut kept = self.kept();
        kept.count += 1;
        // The vendor's ids of calls may repeat in a room; this does not.
        let id = format!("result_{}", kept.count);
        if kept.results.len() == MOST_KEPT {
            kept.results.pop_front();
        }
        kept.results.push_back(Stored {
            room: room.cloned(),
            id: id.clone(),
            text: text.into(),
        });
        id
    }

    fn read(&self, room: Option<&RoomId>, id: &str) -> Result<Arc<str>, ToolError> {
        let kept = self.kept();
        let mut own = kept
            .results
            .iter()
            .filter(|stored| stored.room.as_ref() == room);
        if let Some(stored) = own.clone().find(|stored| stored.id == id) {
            return Ok(Arc::clone(&stored.text));
        }
        let first = own.next().map_or("", |stored| &stored.id);
        let ids = own.fold(first.to_owned(), |ids, stored| ids + ", " + &stored.id);
        let message = format!("There is no such result; it may be gone. There are: [{ids}]");
        Err(ToolError::of(ToolErrorKind::InvalidArguments, message))
    }

    fn page(&self, text: &str, offset: usize, limit: usize) -> Value {
        // A page must stay below the threshold as JSON, or reading one would need reading it.
        let room = (self.threshold * 4).saturating_sub(ENVELOPE);
        let (mut content, mut used, mut count, mut total) =
            (String::new(), 0_usize, 0_usize, 0_usize);
        let mut full = false;
        for line in pieces(text, room) {
            let at = total;
            total += 1;
            if at < offset || full || count == limit {
                continue;
            }
            let length = escaped(line) + 2;
            if count > 0 && used + length > room {
                full = true;
                continue;
            }
            if count > 0 {
                content.push('\n');
            }
            content.push_str(line);
            used += length;
            count += 1;
        }
        let next = offset.saturating_add(count);
        let mut page = json!({
            "content": content,
            "offset": offset,
            "lines_returned": count,
            "total_lines": total,
            "has_more": next < total,
            "next_offset": (next < total).then_some(next),
        });
        if let (true, Value::Object(page)) = (next < total, &mut page) {
            let warning = format!(
                "This is a part: {count} of {total} lines, from line {offset}. Do not conclude that something \
                 is missing before you have read all; go on with offset {next}."
            );
            page.insert("warning".to_owned(), warning.into());
        }
        page
    }
}

/// How many bytes a text takes in JSON.
fn escaped(text: &str) -> usize {
    text.bytes().map(escaped_byte).sum()
}

fn escaped_byte(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0C => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// The lines of a text, those that would fill more than a page cut into several.
fn pieces(text: &str, most: usize) -> impl Iterator<Item = &str> {
    text.lines().flat_map(move |line| {
        let mut rest = Some(line);
        std::iter::from_fn(move || {
            let line = rest.take()?;
            let mut used = 0;
            let cut = line.char_indices().find(|(_, character)| {
                let mut bytes = [0; 4];
                used += escaped(character.encode_utf8(&mut bytes));
                used > most.saturating_sub(2)
            });
            let Some((cut, _)) = cut.filter(|(cut, _)| *cut > 0) else {
                return Some(line);
            };
            let (piece, more) = line.split_at_checked(cut)?;
            rest = Some(more);
            Some(piece)
        })
    })
}

fn preview(text: &str, most: usize) -> String {
    let shortened = |line| shortened(line, most);
    let total = text.lines().count();
    if total <= 2 * SHOWN_LINES {
        let lines: Vec<String> = text.lines().map(shortened).collect();
        return lines.join("\n");
    }
    let left_out = total - 2 * SHOWN_LINES;
    let mut lines: Vec<String> = text.lines().take(SHOWN_LINES).map(shortened).collect();
    lines.push(format!("\n[… {left_out} lines left out …]\n"));
    lines.extend(text.lines().skip(total - SHOWN_LINES).map(shortened));
    lines.join("\n")
}

/// A line, without its middle where it is long.
fn shortened(line: &str, most: usize) -> String {
    let length = line.chars().count();
    if length <= most {
        return line.to_owned();
    }
    let half = most / 2;
    let beginning: String = line.chars().take(half).collect();
    let end: String = line.chars().skip(length - half).collect();
    format!(
        "{beginning} [… {} characters left out …] {end}",
        length - 2 * half
    )
}

fn definition() -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": {
            "result_id": {
                "type": "string",
                "description": "The name under which the result was kept.",
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "default": 0,
                "description": "The line to begin with.",
            },
            "limit": {
                "type": "integer",
                "minimum": 1,
                "default": PAGE_LINES,
                "description": "The most lines to read.",
            },
        },
        "required": ["result_id"],
    });
    ToolDefinition::new(
        READ_STORED_RESULT,
        "Reads a large result of a tool that was kept, in pages: go on with next_offset until has_more is \
         false to read all.",
        parameters,
    )
}

struct ReadStoredResult {
    definition: ToolDefinition,
    results: StoredResults,
}

#[async_trait]
impl Tool for ReadStoredResult {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    async fn call(
        &self,
        arguments: Arguments,
        context: &ToolContext,
    ) -> Result<ToolOutput, ToolError> {
        let number = |name, default: usize| {
            let asked = arguments.get(name).and_then(Value::as_f64);
            // The schema has it whole and not negative; what is too large reads nothing.
            asked.map_or(default, |n| format!("{n:.0}").parse().unwrap_or(usize::MAX))
        };
        let id = arguments.get("result_id").and_then(Value::as_str);
        let text = self
            .results
            .read(context.room_id.as_ref(), id.unwrap_or_default())?;
        let (offset, limit) = (number("offset", 0), number("limit", PAGE_LINES).max(1));
        let page = self.results.page(&text, offset, limit);
        Ok(ToolOutput::text(page.to_string()))
    }

    fn is_infrastructure(&self) -> bool {
        true
    }
}

impl Default for StoredResults {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for StoredResults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredResults")
            .field("threshold", &self.threshold)
            .field("kept", &self.kept().results.len())
            .finish()
    }
}
