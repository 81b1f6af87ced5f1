//! What a room must be: a model of it that knows the rules and nothing of how they are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roomkit_core::model::{
    EventId, EventType, Participant, ParticipantStatus, ReadMarker, Room, RoomEvent, RoomStatus,
};

/// Who said something: the channel and the sender.
pub(crate) type Author = (String, String);

/// An event as it must be in the timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fact {
    pub(crate) id: EventId,
    pub(crate) what: Expected,
}

/// An event that must come of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) kind: EventType,
    /// What a message says.
    pub(crate) text: Option<String>,
    pub(crate) blocked: bool,
    pub(crate) edited: bool,
    pub(crate) deleted: bool,
    pub(crate) parent: Option<EventId>,
    /// The event that it changes.
    pub(crate) about: Option<EventId>,
    pub(crate) author: Option<Author>,
}

impl Expected {
    pub(crate) fn new(kind: EventType) -> Self {
        Self {
            kind,
            text: None,
            blocked: false,
            edited: false,
            deleted: false,
            parent: None,
            about: None,
            author: None,
        }
    }

    pub(crate) fn message(text: &str) -> Self {
        Self {
            text: Some(text.to_owned()),
            ..Self::new(EventType::Message)
        }
    }

    /// Whether an event is as it must be.
    fn is(&self, event: &RoomEvent) -> bool {
        let is_message = self.kind == EventType::Message;
        let is_edited = event.metadata.get("edited").is_some();
        event.event_type == self.kind
            && (!is_message || event.text() == self.text.as_deref())
            && event.is_blocked() == self.blocked
            && is_edited == self.edited
            && event.is_deleted() == self.deleted
            && event.parent_event_id == self.parent
    }
}

/// A room as it must be.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) status: RoomStatus,
    /// The index of the next event.
    pub(crate) next: u64,
    /// By index.
    pub(crate) facts: BTreeMap<u64, Fact>,
    /// The attached channels, and whether they are muted.
    pub(crate) bindings: BTreeMap<String, bool>,
    pub(crate) detached: BTreeSet<String>,
    pub(crate) people: BTreeMap<String, ParticipantStatus>,
    pub(crate) markers: BTreeMap<String, u64>,
    pub(crate) tasks: usize,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            status: RoomStatus::Active,
            next: 0,
            facts: BTreeMap::new(),
            bindings: BTreeMap::new(),
            detached: BTreeSet::new(),
            people: BTreeMap::new(),
            markers: BTreeMap::new(),
            tasks: 0,
        }
    }
}

impl Model {
    pub(crate) fn is_open(&self) -> bool {
        self.status.accepts_events()
    }

    pub(crate) fn is_banned(&self, sender: &str) -> bool {
        self.people.get(sender) == Some(&ParticipantStatus::Banned)
    }

    pub(crate) fn fact(&self, id: &EventId) -> Option<&Fact> {
        self.facts.values().find(|fact| fact.id == *id)
    }

    pub(crate) fn fact_mut(&mut self, id: &EventId) -> Option<&mut Fact> {
        self.facts.values_mut().find(|fact| fact.id == *id)
    }

    /// The root of the thread that a reply to this event belongs to; none where there is none.
    pub(crate) fn root(&self, parent: &EventId) -> Option<EventId> {
        let parent = self.fact(parent)?;
        Some(parent.what.parent.clone().unwrap_or(parent.id.clone()))
    }

    /// Notes a channel that a message attaches.
    pub(crate) fn attach(&mut self, channel: &str) {
        self.bindings.insert(channel.to_owned(), false);
        self.detached.remove(channel);
    }

    /// Takes in what an operation has added; it must be this and nothing else.
    pub(crate) fn add(
        &mut self,
        expected: Vec<Expected>,
        events: &[Arc<RoomEvent>],
    ) -> Result<(), String> {
        if expected.len() != events.len() {
            let kinds: Vec<_> = events
                .iter()
                .map(|event| event.event_type.as_str())
                .collect();
            let wanted: Vec<_> = expected.iter().map(|it| it.kind.as_str()).collect();
            return Err(format!("{kinds:?} were added, not {wanted:?}"));
        }
        for (expected, event) in expected.into_iter().zip(events) {
            if event.index != self.next {
                return Err(format!("index {}, not {}", event.index, self.next));
            }
            if !expected.is(event) {
                return Err(format!("event {} is not {expected:?}", event.index));
            }
            self.next += 1;
            let id = event.id.clone();
            self.facts.insert(event.index, Fact { id, what: expected });
        }
        Ok(())
    }

    /// Applies an edit or delete that was not blocked.
    pub(crate) fn change(&mut self, target: &EventId, text: Option<&str>) {
        if let Some(fact) = self.fact_mut(target) {
            match text {
                Some(text) => {
                    fact.what.text = Some(text.to_owned());
                    fact.what.edited = true;
                }
                None => fact.what.deleted = true,
            }
        }
    }

    /// Everything that goes with an event that is removed for good, itself included.
    pub(crate) fn closure(&self, root: &EventId) -> BTreeSet<EventId> {
        let mut gone = BTreeSet::from([root.clone()]);
        loop {
            let hangs_on =
                |link: &Option<EventId>| link.as_ref().is_some_and(|id| gone.contains(id));
            let more: Vec<EventId> = self
                .facts
                .values()
                .filter(|fact| hangs_on(&fact.what.parent) || hangs_on(&fact.what.about))
                .filter(|fact| !gone.contains(&fact.id))
                .map(|fact| fact.id.clone())
                .collect();
            if more.is_empty() {
                return gone;
            }
            gone.extend(more);
        }
    }

    /// What is otherwise in a room than it must be.
    pub(crate) fn compare(
        &self,
        room: &Room,
        events: &[Arc<RoomEvent>],
        people: &[Participant],
        markers: &[ReadMarker],
        tasks: usize,
    ) -> Vec<String> {
        let mut found = Vec::new();
        let mut differs = |what: String| found.push(format!("room {}: {what}", room.id));
        if room.status != self.status {
            differs(format!("is {}, not {}", room.status, self.status));
        }
        let last = self.next.checked_sub(1);
        if (room.event_count, room.latest_index) != (self.next, last) {
            differs(format!("counts {}, not {}", room.event_count, self.next));
        }
        if events.len() != self.facts.len() {
            differs(format!("{} events, not {}", events.len(), self.facts.len()));
        }
        for (event, (index, fact)) in events.iter().zip(&self.facts) {
            let is_it = event.index == *index && event.id == fact.id && fact.what.is(event);
            if !is_it {
                differs(format!("event {} is not {:?}", event.index, fact.what));
                break;
            }
        }
        let is: BTreeMap<_, _> = people
            .iter()
            .map(|person| (person.id.to_string(), person.status))
            .collect();
        if is != self.people {
            differs(format!("people are {is:?}, not {:?}", self.people));
        }
        let read: BTreeMap<_, _> = markers
            .iter()
            .map(|marker| (marker.channel_id.to_string(), marker.index))
            .collect();
        if read != self.markers {
            differs(format!("read up to {read:?}, not {:?}", self.markers));
        }
        if tasks != self.tasks {
            differs(format!("{tasks} tasks, not {}", self.tasks));
        }
        found
    }
}
