//! The look at what is there after a crash, room by room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roomkit_core::model::{EventId, RoomEvent, RoomId};
use roomkit_core::store::{ConversationStore, EventQuery};

use crate::Result;
use crate::protocol::{Send, room_id};

/// How many events are read at once.
const PAGE: usize = 1_000;

/// What was acknowledged: each message by its key, with its index.
#[derive(Debug, Clone, Default)]
pub struct Acknowledged(BTreeMap<String, (Send, u64)>);

impl Acknowledged {
    /// Notes an acknowledgement. A message that is acknowledged again has the index that it had.
    ///
    /// # Errors
    /// The violation, where it has another.
    pub fn note(&mut self, message: Send, index: u64) -> Result<(), String> {
        let key = message.key.clone();
        match self.0.insert(key.clone(), (message, index)) {
            Some((_, first)) if first != index => {
                Err(format!("{key}: acknowledged at {first}, then at {index}"))
            }
            _ => Ok(()),
        }
    }

    /// How many messages were acknowledged.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether none was.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn of_room(&self, room: usize) -> impl Iterator<Item = (&Send, u64)> {
        let all = self.0.values().map(|(message, index)| (message, *index));
        all.filter(move |(message, _)| message.room == room)
    }
}

/// Everything that is wrong with the rooms; empty when nothing is.
///
/// # Errors
/// Where the store cannot be read.
pub async fn audit(
    store: &dyn ConversationStore,
    rooms: usize,
    acknowledged: &Acknowledged,
) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    for number in 0..rooms {
        let room = RoomId::from(room_id(number).as_str());
        let mut found = audit_room(store, &room, number, acknowledged).await?;
        found
            .iter_mut()
            .for_each(|violation| violation.insert_str(0, &format!("{room}: ")));
        violations.append(&mut found);
    }
    Ok(violations)
}

async fn audit_room(
    store: &dyn ConversationStore,
    room: &RoomId,
    number: usize,
    acknowledged: &Acknowledged,
) -> Result<Vec<String>> {
    let mut violations = Vec::new();
    let Some(snapshot) = store.room(room).await? else {
        // A writer may have been killed before it made the room, but not after it used it.
        let lost = acknowledged
            .of_room(number)
            .map(|(message, _)| message.key.clone());
        return Ok(lost
            .map(|key| format!("{key}: lost with its room"))
            .collect());
    };
    let events = read_all(store, room).await?;
    let count = events.len() as u64;
    if !events.iter().map(|event| event.index).eq(0..count) {
        violations.push("the indexes have a gap or a repeat".into());
    }
    let counters = (snapshot.room.event_count, snapshot.room.next_index());
    if counters != (count, count) {
        violations.push(format!("{count} events, but the counters say {counters:?}"));
    }
    let ids: BTreeSet<&EventId> = events.iter().map(|event| &event.id).collect();
    if ids.len() != events.len() {
        violations.push("an id is there twice".into());
    }
    let mut by_key: BTreeMap<&str, &RoomEvent> = BTreeMap::new();
    for event in &events {
        if let Some(key) = &event.idempotency_key
            && by_key.insert(key, event).is_some()
        {
            violations.push(format!("{key}: stored twice"));
        }
    }
    let people = store.participants(room).await?;
    for (message, index) in acknowledged.of_room(number) {
        let key = &message.key;
        match by_key.get(key.as_str()) {
            None => violations.push(format!("{key}: acknowledged and lost")),
            Some(event) if event.index != index => {
                violations.push(format!(
                    "{key}: acknowledged at {index}, is at {}",
                    event.index
                ));
            }
            Some(event) if event.text() != Some(&*message.text()) => {
                violations.push(format!("{key}: has another text"));
            }
            Some(_) => {}
        }
        let outcome = store.idempotent_outcome(room, key).await?;
        let id = by_key.get(key.as_str()).map(|event| &event.id);
        if outcome.as_ref().map(|outcome| &outcome.event_id) != id {
            violations.push(format!("{key}: the key names another event"));
        }
        if !people
            .iter()
            .any(|person| person.id.as_str() == message.sender)
        {
            violations.push(format!("{key}: its speaker is unknown"));
        }
    }
    Ok(violations)
}

async fn read_all(store: &dyn ConversationStore, room: &RoomId) -> Result<Vec<Arc<RoomEvent>>> {
    let mut all: Vec<Arc<RoomEvent>> = Vec::new();
    loop {
        let mut query = EventQuery::first(PAGE);
        query.after = all.last().map(|event| event.index);
        let page = store.events(room, &query).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
