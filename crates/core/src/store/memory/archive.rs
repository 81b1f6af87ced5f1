//! Whole rooms into the memory store and out of it.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream::{self, BoxStream, StreamExt};

use super::MemoryStore;
use super::record::RoomRecord;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{ParticipantId, RoomEvent, RoomId};
use crate::store::{ArchiveStore, RoomHead, RoomPart, RoomSnapshot, checked};

/// The most holes that a restored room may have: each takes the place of an event.
const MOST_HOLES: u64 = 16 * 1024 * 1024;

#[async_trait]
impl ArchiveStore for MemoryStore {
    fn dump(&self, room: &RoomId) -> BoxStream<'_, Result<RoomPart>> {
        let parts = self.with(room, |record| parts(record)).unwrap_or_default();
        stream::iter(parts.into_iter().map(Ok)).boxed()
    }

    async fn restore(&self, parts: BoxStream<'_, Result<RoomPart>>) -> Result<RoomSnapshot> {
        let mut parts = checked(parts);
        let mut record: Option<RoomRecord> = None;
        while let Some(part) = parts.next().await {
            match (part?, &mut record) {
                (RoomPart::Room(head), record) => *record = Some(RoomRecord::of(*head)),
                (part, Some(record)) => add(record, part)?,
                (_, None) => {}
            }
        }
        let mut record = record.ok_or_else(|| invalid("it is empty"))?;
        let filled = record.fill_up(MOST_HOLES);
        filled.ok_or_else(|| invalid("too many indexes have no event"))?;
        self.insert(record)
    }
}

/// Everything that a room holds, in the order of an archive.
fn parts(record: &RoomRecord) -> Vec<RoomPart> {
    let snapshot = record.snapshot();
    let mut parts = vec![RoomPart::Room(Box::new(RoomHead {
        room: (*snapshot.room).clone(),
        version: snapshot.version,
        detached: (*snapshot.detached).clone(),
    }))];
    parts.extend(snapshot.bindings.iter().cloned().map(RoomPart::Binding));
    parts.extend(
        record
            .participants
            .iter()
            .cloned()
            .map(RoomPart::Participant),
    );
    let mut speakers: Vec<_> = record.speakers.iter().cloned().collect();
    speakers.sort_by_cached_key(|(kind, sender)| (kind.to_string(), sender.clone()));
    parts.extend(
        speakers
            .into_iter()
            .map(|(channel_type, sender_id)| RoomPart::Sender {
                channel_type,
                sender_id,
            }),
    );
    parts.extend(record.events.iter().flatten().map(|event| {
        let older = record.versions.get(&event.id).into_iter().flatten();
        RoomPart::Event(older.chain([event]).cloned().collect())
    }));
    let mut outcomes: Vec<_> = record.outcomes.values().cloned().collect();
    outcomes.sort_by(|a, b| a.key.cmp(&b.key));
    parts.extend(outcomes.into_iter().map(RoomPart::Outcome));
    parts.extend(record.tasks.iter().cloned().map(RoomPart::Task));
    parts.extend(
        record
            .observations
            .iter()
            .cloned()
            .map(RoomPart::Observation),
    );
    parts.extend(record.markers.values().cloned().map(RoomPart::ReadMarker));
    parts.extend(record.owed.values().cloned().map(RoomPart::Owed));
    let count = parts.len() as u64;
    parts.push(RoomPart::End { parts: count });
    parts
}

fn add(record: &mut RoomRecord, part: RoomPart) -> Result<()> {
    let twice = match part {
        RoomPart::Room(_) | RoomPart::End { .. } => false,
        RoomPart::Binding(binding) => {
            let twice = record.snapshot().binding(&binding.channel_id).is_some();
            record.bindings = record.bindings.iter().cloned().chain([binding]).collect();
            twice
        }
        RoomPart::Participant(participant) => {
            let same = |other: &ParticipantId| *other == participant.id;
            let twice = record.participants.iter().any(|other| same(&other.id));
            record.participants.push(participant);
            twice
        }
        RoomPart::Sender {
            channel_type,
            sender_id,
        } => !record.speakers.insert((channel_type, sender_id)),
        RoomPart::Event(versions) => add_event(record, versions)?,
        RoomPart::Outcome(outcome) => {
            let key = outcome.key.clone();
            record.outcomes.insert(key, outcome).is_some()
        }
        RoomPart::Task(task) => {
            let twice = record.tasks.iter().any(|other| other.id == task.id);
            record.tasks.push(task);
            twice
        }
        RoomPart::Observation(observation) => {
            record.observations.push(observation);
            false
        }
        RoomPart::ReadMarker(marker) => {
            let channel = marker.channel_id.clone();
            record.markers.insert(channel, marker).is_some()
        }
        RoomPart::Owed(owed) => {
            let id = owed.delivery_id.clone();
            record.owed.insert(id, owed).is_some()
        }
    };
    if twice {
        return Err(invalid("a part is there twice"));
    }
    Ok(())
}

/// Puts an event at the place of its index; `true` where its id is there already.
fn add_event(record: &mut RoomRecord, mut versions: Vec<Arc<RoomEvent>>) -> Result<bool> {
    let Some(event) = versions.pop() else {
        return Ok(false);
    };
    let holes = event.index.saturating_sub(record.events.len() as u64);
    let place = usize::try_from(event.index).ok();
    let Some(place) = place.filter(|_| holes <= MOST_HOLES) else {
        return Err(invalid("too many indexes have no event"));
    };
    record.events.resize(place, None);
    if !versions.is_empty() {
        record.versions.insert(event.id.clone(), versions);
    }
    let twice = record.places.insert(event.id.clone(), place).is_some();
    record.events.push(Some(event));
    Ok(twice)
}

fn invalid(problem: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, format!("room archive: {problem}"))
}
