//! What channels that stream were given, in the form of `expect.frames`.

use std::collections::{BTreeMap, HashMap};

use roomkit_core::channel::{Delta, StreamFrame};
use roomkit_core::model::{EventId, RoomId};
use serde_json::{Value, json};

use super::build::Stage;
use super::trace::{Indexes, show_content};
use crate::Taken;

/// The frames of every channel that streams; `None` where no channel does.
pub(super) fn of<'a>(
    stage: &'a Stage,
    names: &HashMap<RoomId, String>,
    indexes: &Indexes,
) -> Option<BTreeMap<&'a str, Vec<Value>>> {
    let mut channels = BTreeMap::new();
    for (id, channel) in &stage.transports {
        if !stage.streaming.contains(id) {
            continue;
        }
        let mut answers = Answers {
            indexes,
            unstored: Vec::new(),
        };
        let taken = channel.taken().into_iter();
        let shown = taken.map(|taken| show(&taken, names, &mut answers));
        channels.insert(id.as_str(), shown.collect());
    }
    (!channels.is_empty()).then_some(channels)
}

/// The places of answers in their rooms, and the answers that have none.
struct Answers<'a> {
    indexes: &'a Indexes,
    unstored: Vec<EventId>,
}

impl Answers<'_> {
    /// The index of an answer; `<none N>` for the Nth that the channel was shown but that was not
    /// stored.
    fn place(&mut self, event: &EventId) -> Value {
        if let Some(index) = self.indexes.get(event.as_str()) {
            return json!(index);
        }
        let known = self.unstored.iter().position(|other| other == event);
        let at = known.unwrap_or_else(|| {
            self.unstored.push(event.clone());
            self.unstored.len() - 1
        });
        json!(format!("<none {}>", at + 1))
    }
}

fn show(taken: &Taken, names: &HashMap<RoomId, String>, answers: &mut Answers<'_>) -> Value {
    let frame = match taken {
        Taken::Frame(frame) => frame,
        Taken::Whole(delivery) => {
            return json!({
                "frame": "whole",
                "room": names.get(&delivery.room_id),
                "index": delivery.index,
            });
        }
    };
    let room = names.get(frame.room_id());
    let index = answers.place(frame.event_id());
    let content =
        |event: &roomkit_core::model::RoomEvent| show_content(&event.content, answers.indexes);
    match frame {
        StreamFrame::Start(start) => json!({
            "frame": "start",
            "room": room,
            "index": index,
            "source": start.source.channel_id,
            "trigger": answers.indexes.get(start.trigger_id.as_str()),
            "parent": start.parent_event_id.as_ref().map(|id| answers.indexes.get(id.as_str())),
        }),
        StreamFrame::Chunk { delta, .. } => json!({
            "frame": "chunk", "room": room, "index": index, "delta": show_delta(delta),
        }),
        StreamFrame::End { end, event } => json!({
            "frame": "end", "room": room, "index": index,
            "end": end.code(), "content": content(event),
        }),
        StreamFrame::Replaced { end, event } => json!({
            "frame": "replaced", "room": room, "index": index,
            "end": end.code(), "content": content(event),
        }),
        StreamFrame::Retracted {
            reason, blocked_by, ..
        } => json!({
            "frame": "retracted", "room": room, "index": index,
            "reason": reason, "blocked_by": blocked_by,
        }),
        // No file expects this, so it is a difference.
        other => json!({ "frame": format!("{other:?}") }),
    }
}

/// As in the script of an agent.
fn show_delta(delta: &Delta) -> Value {
    match delta {
        Delta::Text(text) => json!({ "text": text }),
        Delta::Thinking(text) => json!({ "thinking": text }),
        Delta::ToolCallStart { id, name } => {
            json!({ "tool_call_start": { "id": id, "name": name } })
        }
        Delta::ToolCallEnd { id } => json!({ "tool_call_end": { "id": id } }),
        Delta::End => json!("end"),
        other => json!(format!("{other:?}")),
    }
}
