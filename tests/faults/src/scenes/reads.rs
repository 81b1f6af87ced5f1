//! Questions, one call each.

use roomkit_core::store::{EventQuery, EventSearch, Page, RoomFilter};

use super::changes::drop_it;
use super::messages::first_said;
use crate::scene::Scene;
use crate::stage::ROOM;

/// A scene for each call, on a room in which something was said.
macro_rules! reads {
    ($($name:literal: $stage:ident, $event:ident => $call:expr;)+) => {
        &[$(Scene::read($name, |$stage| Box::pin(async move {
            let $event = first_said($stage).await?;
            $call.await.map(drop_it)
        }))
        .after(|stage| Box::pin(async move { stage.said("read me").await.map(drop) }))),+]
    };
}

pub(super) const SCENES: &[Scene] = reads! {
    "read a room": stage, _event => stage.kit.room(ROOM);
    "list rooms": stage, _event => stage.kit.list_rooms(RoomFilter::default(), Page::first(9));
    "read a timeline": stage, _event => stage.kit.timeline(ROOM, 0, 9);
    "read events": stage, _event => stage.kit.events(ROOM, &EventQuery::last(9));
    "read an event": stage, event => stage.kit.event(ROOM, event);
    "read versions": stage, event => stage.kit.event_versions(ROOM, event);
    "read a thread": stage, event => stage.kit.thread(ROOM, event, 0, 9);
    "count replies": stage, event => stage.kit.thread_summaries(ROOM, std::slice::from_ref(&event));
    "search": stage, _event => stage.kit.search_events(EventSearch::new("read", 9).room(ROOM));
    "read a history": stage, _event => stage.kit.history_for(ROOM, "desk", 9);
    "read tasks": stage, _event => stage.kit.tasks(ROOM);
    "read observations": stage, _event => stage.kit.observations(ROOM);
    "read bindings": stage, _event => stage.kit.bindings(ROOM);
    "read a binding": stage, _event => stage.kit.binding(ROOM, "desk");
    "read participants": stage, _event => stage.kit.participants(ROOM);
    "read a participant": stage, _event => stage.kit.participant(ROOM, "ann");
    "read members": stage, _event => stage.kit.members(ROOM);
    "ask for a member": stage, _event => stage.kit.is_member(ROOM, "ann-1");
    "count what is unread": stage, _event => stage.kit.unread_count(ROOM, "desk");
    "read markers": stage, _event => stage.kit.read_markers(ROOM);
};
