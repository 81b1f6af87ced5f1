//! Threads: an event and the replies to it, on two levels (RFC §5.2).

use std::sync::Arc;

use super::Rooms;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{EventFilter, EventId, RoomEvent, RoomId, ThreadSummary};
use crate::store::EventQuery;

/// Of how many threads one call may ask for the summaries.
const MOST_ROOTS: usize = 1_000;

impl Rooms {
    /// The replies of a thread in index order: `limit` of them after the first `offset`. A thread is
    /// named by its root or by any of its replies.
    ///
    /// A reply to a reply belongs to the root's thread, however it came in. One whose parent is not in
    /// the room stands at the top, outside of threads, so that a stale reference loses no message. What
    /// stands at the top is had with [`EventFilter::top_level`].
    ///
    /// ```
    /// # use roomkit_core::{RoomKit, model::{EventFilter, TextContent}, store::EventQuery};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> roomkit_core::Result<()> {
    /// let kit = RoomKit::new();
    /// kit.create_room("team").await?;
    /// let root = kit.send_event("team", "system", TextContent::new("Lunch?")).await?;
    /// let yes = kit.send_event("team", "system", TextContent::new("Yes")).parent(&root.id).await?;
    /// kit.send_event("team", "system", TextContent::new("Where?")).parent(&yes.id).await?;
    ///
    /// assert_eq!(kit.thread("team", &root.id, 0, 10).await?.len(), 2);
    /// let summaries = kit.thread_summaries("team", &[root.id.clone()]).await?;
    /// assert_eq!(summaries[0].reply_count, 2);
    /// let top = EventQuery::last(10).filter(EventFilter::top_level());
    /// assert_eq!(kit.events("team", &top).await?.len(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound), [`EventNotFound`](ErrorKind::EventNotFound).
    pub async fn thread(
        &self,
        room: impl Into<RoomId>,
        event: impl Into<EventId>,
        offset: usize,
        limit: usize,
    ) -> Result<Vec<Arc<RoomEvent>>> {
        let room = room.into();
        let event = self.event(room.clone(), event).await?;
        let root = event.parent_event_id.as_ref().unwrap_or(&event.id);
        let replies = EventFilter::of_thread(root.clone());
        let query = EventQuery::first(limit).offset(offset).filter(replies);
        let inner = self.inner();
        inner.ask(inner.store.events(&room, &query)).await
    }

    /// How many replies each of these threads has, and when the last was made, in the order of
    /// `roots`; an event without replies has none.
    ///
    /// # Errors
    /// [`RoomNotFound`](ErrorKind::RoomNotFound); [`InvalidInput`](ErrorKind::InvalidInput) where there
    /// are more than 1,000 roots.
    pub async fn thread_summaries(
        &self,
        room: impl Into<RoomId>,
        roots: &[EventId],
    ) -> Result<Vec<ThreadSummary>> {
        let room = room.into();
        self.inner().visible_room(&self.scope, &room).await?;
        if roots.len() > MOST_ROOTS {
            let problem = format!("roots: are more than {MOST_ROOTS}");
            return Err(Error::new(ErrorKind::InvalidInput, problem));
        }
        let inner = self.inner();
        inner.ask(inner.store.thread_summaries(&room, roots)).await
    }
}
