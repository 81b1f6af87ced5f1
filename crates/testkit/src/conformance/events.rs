//! The steps about stored events: reading, threads, and changes by the application.

use roomkit_core::model::{EventFilter, RoomEvent, RoomId};
use roomkit_core::store::EventQuery;
use serde_json::{Value, json};

use super::build::Stage;
use super::run::Trouble;
use super::scenario::{DeleteEvent, OfEvent, Step, UpdateEvent};
use super::trace;

/// How many events of a thread are shown.
const MOST_SHOWN: usize = 1_000;

fn indexes<E: AsRef<RoomEvent>>(events: &[E]) -> Vec<u64> {
    events.iter().map(|event| event.as_ref().index).collect()
}

impl Stage {
    /// Does a step about stored events.
    pub(super) async fn events(&self, step: &Step) -> Result<Option<Value>, Trouble> {
        let kit = &self.rooms;
        match step {
            Step::MarkRead(of) => {
                let room = self.room(&of.room).await?;
                let event = self.event_at(&room, of.index).await?;
                kit.mark_read(room, &of.channel, event).await?;
            }
            Step::MarkAllRead(of) => {
                kit.mark_all_read(self.room(&of.room).await?, &of.channel)
                    .await?;
            }
            Step::Unread(of) => {
                let room = self.room(&of.room).await?;
                let unread = kit.unread_count(room, &of.channel).await?;
                return Ok(Some(json!({ "unread": unread })));
            }
            Step::Thread(of) => return self.thread(of).await.map(Some),
            Step::TopLevel(of) => {
                let top = EventQuery::first(MOST_SHOWN).filter(EventFilter::top_level());
                let events = kit.events(self.room(&of.room).await?, &top).await?;
                return Ok(Some(json!({ "top_level": indexes(&events) })));
            }
            Step::UpdateEvent(spec) => return self.update_event(spec).await.map(Some),
            Step::DeleteEvent(spec) => return self.delete_event(spec).await.map(Some),
            _ => {}
        }
        Ok(None)
    }

    /// The replies of a thread, and the index of the last one by the thread's summary.
    async fn thread(&self, of: &OfEvent) -> Result<Value, Trouble> {
        let room = self.room(&of.room).await?;
        let event = self.event_at(&room, of.index).await?;
        let replies = self.rooms.thread(&room, &event, 0, MOST_SHOWN).await?;
        let summaries = self.rooms.thread_summaries(&room, &[event]).await?;
        let summary = summaries.first().filter(|summary| {
            // The summary of a reply's own thread is empty.
            summary.reply_count == replies.len() as u64
        });
        let last = summary.and_then(|summary| summary.last_reply_at);
        let last = replies
            .iter()
            .rev()
            .find(|reply| Some(reply.created_at) == last);
        Ok(json!({
            "thread": indexes(&replies),
            "last_reply": last.map(|reply| reply.index),
        }))
    }

    async fn update_event(&self, spec: &UpdateEvent) -> Result<Value, Trouble> {
        let room = self.room(&spec.room).await?;
        let event = self.event_at(&room, spec.index).await?;
        let mut call = self.rooms.update_event(&room, &event);
        if let Some(content) = &spec.content {
            call = call.content(self.content(content, Some(&room)).await?);
        }
        if let Some(metadata) = &spec.metadata {
            call = call.metadata(metadata.clone());
        }
        let updated = call.await?.is_some();
        let versions = self.rooms.event_versions(&room, &event).await?.len();
        Ok(json!({ "updated": updated, "versions": versions }))
    }

    async fn delete_event(&self, spec: &DeleteEvent) -> Result<Value, Trouble> {
        let room = self.room(&spec.room).await?;
        let before = self.timeline_of(&room).await;
        let event = self.event_at(&room, spec.index).await?;
        let mut call = self.rooms.delete_event(&room, event);
        if spec.keep_replies {
            call = call.keep_replies();
        }
        let deleted = call.await?;
        let deleted: Vec<_> = deleted
            .iter()
            .map(|id| before.iter().find(|event| event.id == *id))
            .map(|event| event.map(|event| event.index))
            .collect();
        Ok(json!({ "deleted": deleted }))
    }

    async fn timeline_of(&self, room: &RoomId) -> Vec<std::sync::Arc<RoomEvent>> {
        // A room that is not there is for the call to say.
        trace::timeline(&self.kit, room).await.unwrap_or_default()
    }
}
