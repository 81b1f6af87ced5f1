//! The trace that a scenario leaves, in the form of its `expect`, read through the kit's public API.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use roomkit_core::model::{EventContent, RoomEvent, RoomId};
use roomkit_core::store::{EventQuery, Page, RoomFilter};
use roomkit_core::{Result, RoomKit};
use serde_json::{Map, Value, json};

use super::build::Stage;
use super::{ephemeral, frames};

/// How many rooms or events are read at a time.
const PAGE: usize = 1_000;

/// Ids of events, shown by the event's place in its room.
pub(super) type Indexes = HashMap<String, u64>;

pub(super) async fn of(stage: &Stage, results: Vec<Value>) -> Result<Value> {
    let names = room_names(stage).await?;
    let mut timelines = Vec::new();
    let mut indexes = Indexes::new();
    for (room, name) in &names {
        let events = timeline(&stage.kit, room).await?;
        indexes.extend(
            events
                .iter()
                .map(|event| (event.id.to_string(), event.index)),
        );
        timelines.push((room, name, events));
    }
    let mut rooms = Map::new();
    for (room, name, events) in timelines {
        rooms.insert(
            name.clone(),
            show_room(stage, room, &events, &indexes).await?,
        );
    }
    let mut framework_events = stage.notices.entries();
    framework_events.sort();
    let names = names.into_iter().collect();
    let mut trace = json!({
        "results": results,
        "hooks": stage.hooks.entries(),
        "heard": heard(stage),
        "deliveries": deliveries(stage, &names, &indexes),
        "framework_events": framework_events,
        "rooms": rooms,
    });
    if let (Some(frames), Value::Object(trace)) = (frames::of(stage, &names, &indexes), &mut trace)
    {
        trace.insert("frames".to_owned(), json!(frames));
    }
    if let (Some(heard), Value::Object(trace)) =
        (ephemeral::of(stage, &names, &indexes), &mut trace)
    {
        trace.insert("ephemeral".to_owned(), json!(heard));
    }
    Ok(trace)
}

/// Every room by creation time, with the name it has in the trace.
pub(super) async fn room_names(stage: &Stage) -> Result<Vec<(RoomId, String)>> {
    let mut names = Vec::new();
    let mut new = 0;
    loop {
        let page = Page {
            offset: names.len(),
            limit: PAGE,
        };
        let rooms = stage.kit.list_rooms(RoomFilter::default(), page).await?;
        if rooms.is_empty() {
            return Ok(names);
        }
        for room in rooms {
            let name = if stage.named.contains(&room.id) {
                room.id.to_string()
            } else {
                new += 1;
                format!("<new {new}>")
            };
            names.push((room.id.clone(), name));
        }
    }
}

/// A room's events in index order.
pub(super) async fn timeline(kit: &RoomKit, room: &RoomId) -> Result<Vec<Arc<RoomEvent>>> {
    let mut events = Vec::new();
    loop {
        let query = EventQuery::first(PAGE).offset(events.len());
        let more = kit.events(room, &query).await?;
        if more.is_empty() {
            return Ok(events);
        }
        events.extend(more);
    }
}

async fn show_room(
    stage: &Stage,
    id: &RoomId,
    events: &[Arc<RoomEvent>],
    indexes: &Indexes,
) -> Result<Value> {
    let room = stage.kit.room(id).await?;
    let tasks = stage.kit.tasks(id).await?;
    let observations = stage.kit.observations(id).await?;
    Ok(json!({
        "status": room.status,
        "event_count": room.event_count,
        "latest_index": room.latest_index,
        "timeline": events.iter().map(|event| show_event(event, indexes)).collect::<Vec<_>>(),
        "tasks": tasks.iter().map(|task| &task.title).collect::<Vec<_>>(),
        "observations": observations.iter().map(|seen| &seen.category).collect::<Vec<_>>(),
    }))
}

fn show_event(event: &RoomEvent, indexes: &Indexes) -> Value {
    json!({
        "index": event.index,
        "type": event.event_type,
        "status": event.status,
        "blocked_by": event.blocked_by,
        "source": event.source.channel_id,
        "participant": event.source.participant_id,
        "chain_depth": event.chain_depth,
        "visibility": event.visibility,
        "addressed_to": event.addressed_to,
        "parent": event.parent_event_id.as_ref().map(|id| shown_by_index(id.as_str(), indexes)),
        "superseded_by": event.superseded_by().map(|id| shown_by_index(id.as_str(), indexes)),
        "content": show_content(&event.content, indexes),
        "metadata": event.metadata,
    })
}

pub(super) fn show_content(content: &EventContent, indexes: &Indexes) -> Value {
    // Content always has a form in JSON; null would be a difference.
    let mut value = serde_json::to_value(content).unwrap_or_default();
    name_by_index(&mut value, indexes);
    value
}

/// An event as `#index`; the id of an event that is nowhere is `#gone`, since none is known beforehand.
fn shown_by_index(id: &str, indexes: &Indexes) -> String {
    let index = indexes.get(id);
    index.map_or_else(|| "#gone".to_owned(), |index| format!("#{index}"))
}

/// Shows `target_event_id` as `#index`; the id of an event that is nowhere stays.
fn name_by_index(value: &mut Value, indexes: &Indexes) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                match (key.as_str(), &*value) {
                    ("target_event_id", Value::String(id)) => {
                        if let Some(index) = indexes.get(id) {
                            *value = Value::String(format!("#{index}"));
                        }
                    }
                    _ => name_by_index(value, indexes),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                name_by_index(value, indexes);
            }
        }
        _ => {}
    }
}

/// The indexes that each agent was asked about, sorted, repeats included.
fn heard(stage: &Stage) -> BTreeMap<&str, Vec<u64>> {
    let agents = stage.agents.iter().map(|(id, agent)| {
        let mut indexes = agent.heard_indexes();
        indexes.sort_unstable();
        (id.as_str(), indexes)
    });
    agents.filter(|(_, indexes)| !indexes.is_empty()).collect()
}

fn deliveries<'a>(
    stage: &'a Stage,
    names: &HashMap<RoomId, String>,
    indexes: &Indexes,
) -> BTreeMap<&'a str, Vec<Value>> {
    let channels = stage.transports.iter().map(|(id, channel)| {
        let shown = channel.deliveries().into_iter().map(|delivery| {
            json!({
                "room": names.get(&delivery.room_id),
                "index": delivery.index,
                "content": show_content(&delivery.event.content, indexes),
            })
        });
        (id.as_str(), shown.collect::<Vec<_>>())
    });
    channels.filter(|(_, shown)| !shown.is_empty()).collect()
}
