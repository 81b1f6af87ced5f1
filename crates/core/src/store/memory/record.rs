//! One room in memory: how a commit is checked against it and applied to it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::hash::Hash;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use foldhash::fast::RandomState;

use super::{ChannelKey, Index, SenderKey};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{
    ChannelBinding, ChannelId, ChannelType, EventId, Observation, Participant, ParticipantId,
    ReadMarker, Room, RoomEvent, RoomId, RoomStatus, Task,
};
use crate::store::{
    BindingChange, IdempotentOutcome, OwedDelivery, RoomCommit, RoomHead, RoomSnapshot, RoomUpdate,
    Speaker,
};
use crate::sync::Mutex;
use crate::sync::{FencingToken, lock};

pub(super) struct RoomRecord {
    pub(super) room: Arc<Room>,
    version: u64,
    pub(super) bindings: Arc<[Arc<ChannelBinding>]>,
    detached: Arc<BTreeSet<ChannelId>>,
    fencing: Option<FencingToken>,
    /// By index; `None` where an event was deleted.
    pub(super) events: Vec<Option<Arc<RoomEvent>>>,
    pub(super) places: HashMap<EventId, usize, RandomState>,
    /// What edited events were before, the oldest first.
    pub(super) versions: HashMap<EventId, Vec<Arc<RoomEvent>>>,
    pub(super) outcomes: HashMap<String, IdempotentOutcome>,
    /// In the order in which they joined.
    pub(super) participants: Vec<Participant>,
    pub(super) speakers: HashSet<(ChannelType, ParticipantId), RandomState>,
    pub(super) tasks: Vec<Task>,
    pub(super) observations: Vec<Observation>,
    pub(super) markers: BTreeMap<ChannelId, ReadMarker>,
    pub(super) owed: BTreeMap<String, OwedDelivery>,
}

impl RoomRecord {
    pub(super) fn new(room: Room) -> Self {
        Self {
            room: Arc::new(room),
            version: 0,
            bindings: Arc::default(),
            detached: Arc::default(),
            fencing: None,
            events: Vec::new(),
            places: HashMap::default(),
            versions: HashMap::new(),
            outcomes: HashMap::new(),
            participants: Vec::new(),
            speakers: HashSet::default(),
            tasks: Vec::new(),
            observations: Vec::new(),
            markers: BTreeMap::new(),
            owed: BTreeMap::new(),
        }
    }

    /// A room from an archive, without its parts.
    pub(super) fn of(head: RoomHead) -> Self {
        let mut record = Self::new(head.room);
        record.version = head.version;
        record.detached = Arc::new(head.detached);
        record
    }

    /// Makes holes of the indexes after the last event, so that the next event gets the next one;
    /// `None` where they are more than `most`.
    pub(super) fn fill_up(&mut self, most: u64) -> Option<()> {
        let next = self.room.next_index();
        let holes = next.saturating_sub(self.events.len() as u64);
        let length = usize::try_from(next).ok().filter(|_| holes <= most)?;
        self.events.resize(length, None);
        Some(())
    }

    pub(super) fn snapshot(&self) -> RoomSnapshot {
        RoomSnapshot {
            room: Arc::clone(&self.room),
            version: self.version,
            bindings: Arc::clone(&self.bindings),
            detached: Arc::clone(&self.detached),
        }
    }

    pub(super) fn event(&self, id: &EventId) -> Option<&Arc<RoomEvent>> {
        self.places
            .get(id)
            .and_then(|place| self.events.get(*place))
            .and_then(Option::as_ref)
    }

    /// Removes events, their versions, and what is owed of them; returns how many there were.
    pub(super) fn delete(&mut self, events: &[EventId]) -> u64 {
        let mut deleted = 0;
        for event in events {
            let place = self.places.remove(event);
            self.versions.remove(event);
            if let Some(slot) = place.and_then(|place| self.events.get_mut(place)) {
                *slot = None;
                deleted += 1;
            }
        }
        if deleted > 0 {
            self.owed.retain(|_, owed| !events.contains(&owed.event_id));
        }
        deleted
    }

    /// Whether a commit may be applied; nothing is changed.
    pub(super) fn check(&self, commit: &RoomCommit) -> Result<()> {
        let conflict = |what: String| {
            Error::new(
                ErrorKind::VersionConflict,
                format!("room {}: {what}", self.room.id),
            )
        };
        if commit.fencing.is_some() && commit.fencing < self.fencing {
            return Err(Error::new(
                ErrorKind::StaleFencingToken,
                format!(
                    "room {}: a newer holder of its lock has committed",
                    self.room.id
                ),
            ));
        }
        if let Some(expected) = commit.expected_version
            && expected != self.version
        {
            return Err(conflict(format!(
                "version is {}, not {expected}",
                self.version
            )));
        }
        if let Some(event) = &commit.event {
            let next = self.room.next_index();
            if event.index != next {
                return Err(conflict(format!(
                    "next index is {next}, not {}",
                    event.index
                )));
            }
            if self.places.contains_key(&event.id) {
                return Err(conflict(format!("event {} is there already", event.id)));
            }
        }
        if let Some(edited) = &commit.edited
            && self
                .event(&edited.id)
                .is_none_or(|old| old.index != edited.index)
        {
            return Err(Error::new(
                ErrorKind::EventNotFound,
                format!("room {}: no event {} to edit", self.room.id, edited.id),
            ));
        }
        if let Some(outcome) = &commit.idempotency
            && self.outcomes.contains_key(&outcome.key)
        {
            return Err(conflict("its idempotency key is taken".to_owned()));
        }
        Ok(())
    }

    /// Applies a commit that [`check`](Self::check) has passed.
    pub(super) fn apply(&mut self, commit: RoomCommit, index: &Mutex<Index>) {
        self.fencing = self.fencing.max(commit.fencing);
        let changes_room = commit.event.is_some()
            || commit.edited.is_some()
            || commit.room.is_some()
            || !commit.bindings.is_empty();
        if changes_room {
            self.version += 1;
            let was_open = self.is_open();
            self.update_room(commit.event.as_deref(), commit.room, commit.at);
            match (was_open, self.is_open()) {
                (true, false) => self.leave(&mut lock(index)),
                (false, true) => self.enter(&mut lock(index)),
                _ => {}
            }
        }
        if let Some(event) = commit.event {
            self.places.insert(event.id.clone(), self.events.len());
            self.events.push(Some(event));
        }
        if let Some(edited) = commit.edited
            && let Some(slot) = self
                .places
                .get(&edited.id)
                .and_then(|at| self.events.get_mut(*at))
        {
            let id = edited.id.clone();
            if let Some(before) = slot.replace(edited) {
                self.versions.entry(id).or_default().push(before);
            }
        }
        for change in commit.bindings {
            self.change_binding(change, index);
        }
        for participant in commit.participants {
            match self
                .participants
                .iter_mut()
                .find(|other| other.id == participant.id)
            {
                Some(other) => *other = participant,
                None => self.participants.push(participant),
            }
        }
        if let Some(speaker) = commit.speaker {
            self.note_speaker(speaker, commit.at, index);
        }
        if let Some(outcome) = commit.idempotency {
            self.outcomes.insert(outcome.key.clone(), outcome);
        }
        self.tasks.extend(commit.tasks);
        self.observations.extend(commit.observations);
        self.owed.extend(
            commit
                .owed
                .into_iter()
                .map(|owed| (owed.delivery_id.clone(), owed)),
        );
    }

    fn update_room(
        &mut self,
        event: Option<&RoomEvent>,
        update: Option<Box<RoomUpdate>>,
        at: DateTime<Utc>,
    ) {
        let room = Arc::make_mut(&mut self.room);
        room.updated_at = at;
        if let Some(event) = event {
            room.event_count += 1;
            room.latest_index = Some(event.index);
            room.timers.last_activity_at = Some(at);
        }
        let Some(update) = update else { return };
        if let Some(status) = update.status {
            room.status = status;
            room.closed_at = match status {
                RoomStatus::Closed | RoomStatus::Archived => room.closed_at.or(Some(at)),
                RoomStatus::Active => None,
                _ => room.closed_at,
            };
        }
        if let Some(timers) = update.timers {
            room.timers = timers;
        }
        if let Some(policy) = update.agent_response_policy {
            room.agent_response_policy = policy;
        }
        room.metadata.merge(&update.merge_metadata);
    }

    fn change_binding(&mut self, change: BindingChange, index: &Mutex<Index>) {
        match change {
            BindingChange::Put(binding) => {
                let channel = binding.channel_id.clone();
                let mut bindings = self.bindings.to_vec();
                match bindings
                    .iter_mut()
                    .find(|other| other.channel_id == channel)
                {
                    Some(other) => *other = binding,
                    None => bindings.push(binding),
                }
                self.bindings = bindings.into();
                if self.detached.contains(&channel) {
                    Arc::make_mut(&mut self.detached).remove(&channel);
                }
                if self.is_open() {
                    let key = self.channel_key(&channel);
                    put_in(&mut lock(index).by_channel, key, &self.room.id);
                }
            }
            BindingChange::Detach(channel) => {
                let kept = self
                    .bindings
                    .iter()
                    .filter(|binding| binding.channel_id != channel);
                self.bindings = kept.cloned().collect();
                Arc::make_mut(&mut self.detached).insert(channel.clone());
                let key = self.channel_key(&channel);
                take_out(&mut lock(index).by_channel, &key, &self.room.id);
            }
        }
    }

    fn note_speaker(&mut self, speaker: Speaker, at: DateTime<Utc>, index: &Mutex<Index>) {
        let Speaker {
            participant_id,
            sender_id,
            channel_id,
            channel_type,
        } = speaker;
        match self
            .participants
            .iter_mut()
            .find(|other| other.id == participant_id)
        {
            Some(participant) => {
                if !participant.connected_via.contains(&channel_id) {
                    participant.connected_via.push(channel_id);
                }
            }
            None => self.participants.push(Participant::new(
                participant_id,
                self.room.id.clone(),
                channel_id,
                at,
            )),
        }
        let speaker = (channel_type, sender_id);
        if self.speakers.insert(speaker.clone()) && self.is_open() {
            let key = self.sender_key(&speaker);
            put_in(&mut lock(index).by_sender, key, &self.room.id);
        }
    }

    fn is_open(&self) -> bool {
        self.room.status.accepts_events()
    }

    fn channel_key(&self, channel: &ChannelId) -> ChannelKey {
        (self.room.organization_id.clone(), channel.clone())
    }

    fn sender_key(&self, (channel_type, sender): &(ChannelType, ParticipantId)) -> SenderKey {
        let organization = self.room.organization_id.clone();
        (organization, channel_type.clone(), sender.clone())
    }

    /// Makes an open room one that messages are routed to.
    fn enter(&self, index: &mut Index) {
        for binding in self.bindings.iter() {
            let key = self.channel_key(&binding.channel_id);
            put_in(&mut index.by_channel, key, &self.room.id);
        }
        for speaker in &self.speakers {
            put_in(
                &mut index.by_sender,
                self.sender_key(speaker),
                &self.room.id,
            );
        }
    }

    /// Makes it one no longer.
    fn leave(&self, index: &mut Index) {
        for binding in self.bindings.iter() {
            let key = self.channel_key(&binding.channel_id);
            take_out(&mut index.by_channel, &key, &self.room.id);
        }
        for speaker in &self.speakers {
            take_out(
                &mut index.by_sender,
                &self.sender_key(speaker),
                &self.room.id,
            );
        }
    }

    /// Puts a new room into the index.
    pub(super) fn remember(&self, index: &mut Index) {
        index
            .by_age
            .insert((self.room.created_at, self.room.id.clone()));
        if self.is_open() {
            self.enter(index);
        }
    }

    /// Takes a deleted room out of the index.
    pub(super) fn forget(&self, index: &mut Index) {
        index
            .by_age
            .remove(&(self.room.created_at, self.room.id.clone()));
        self.leave(index);
    }
}

fn put_in<K: Eq + Hash>(rooms: &mut HashMap<K, BTreeSet<RoomId>>, key: K, room: &RoomId) {
    rooms.entry(key).or_default().insert(room.clone());
}

/// Takes a room from the rooms of `key`, and the key where that was the last.
fn take_out<K: Eq + Hash>(rooms: &mut HashMap<K, BTreeSet<RoomId>>, key: &K, room: &RoomId) {
    if let Some(of_key) = rooms.get_mut(key) {
        of_key.remove(room);
        if of_key.is_empty() {
            rooms.remove(key);
        }
    }
}
