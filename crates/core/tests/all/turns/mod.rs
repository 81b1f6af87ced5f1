//! Turn taking: the recorded vectors, the mention grammar, the planner, the room and the selector.

mod conformance;
mod cost;
mod ended;
mod mentions;
mod planner;
mod properties;
mod room;
mod room_properties;
mod selector;
mod selector_properties;

use roomkit_core::turns::TranscriptEvent;

fn roster(ids: &[&str]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// Events written as `(speaker, content, round)`.
fn transcript(events: &[(&str, &str, u32)]) -> Vec<TranscriptEvent> {
    events
        .iter()
        .map(|(speaker, content, round)| TranscriptEvent::new(*speaker, *content).in_round(*round))
        .collect()
}
