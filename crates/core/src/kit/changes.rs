//! Direct changes of stored events, for an application that itself decides who may make them
//! (RFC §10.3).

use std::collections::HashSet;
use std::future::IntoFuture;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::attach::{lock_room, under_lock_reading};
use super::{Inner, Rooms};
use crate::error::{Error, ErrorKind, Result};
use crate::hook::{OnEventDeleted, OnEventUpdated};
use crate::model::{EventContent, EventFilter, EventId, EventType, Metadata, RoomEvent, RoomId};
use crate::pipeline::{Scope, still_about, target_of};
use crate::store::{EventQuery, RoomCommit};

/// What the framework itself notes in an event's metadata.
const MARKS: [&str; 3] = ["edited", "deleted", REDACTED];
const REDACTED: &str = "redacted";

/// How many events are read at a time.
const PAGE: usize = 500;

/// Changes a stored event; await it to do so.
#[derive(Debug)]
#[must_use = "nothing is changed until this is awaited"]
pub struct UpdateEvent {
    rooms: Rooms,
    room_id: RoomId,
    event_id: EventId,
    content: Option<EventContent>,
    metadata: Option<Metadata>,
}

/// Removes a stored event for good; await it to do so.
#[derive(Debug)]
#[must_use = "nothing is removed until this is awaited"]
pub struct DeleteEvent {
    rooms: Rooms,
    room_id: RoomId,
    event_id: EventId,
    keeps_replies: bool,
}

impl Rooms {
    /// Changes the content or the metadata of a stored event, whoever said it, at every status of the
    /// room, be the event blocked or not (RFC §10.3). What is given replaces what was there; the marks
    /// `edited`, `deleted` and `redacted` stay, unless the new metadata names them or, of the last,
    /// there is new content. Id, index, type, source, visibility and time stay.
    ///
    /// It is no edit of a participant's: no hook may stop it, nothing is delivered, no mark is set. The
    /// event has a new version, of which [`OnEventUpdated`] is told. `None`, and nothing told, where the
    /// room has no such event; nothing is told either where the event is that already.
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::{Metadata, TextContent}};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::new();
    /// kit.create_room("team").await?;
    /// let event = kit.send_event("team", "system", TextContent::new("3 pm")).await?;
    /// let changed = kit
    ///     .update_event("team", &event.id)
    ///     .content(TextContent::new("4 pm"))
    ///     .metadata(Metadata::new().with("moved_by", "admin"))
    ///     .await?;
    /// assert_eq!(changed.unwrap().text(), Some("4 pm"));
    /// assert_eq!(kit.event_versions("team", &event.id).await?.len(), 2);
    ///
    /// assert_eq!(kit.delete_event("team", &event.id).await?, [event.id.clone()]);
    /// assert!(kit.event_versions("team", &event.id).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// - [`RoomNotFound`](ErrorKind::RoomNotFound).
    /// - [`InvalidInput`](ErrorKind::InvalidInput): the content is not acceptable, or an edit or delete
    ///   would become something else or be about another event; it names the field.
    /// - [`InsideRoomLock`](ErrorKind::InsideRoomLock): called by a hook that runs under the room's lock.
    pub fn update_event(&self, room: impl Into<RoomId>, event: impl Into<EventId>) -> UpdateEvent {
        UpdateEvent {
            rooms: self.clone(),
            room_id: room.into(),
            event_id: event.into(),
            content: None,
            metadata: None,
        }
    }

    /// Removes an event for good, with its versions, the replies of its thread, and the edits and
    /// deletes of all these, which say what they said (RFC §10.3). Returns what was removed, the event
    /// first, the rest in index order; nothing, and nothing told, where the room has no such event.
    /// Allowed at every status of the room.
    ///
    /// [`OnEventDeleted`] is told of each, as it was. Indexes are not used again, the room's counters
    /// and read markers stay, and a repeat of the event's idempotency key does not bring it back. What
    /// is being delivered at that moment still is.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound), [`InsideRoomLock`](ErrorKind::InsideRoomLock).
    pub fn delete_event(&self, room: impl Into<RoomId>, event: impl Into<EventId>) -> DeleteEvent {
        DeleteEvent {
            rooms: self.clone(),
            room_id: room.into(),
            event_id: event.into(),
            keeps_replies: false,
        }
    }
}

impl UpdateEvent {
    /// What the event says from now on. Default: what it said.
    pub fn content(mut self, content: impl Into<EventContent>) -> Self {
        self.content = Some(content.into());
        self
    }

    /// The event's metadata from now on. Default: what it was.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = Some(metadata);
        self
    }

    async fn update(self) -> Result<Option<Arc<RoomEvent>>> {
        if let Some(content) = &self.content {
            content
                .validate()
                .map_err(|error| error.within("content"))?;
        }
        let rooms = self.rooms.clone();
        rooms
            .to_end(|inner, scope| async move { self.commit(&inner, &scope).await })
            .await
    }

    async fn commit(self, inner: &Arc<Inner>, scope: &Scope) -> Result<Option<Arc<RoomEvent>>> {
        let (room, id) = (&self.room_id, &self.event_id);
        let read = || inner.read(inner.store.event(room, id));
        let (snapshot, (event, is_new)) =
            under_lock_reading(inner, scope, room, read, |snapshot, stored| {
                let Some(stored) = stored else {
                    return Ok(((None, false), None));
                };
                let changed = self.apply(&stored)?;
                if changed == *stored {
                    return Ok(((Some(stored), false), None));
                }
                let changed = Arc::new(changed);
                let now = inner.clock.now();
                let mut commit = RoomCommit::new(room.clone(), Some(snapshot.version), now);
                commit.edited = Some(Arc::clone(&changed));
                Ok(((Some(changed), true), Some(commit)))
            })
            .await?;
        if let Some(event) = event.as_ref().filter(|_| is_new) {
            inner.load_hooks(&snapshot.room).await;
            inner.observe::<OnEventUpdated>(&inner.context(snapshot), event);
        }
        Ok(event)
    }

    /// The new version of an event.
    fn apply(&self, stored: &RoomEvent) -> Result<RoomEvent> {
        let mut changed = stored.clone();
        if let Some(content) = &self.content {
            still_about(&stored.content, content)
                .map_err(|problem| Error::new(ErrorKind::InvalidInput, problem))?;
            changed.content = content.clone();
            changed.metadata.remove(REDACTED);
        }
        if let Some(metadata) = &self.metadata {
            let marks = changed.metadata;
            changed.metadata = metadata.clone();
            for mark in MARKS {
                if let Some(value) = marks.get(mark).filter(|_| !metadata.contains_key(mark)) {
                    changed.metadata.insert(mark, value.clone());
                }
            }
        }
        Ok(changed)
    }
}

impl DeleteEvent {
    /// Leaves the replies of the event's thread where they are; the edits and deletes of the event go
    /// all the same.
    pub fn keep_replies(mut self) -> Self {
        self.keeps_replies = true;
        self
    }

    async fn delete(self) -> Result<Vec<EventId>> {
        let rooms = self.rooms.clone();
        rooms
            .to_end(|inner, scope| async move { self.remove(&inner, &scope).await })
            .await
    }

    async fn remove(self, inner: &Arc<Inner>, scope: &Scope) -> Result<Vec<EventId>> {
        let room = &self.room_id;
        let lock = lock_room(inner, room).await?;
        let snapshot = inner.visible_room(scope, room).await?;
        let found = inner.read(inner.store.event(room, &self.event_id)).await?;
        let Some(root) = found else {
            return Ok(Vec::new());
        };
        let events = with_what_depends(inner, room, root, !self.keeps_replies).await?;
        let ids: Vec<EventId> = events.iter().map(|event| event.id.clone()).collect();
        inner.write(inner.store.delete_events(room, &ids)).await?;
        drop(lock);
        inner.load_hooks(&snapshot.room).await;
        let context = inner.context(snapshot);
        for event in &events {
            inner.observe::<OnEventDeleted>(&context, event);
        }
        Ok(ids)
    }
}

/// An event, the replies to it, and the edits and deletes of all of them; the event first, the rest in
/// index order.
async fn with_what_depends(
    inner: &Inner,
    room: &RoomId,
    root: Arc<RoomEvent>,
    replies: bool,
) -> Result<Vec<Arc<RoomEvent>>> {
    let after = root.index;
    let changes = EventFilter::of_types([EventType::Edit, EventType::Delete]);
    let changes = all_after(inner, room, after, changes).await?;
    let mut found = vec![root];
    let mut ids: HashSet<EventId> = found.iter().map(|event| event.id.clone()).collect();
    // Only what is at the top has replies: the root, and an edit that somebody replied to.
    let mut tops: Vec<EventId> = ids.iter().cloned().collect();
    while let Some(top) = tops.pop() {
        let more = if replies {
            all_after(inner, room, after, EventFilter::of_thread(top)).await?
        } else {
            Vec::new()
        };
        found.extend(
            more.into_iter()
                .filter(|event| ids.insert(event.id.clone())),
        );
        for change in &changes {
            let is_of_these = target_of(&change.content).is_some_and(|id| ids.contains(id));
            if is_of_these && ids.insert(change.id.clone()) {
                tops.push(change.id.clone());
                found.push(Arc::clone(change));
            }
        }
    }
    if let Some((_, rest)) = found.split_first_mut() {
        rest.sort_by_key(|event| event.index);
    }
    Ok(found)
}

async fn all_after(
    inner: &Inner,
    room: &RoomId,
    index: u64,
    filter: EventFilter,
) -> Result<Vec<Arc<RoomEvent>>> {
    let mut query = EventQuery::first(PAGE).after(index).filter(filter);
    let mut found = Vec::new();
    loop {
        let page = inner.read(inner.store.events(room, &query)).await?;
        let is_last = page.len() < PAGE;
        query.after = page.last().map(|event| event.index).or(query.after);
        found.extend(page);
        if is_last {
            return Ok(found);
        }
    }
}

impl IntoFuture for UpdateEvent {
    type Output = Result<Option<Arc<RoomEvent>>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.update().boxed()
    }
}

impl IntoFuture for DeleteEvent {
    type Output = Result<Vec<EventId>>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        self.delete().boxed()
    }
}
